"""Features of a cluster that change while it runs: by whose word, and what Kafka does not allow."""

from dataclasses import replace

import pytest
from fakes.world.fault_steps import FACTS, refusal, run, shown
from fakes.world.fault_world import World

from faults.errors import BadStep
from faults.plan.parse import parse_step, parse_steps, write_step
from faults.plan.validate import validate

ELR = "eligible.leader.replicas.version"
OFF = {"name": "off", "at": "5s", "do": "feature", "set": f"{ELR}=0", "for": "2s"}


def changes(world: World) -> list[str]:
    """What Kafka was asked to finalize."""
    return [call for call in world.calls if call.startswith("set_feature")]


def test_a_feature_is_off_for_a_while() -> None:
    """By the word of every broker, each asked by itself."""
    world = World()
    (off,) = run(world, OFF)
    assert (off.proven, off.recovered, off.nodes, off.target) == (True, True, (), f"{ELR}=0")
    assert shown(off) == {"feature": ELR, "level": 0, "by_brokers": [1, 2, 3]}
    assert shown(off, "recovery") == {"feature": ELR, "level": 1, "by_brokers": [1, 2, 3]}
    assert changes(world) == [f"set_feature {ELR} 0", f"set_feature {ELR} 1"]


def test_a_broker_that_has_not_learnt_of_it_is_no_evidence() -> None:
    """Though the others have."""
    world = World()
    world.admin.unaware.add(2)
    (off,) = run(world, OFF)
    assert not off.proven
    assert shown(off, "reason") == f"no evidence of an effect: broker 2 says that {ELR} is at 1"


def test_a_broker_that_lags_behind_keeps_nothing_from_being_healed() -> None:
    """It says what the others said before: Kafka is asked all the same."""
    world = World()
    world.admin.unaware.add(2)
    (off,) = run(world, OFF)
    assert off.heal_ns > 0
    assert changes(world) == [f"set_feature {ELR} 0", f"set_feature {ELR} 1"]


@pytest.mark.parametrize(
    ("known", "level", "reason"),
    [
        (None, "0", f"nothing to change: no broker that answers knows {ELR}"),
        ((0, 1), "2", f"nothing to change: broker 1 of release 4.3.1 knows {ELR} from 0 to 1"),
        ((0, 1), "1", f"nothing to change: {ELR} is at 1"),
    ],
)
def test_what_the_release_does_not_know_is_refused(known, level, reason) -> None:
    """Kafka is not even asked."""
    world = World()
    del world.admin.known[ELR]
    if known:
        world.admin.known[ELR] = known
    (step,) = run(world, {**OFF, "set": f"{ELR}={level}"})
    assert not step.proven
    assert reason in shown(step, "reason")
    assert changes(world) == []


def test_what_kafka_does_not_allow_is_refused_with_its_reason() -> None:
    """It is asked before anything is changed."""
    world = World()
    world.admin.refuses["check_feature"] = "INVALID_UPDATE_VERSION, can't downgrade to version 0"
    (off,) = run(world, OFF)
    assert not off.proven
    assert "INVALID_UPDATE_VERSION, can't downgrade to version 0" in shown(off, "reason")
    assert changes(world) == []


def test_a_way_that_kafka_does_not_allow_back() -> None:
    """The fault was there, and stays; the reason is reported at each try."""
    world, said = World(), []

    def log(event) -> None:
        if event.stage == "effect":
            world.admin.refuses["set_feature"] = "INVALID_UPDATE_VERSION"
        if event.stage == "heal-failed":
            said.append(event.detail)

    (off,) = run(world, OFF, log=log)
    assert (off.proven, off.recovered, off.heal_ns) == (True, False, -1)
    assert shown(off, "reason") == "not healed after 10 tries"
    assert len(said) >= 5
    assert said[0].endswith(f"Kafka refuses {ELR} 1: INVALID_UPDATE_VERSION")


def test_writing_and_reading() -> None:
    """A mapping is read as well as text."""
    (step,) = validate(parse_steps([{**OFF, "set": {ELR: 0}}]), FACTS)
    words = write_step(step)
    assert words == {"name": "off", "do": "feature", "at": "5s", "set": f"{ELR}=0", "for": "2s"}
    assert parse_step(words) == step


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"set": None}, "set: None is refused; allowed: a feature and its level"),
        ({"set": ELR}, "allowed: a feature and its level"),
        ({"set": "kraft.version=1"}, "set: 'kraft.version' is refused; allowed: one of eligible.leader."),
        ({"topic": "orders"}, "topic: 'orders' is refused; allowed: nothing: a feature takes set"),
    ],
)
def test_refusing(change, expected) -> None:
    """What is no feature, or none that a running cluster changes."""
    assert expected in refusal({**OFF, **change})


def test_a_release_without_the_feature() -> None:
    """It is refused before anything starts; a release that has it, or that nobody knows, is not."""
    steps = parse_steps([OFF])
    for release in ((), (4, 0), (4, 3)):
        assert len(validate(steps, replace(FACTS, release=release))) == 1
    with pytest.raises(BadStep) as caught:
        validate(steps, replace(FACTS, release=(3, 9)))
    assert str(caught.value) == (
        f"step 1, set: '{ELR}' is refused; allowed: a feature that release 3.9 has; this one is of 4.0"
    )
