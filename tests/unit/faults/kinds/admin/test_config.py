"""Settings that change while the cluster runs: of what, by whose word, and what they are set back to."""

import pytest
from fakes.world.fault_steps import FACTS, refusal, run, shown
from fakes.world.fault_world import World

from compose.admin_protocol import Resource
from faults.clock import ns
from faults.plan.parse import parse_step, parse_steps, write_step
from faults.plan.validate import validate

WEAKER = {"name": "weaker", "at": "5s", "do": "config", "set": "min.insync.replicas=1", "for": "3s"}
TOPIC = Resource(kind="topic", name="orders")
ALL_BROKERS = Resource(kind="broker", name="")


def changes(world: World) -> list[str]:
    """What Kafka was asked to set."""
    return [call for call in world.calls if call.startswith("change_settings")]


def test_a_topic_has_another_setting_and_then_the_one_from_before() -> None:
    """What was in effect is written down as its own: Kafka's default may be another one by then."""
    world = World()
    (weaker,) = run(world, WEAKER)
    assert (weaker.proven, weaker.recovered, weaker.nodes) == (True, True, ())
    assert weaker.target == "topic orders: min.insync.replicas=1"
    assert shown(weaker) == {"settings": {"min.insync.replicas": "1"}, "by_brokers": [1, 2, 3]}
    assert shown(weaker, "recovery")["settings"] == {"min.insync.replicas": "2"}
    assert changes(world) == [
        "change_settings topic orders {'min.insync.replicas': '1'}",
        "change_settings topic orders {'min.insync.replicas': '2'}",
    ]
    assert world.admin.dynamic == {TOPIC: {"min.insync.replicas": "2"}}


def test_the_default_of_all_brokers() -> None:
    """Each broker is asked about itself."""
    world = World()
    (weaker,) = run(world, {**WEAKER, "target": "brokers"})
    assert (weaker.proven, weaker.recovered, weaker.nodes) == (True, True, ())
    assert world.admin.dynamic == {ALL_BROKERS: {"min.insync.replicas": "2"}}


def test_one_broker() -> None:
    """It alone is asked, and it is the node that is hit."""
    (one,) = run(World(), {**WEAKER, "target": "node 2", "set": "num.replica.fetchers=4"})
    assert (one.proven, one.recovered, one.nodes) == (True, True, (2,))
    assert shown(one) == {"settings": {"num.replica.fetchers": "4"}, "by_brokers": [2]}


def test_several_settings_at_once() -> None:
    """A mapping is read as well as text."""
    words = {**WEAKER, "set": {"unclean.leader.election.enable": True, "min.insync.replicas": 1}}
    (both,) = run(World(), words)  # type: ignore[arg-type]
    assert both.target == "topic orders: min.insync.replicas=1, unclean.leader.election.enable=true"
    assert both.proven


def test_a_broker_that_has_not_learnt_of_it_is_no_evidence() -> None:
    """Though the controller has taken it, and the others know."""
    world = World()
    world.admin.unaware.add(3)
    (weaker,) = run(world, WEAKER)
    assert not weaker.proven
    assert shown(weaker, "reason") == (
        "no evidence of an effect: broker 3 says that topic orders has {'min.insync.replicas': '2'}"
    )


def test_a_broker_that_is_down_need_not_say_it() -> None:
    """It reads the metadata log before it serves. One that is paused must: it may act before it has read."""
    world, paused = World(), World()
    for each in (world, paused):
        each.admin.unaware.add(3)
    kill = {"name": "kill", "at": "4s", "do": "kill", "target": "node 3", "for": "5s"}
    _, weaker = run(world, kill, WEAKER)
    assert weaker.proven
    _, weaker = run(paused, {**kill, "do": "pause"}, WEAKER)
    assert not weaker.proven


def test_what_is_so_already_shows_nothing() -> None:
    """And what no broker knows cannot be changed."""
    (same,) = run(World(), {**WEAKER, "set": "min.insync.replicas=2"})
    assert "nothing to change: topic orders has min.insync.replicas=2" in shown(same, "reason")
    world = World()
    del world.admin.static["flush.messages"]
    (unknown,) = run(world, {**WEAKER, "set": "flush.messages=1"})
    assert "nothing to change: broker 1 knows no flush.messages" in shown(unknown, "reason")
    assert changes(world) == []


def test_brokers_that_differ_are_left_alone() -> None:
    """One value could not be set back to two."""
    world = World()
    world.admin.dynamic[Resource(kind="broker", name="2")] = {"num.io.threads": "2"}
    world.admin.static["num.io.threads"] = "8"
    (config,) = run(world, {**WEAKER, "target": "brokers", "set": "num.io.threads=4"})
    assert "the brokers do not agree on what brokers has" in shown(config, "reason")


def test_kafkas_refusal_and_healing() -> None:
    """Its reason is recorded; what may have been set is set back."""
    world = World()
    world.admin.refuses["change_settings"] = "INVALID_CONFIG"
    world.clock.call_at(ns(5.2), world.admin.refuses.clear)
    (weaker,) = run(world, WEAKER)
    assert (weaker.proven, weaker.recovered) == (False, True)
    assert shown(weaker, "reason") == (
        "the injection failed: Kafka refuses topic orders {'min.insync.replicas': '1'}: INVALID_CONFIG"
    )


def test_one_fault_for_each_setting() -> None:
    """Of one topic; another setting is nobody's yet."""
    world = World()
    same = {**WEAKER, "name": "same", "at": "7s", "set": "min.insync.replicas=3", "for": "1s"}
    other = {**WEAKER, "name": "other", "at": "8s", "set": "flush.messages=1", "for": "1s"}
    first, second, third = run(world, {**WEAKER, "for": "10s"}, same, other)
    assert (first.proven, second.proven, third.proven) == (True, False, True)
    assert "min.insync.replicas of topic orders: weaker has changed it" in shown(second, "reason")


def test_writing_and_reading() -> None:
    """Settings as text, in order; the plan's first topic is written out."""
    (step,) = validate(parse_steps([WEAKER]), FACTS)
    words = write_step(step)
    assert words == {
        "name": "weaker",
        "do": "config",
        "at": "5s",
        "topic": "orders",
        "set": "min.insync.replicas=1",
        "for": "3s",
    }
    assert parse_step(words) == step
    (step,) = validate(parse_steps([{**WEAKER, "target": "brokers"}]), FACTS)
    assert write_step(step)["target"] == "brokers"
    assert parse_step(write_step(step)) == step


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"set": None}, "set: None is refused; allowed: settings with their values"),
        ({"set": "min.insync.replicas"}, "allowed: settings with their values"),
        ({"set": "retention.ms=1"}, "set: 'retention.ms' is refused; allowed: one of min.insync.replicas, "),
        ({"set": "min.insync.replicas=4"}, "allowed: at most 3, the number of replicas"),
        ({"set": "min.insync.replicas=0"}, "allowed: a whole number from 1"),
        (
            {"set": "min.insync.replicas=1, min.insync.replicas=2"},
            "set: 'min.insync.replicas=1, min.insync.replicas=2' is refused; allowed: each setting once; "
            "min.insync.replicas is set more often",
        ),
        ({"set": "unclean.leader.election.enable=1"}, "allowed: one of true, false"),
        ({"set": "flush.messages=９"}, "set: 'flush.messages=９' is refused; allowed: a whole number from 1"),
        ({"set": "flush.messages=09"}, "allowed: a whole number from 1"),
        ({"set": "flush.messages=9223372036854775808"}, "allowed: at most 9223372036854775807"),
        ({"set": f"flush.messages={'9' * 5000}"}, "allowed: a whole number from 1"),
        ({"target": "brokers", "set": "num.io.threads=2147483648"}, "allowed: at most 2147483647"),
        ({"target": "node 2"}, "set: 'min.insync.replicas' is refused; allowed: one of num.replica.fetchers"),
        ({"target": "node 101", "set": "num.io.threads=2"}, "allowed: a broker; the brokers are [1, 2, 3]"),
        ({"target": "1+2"}, "target: 'nodes 1+2' is refused; allowed: brokers, for the default of all"),
        ({"target": "leader"}, "target: 'leader' is refused; allowed: brokers"),
        ({"target": "brokers", "topic": "orders"}, "allowed: nothing: the step names a target"),
        ({"topic": "audit"}, "topic: 'audit' is refused; allowed: one of orders"),
    ],
)
def test_refusing(change, expected) -> None:
    """What cannot be set there, and what lets Kafka delete records."""
    assert expected in refusal({**WEAKER, **change})
