"""Clocks that are set: proven by what the node's own process shows, when it is wrong and when it is right."""

import json

import pytest
from fakes.world.fault_steps import run
from fakes.world.fault_world import World

from compose.protocols import ClockAhead
from faults.clock import ns
from faults.errors import BadStep
from faults.kinds.clock.clock_skew import clocks_of
from faults.kinds.registry import KINDS
from faults.plan.parse import parse_step, parse_steps, write_step
from faults.schedule.record import FaultRecord
from faults.targets.facts import Facts

AHEAD: dict[str, object] = {
    "name": "ahead",
    "do": "clock-skew",
    "target": "leader",
    "offset": "+5m",
    "for": "3s",
}


def changes(world: World) -> list[str]:
    return [call for call in world.calls if call.startswith("set_clock")]


def reason(record: FaultRecord) -> str:
    return str(json.loads(record.evidence)["reason"])


def test_a_clock_is_set_ahead_and_right_again() -> None:
    world = World()
    (record,) = run(world, AHEAD)
    assert changes(world) == ["set_clock 300000 1", "set_clock 0 1"]
    assert (record.proven, record.recovered, record.down) == (True, True, ()), record.evidence
    assert json.loads(record.evidence)["effect"] == {"ahead_ms": {"1": 300_000}, "read_within_ms": {"1": 4}}
    assert json.loads(record.evidence)["recovery"]["ahead_ms"] == {"1": 0}
    assert record.inject_ns <= record.effect_ns < record.end_ns <= record.recovered_ns


def test_what_was_asked_says_by_how_much() -> None:
    """Who reads the history knows from it how far the clock was off."""
    (record,) = run(World(), AHEAD | {"target": "1+102", "offset": "-1h"})
    assert (record.target, record.nodes) == ("nodes 1+102: -1h", (1, 102))


def test_a_file_that_the_process_does_not_read_is_no_evidence() -> None:
    """The clock was set, and the process shows the old time."""
    world = World()
    world.clock_ahead = lambda node: ClockAhead(least_ms=-2, most_ms=2)  # type: ignore[method-assign]
    (record,) = run(world, AHEAD)
    assert (record.proven, record.recovered) == (False, True)
    assert reason(record).endswith("the clock of node 1 is -2 to 2 ms ahead")


def test_an_answer_that_took_too_long_shows_nothing() -> None:
    world = World()
    wide = ClockAhead(least_ms=-11_000, most_ms=320_000)
    world.clock.call_at(ns(5), lambda: setattr(world, "clock_ahead", lambda node: wide))
    (record,) = run(world, AHEAD)
    assert not record.proven
    assert "was read within 331000 ms, which shows nothing" in reason(record)


def test_a_clock_stays_wrong_over_a_restart_and_is_right_in_the_end() -> None:
    world = World()
    kill = {"name": "kill", "do": "kill", "target": "node 1", "after": "previous.begin + 1s", "for": "2s"}
    world.clock.call_at(ns(10), lambda: world.calls.append(f"clocks {world.clocks[1]}"))
    skew, killed = run(world, AHEAD | {"for": "20s"}, kill)
    assert "clocks 300000" in world.calls
    assert (skew.proven, skew.recovered, killed.recovered, world.clocks[1]) == (True, True, True, 0)


def test_the_clock_of_a_node_that_is_down_is_set_right_all_the_same() -> None:
    """Its file is; that its process shows it is seen when it runs again."""
    world = World()
    kill = {"name": "kill", "do": "kill", "target": "node 1", "after": "previous.begin + 1s", "for": "9s"}
    skew, killed = run(world, AHEAD, kill)
    assert changes(world) == ["set_clock 300000 1", "set_clock 0 1"]
    assert (skew.recovered, killed.recovered) == (True, True)
    assert skew.recovered_ns > killed.end_ns


def test_a_cluster_that_was_started_without_clocks_has_none_to_set() -> None:
    (record,) = run(World(clocks={2: 0}), AHEAD)
    assert "no clock to set: the cluster was started without one of node 1's own" in reason(record)


def test_a_clock_that_is_wrong_already_is_not_set_again() -> None:
    """The second fault would end with the first."""
    second = AHEAD | {"name": "other", "offset": "-1h", "after": "previous.begin + 1s"}
    first, other = run(World(), AHEAD | {"for": "20s"}, second)
    assert (first.proven, first.recovered, other.proven) == (True, True, False)
    assert "the clock of node 1: ahead has changed it, and is not healed" in reason(other)


def test_of_several_nodes_all_must_run() -> None:
    """A node without its wrong clock would have its records placed as if it had one."""
    world = World()
    world.kill(2)
    (record,) = run(world, AHEAD | {"target": "brokers"})
    assert "cannot set the clocks of all of 1+2+3: node 2 is exited" in reason(record)
    assert changes(world) == []


@pytest.mark.parametrize("value", ["5m", "+5", "+29s", "-29s", "+367d", "now", "+5 m", None, 300])
def test_an_offset_that_cannot_be_is_refused(value: object) -> None:
    with pytest.raises(BadStep, match=r"offset: .* allowed: how far ahead or behind, from 30s to 366d"):
        parse_step({"at": "5s"} | AHEAD | {"offset": value})


@pytest.mark.parametrize(
    ("offset", "offset_ms", "written"),
    [
        ("+5m", 300_000, "+5m"),
        ("-60m", -3_600_000, "-1h"),
        ("+8d", 691_200_000, "+8d"),
        ("+90s", 90_000, "+90s"),
        ("+30.5s", 30_500, "+30.500s"),
        ("-1.5h", -5_400_000, "-90m"),
    ],
)
def test_an_offset_is_written_as_it_was_read(offset: str, offset_ms: int, written: str) -> None:
    step = parse_step({"at": "5s"} | AHEAD | {"offset": offset})
    assert getattr(step, "offset_ms", None) == offset_ms
    assert write_step(step)["offset"] == written
    assert parse_step(write_step(step)) == step


def facts(release: tuple[int, int], *, combined: bool = False) -> Facts:
    return Facts(
        brokers=(1, 2, 3),
        controllers=(1, 2, 3) if combined else (101, 102, 103),
        edges=(),
        topics=(),
        release=release,
    )


@pytest.mark.parametrize("target", ["controllers", "active controller", "node 101", "nodes"])
def test_a_controller_is_refused_before_its_records_can_be_told_apart(target: str) -> None:
    step = parse_step({"at": "5s"} | AHEAD | {"target": target})
    with pytest.raises(
        BadStep, match=r"before 4\.2 nothing shows whose clock dated a record of the metadata"
    ):
        step.check(facts((4, 1)))
    step.check(facts((4, 2)))


def test_a_broker_is_refused_there_only_if_it_is_a_controller() -> None:
    step = parse_step({"at": "5s"} | AHEAD | {"target": "node 2"})
    step.check(facts((3, 9)))
    with pytest.raises(BadStep, match="brokers that are no controllers"):
        step.check(facts((3, 9), combined=True))


def test_the_clocks_of_a_plan_are_those_of_all_that_its_steps_may_hit() -> None:
    plan: list[dict[str, object]] = [
        {"at": "5s"} | AHEAD | {"target": "active controller"},
        {"at": "9s"} | AHEAD | {"name": "one", "target": "node 2"},
        {"name": "kill", "do": "kill", "at": "9s", "target": "node 3", "for": "2s"},
    ]
    steps = parse_steps(plan)
    assert clocks_of(steps, (1, 2, 3), (101, 102, 103)) == (2, 101, 102, 103)
    assert clocks_of(steps[2:], (1, 2, 3), (101, 102, 103)) == ()


def test_a_cluster_whose_clocks_were_set_serves_no_other_run() -> None:
    """Timers of its processes have seen a later time."""
    assert KINDS["clock-skew"].cost.spoils_cluster
    assert not KINDS["kill"].cost.spoils_cluster
