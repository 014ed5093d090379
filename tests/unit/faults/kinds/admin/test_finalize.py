"""Features that are finalized at the end of an upgrade, and a way back that Kafka refuses."""

import pytest
from fakes.world.fault_steps import refusal, run, shown
from fakes.world.fault_world import World, not_finalized

from compose.admin_protocol import METADATA_VERSION
from compose.errors import AdminRefused
from faults.plan.parse import parse_step, write_step

ELR = "eligible.leader.replicas.version"
FINALIZE = {"name": "finalize", "at": "5s", "do": "finalize", "for": "2s"}
BACK = {"name": "back", "at": "5s", "do": "refused-downgrade", "release": "4.0.0", "for": "2s"}
LOWER = (
    "INVALID_UPDATE_VERSION, The update failed for all features since the following feature had an error: "
    "Unsupported metadata.version downgrade from 30 to 25. Refusing to perform the requested downgrade "
    "because it might delete metadata information."
)
OLDER = "INVALID_UPDATE_VERSION, Invalid metadata.version 21. Refusing to perform the requested downgrade"
NOT_YET = "INVALID_UPDATE_VERSION, controller 102 has not registered, and may not support this feature"


def asked(world: World) -> list[str]:
    """What Kafka was asked to finalize."""
    return [call for call in world.calls if call.startswith("set_feature")]


def test_every_feature_goes_to_the_newest_level_metadata_version_first() -> None:
    world = not_finalized()
    (done,) = run(world, FINALIZE)
    assert (done.proven, done.recovered, done.nodes, done.target) == (True, True, (), "every feature")
    assert shown(done) == {"levels": {METADATA_VERSION: [25, 30], ELR: [0, 1]}, "by_brokers": [1, 2, 3]}
    assert asked(world) == [f"set_feature {METADATA_VERSION} 30", f"set_feature {ELR} 1"]
    assert world.admin.levels == {METADATA_VERSION: 30, ELR: 1}


def test_the_oldest_release_of_a_broker_decides() -> None:
    """While one runs the old release there is nothing to finalize but what it knows."""
    world = not_finalized()
    world.named[2] = "4.2.1"
    (done,) = run(world, FINALIZE)
    assert shown(done)["levels"] == {METADATA_VERSION: [25, 29], ELR: [0, 1]}


def test_nothing_to_finalize_is_refused() -> None:
    world = World()
    (done,) = run(world, FINALIZE)
    assert not done.proven
    assert "nothing to finalize: every feature is at the newest level" in shown(done, "reason")
    assert asked(world) == []


def test_kafkas_reason_against_it_is_reported_before_anything_is_changed() -> None:
    world = not_finalized()
    world.admin.refuses["check_feature"] = NOT_YET
    (done,) = run(world, FINALIZE)
    assert not done.proven
    assert "controller 102 has not registered" in shown(done, "reason")
    assert asked(world) == []


def test_a_broker_that_has_not_learnt_of_it_is_no_evidence() -> None:
    world = not_finalized()
    world.admin._old_levels = dict(world.admin.levels)
    world.admin.unaware.add(3)
    (done,) = run(world, FINALIZE)
    assert not done.proven
    assert f"broker 3 says that {METADATA_VERSION} is at 25" in shown(done, "reason")


def test_a_change_that_kafka_does_not_make_is_no_evidence() -> None:
    world = not_finalized()
    world.ignores.add("set_feature")
    (done,) = run(world, FINALIZE)
    assert not done.proven


@pytest.mark.parametrize("reason", [LOWER, OLDER])
def test_a_refused_downgrade_shows_kafkas_reason(reason: str) -> None:
    world = World()
    world.admin.refuses["set_feature"] = reason
    (back,) = run(world, BACK)
    assert (back.proven, back.recovered, back.target) == (True, True, "metadata.version=25 of 4.0.0")
    assert shown(back) == {
        "refused": f"Kafka refuses {METADATA_VERSION} 25: {reason}",
        "feature": METADATA_VERSION,
        "asked": 25,
        "level": 30,
        "by_brokers": [1, 2, 3],
    }


def test_a_refusal_for_another_reason_is_no_refused_downgrade() -> None:
    """As while a controller has not registered: it is asked again for a while."""
    world = World()
    world.admin.refuses["set_feature"] = NOT_YET
    (back,) = run(world, BACK)
    assert not back.proven
    assert "refused, and not as a downgrade" in shown(back, "reason")
    assert len(asked(world)) > 5


def test_another_reason_that_passes_is_waited_for() -> None:
    world = World()
    tries: list[int] = []

    def refuse(name: str, level: int, *, only_check: bool = False) -> None:
        tries.append(level)
        raise AdminRefused(f"Kafka refuses {name}: {NOT_YET if len(tries) < 3 else LOWER}")

    world.admin.set_feature = refuse  # type: ignore[method-assign]
    (back,) = run(world, BACK)
    assert (back.proven, tries) == (True, [25, 25, 25])


def test_a_downgrade_that_kafka_takes_is_not_proven_and_undone() -> None:
    world = World()
    (back,) = run(world, BACK)
    assert (back.proven, back.recovered) == (False, True)
    assert "Kafka has taken metadata.version back to 25" in shown(back, "reason")
    assert asked(world) == [f"set_feature {METADATA_VERSION} 25", f"set_feature {METADATA_VERSION} 30"]


def test_where_nothing_was_finalized_there_is_nothing_to_refuse() -> None:
    (back,) = run(not_finalized(), BACK)
    assert not back.proven
    assert "nothing to refuse: metadata.version is at 25, 25 is 4.0.0's" in shown(back, "reason")


@pytest.mark.parametrize("words", [FINALIZE, BACK])
def test_writing_and_reading(words: dict[str, str]) -> None:
    step = parse_step(words)
    assert write_step(step) == words
    assert parse_step(write_step(step)) == step


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ({**FINALIZE, "set": "x=1"}, "set: 'x=1' is refused; allowed: nothing: a finalize takes"),
        ({**BACK, "release": "4.0"}, "release: '4.0' is refused; allowed: one of 3.6.0, "),
        ({**FINALIZE, "for": "0s"}, "for: '0s' is refused; allowed: at least 1s"),
    ],
)
def test_refusing(words: dict[str, object], expected: str) -> None:
    """Before anything starts."""
    assert expected in refusal(words)
