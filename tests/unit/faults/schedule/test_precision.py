"""A fault is injected when it is due, although all that it needs to know takes long to read."""

import json
import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from threading import Event

import pytest
from fakes.world.fault_world import LAG_NS, Aside, Inline, Slow, World, WorldView

from compose.protocols import PartitionState
from faults.clock import ns
from faults.kinds.fault.step import Step
from faults.plan.parse import parse_steps
from faults.schedule import step_runner
from faults.schedule.record import FaultRecord
from faults.schedule.scheduler import run_schedule

COUNT = 200
LIMIT_NS = ns(0.1)

KINDS = (
    {"do": "pause", "target": "leader"},
    {"do": "partition", "edges": "all <-> active controller", "mode": "blackhole"},
    {"do": "kill", "target": "follower 2"},
    {"do": "disk-stall", "target": "leader"},
    {"do": "latency", "edges": "followers -> leader", "delay": "200ms"},
    {"do": "stop", "target": "node 3"},
    {"do": "partition", "edges": "client -> leader"},
    {"do": "power-loss", "target": "follower"},
)


def plan_of(count: int) -> tuple[Step, ...]:
    """Pairs of overlapping faults, each pair 16 s after the one before."""
    words = [KINDS[number % len(KINDS)] | {"for": "6s"} for number in range(count)]
    return parse_steps(
        [
            each | {"at": f"{5 + 16 * (number // 2) + 3.5 * (number % 2)}s"}
            for number, each in enumerate(words)
        ]
    )


@dataclass
class SilentBroker(WorldView):
    """A view that waits for an answer that does not come, at each question."""

    waits_s: float = 2.0

    def describe(self, *topics: str) -> tuple[PartitionState, ...]:
        self.world.clock.advance(ns(self.waits_s))
        return super().describe(*topics)


def run(
    world: World, steps: tuple[Step, ...], threads: Inline, *, quick_s: float | None = 0.5
) -> list[FaultRecord]:
    """Run with a broker that is silent all the time; the quick view waits for it for less."""
    quick = None if quick_s is None else SilentBroker(world, quick_s)
    return list(
        run_schedule(
            steps,
            world,
            SilentBroker(world),
            world.clock,
            stop=Event(),
            on_event=lambda _: None,
            quick=quick,
            threads=threads,
        )
    )


@dataclass
class LateToKnow(WorldView):
    """A view that asks a broker of all topics which has not heard of an election yet, and does so
    `after_ns`; of one topic it asks others too."""

    after_ns: int

    def describe(self, *topics: str) -> tuple[PartitionState, ...]:
        states = super().describe(*topics)
        if len(topics) == 1 or self.world.clock.now_ns() >= self.after_ns:
            return states
        return tuple(replace(state, leader=1, leader_epoch=0) for state in states)


def run_by(
    view: WorldView, *words: dict[str, str], quick: WorldView | None = None
) -> tuple[FaultRecord, ...]:
    """Run on the view's world, where each reading is done at once."""
    world = view.world
    return run_schedule(
        parse_steps(words),
        world,
        view,
        world.clock,
        stop=Event(),
        on_event=lambda _: None,
        quick=quick,
        threads=Inline(),
    )


def run_slowly(world: World, steps: tuple[Step, ...]) -> tuple[FaultRecord, ...]:
    """Run where each reading takes 0.3 s."""
    view = WorldView(world)
    return run_schedule(
        steps, world, view, world.clock, stop=Event(), on_event=lambda _: None, threads=Slow(world.clock)
    )


def p99_late_ns(records: Iterable[FaultRecord]) -> int:
    """How late at most 99 of 100 faults were injected."""
    late = sorted(record.inject_ns - record.planned_begin_ns for record in records)
    return late[math.ceil(0.99 * len(late)) - 1]


def test_two_hundred_faults_of_all_kinds_begin_when_they_are_due() -> None:
    """Each reading takes 0.3 s; pairs overlap, and the changes of one delay the other by 0.1 s at most."""
    world = World()
    records = run_slowly(world, plan_of(COUNT))
    assert all(record.inject_ns >= 0 for record in records)
    assert len(records) == COUNT
    assert p99_late_ns(records) <= LIMIT_NS


def test_a_silent_broker_delays_no_fault() -> None:
    """A question takes two seconds then; the roles are known from a view that waits half a second."""
    world = World()
    records = run(world, plan_of(COUNT), Aside(world.clock))
    assert p99_late_ns(records) <= LIMIT_NS


def test_a_silent_broker_delays_no_fault_of_a_cluster_with_several_topics() -> None:
    """It is waited for once a reading, however many topics there are."""
    world = World()
    world.admin.replicas |= {(f"refunds-{number}", 0): (1, 2, 3) for number in range(5)}
    records = run(world, plan_of(40), Aside(world.clock))
    assert p99_late_ns(records) <= LIMIT_NS


@pytest.mark.parametrize(("quick_s", "within_s"), [(0.0, 0.2), (0.5, 1.2), (None, 4.2)])
def test_an_event_is_noticed_soon_although_a_broker_is_silent(quick_s: float | None, within_s: float) -> None:
    """The view that waits less is asked, 0.2 s after its last answer. What that took is recorded: the event
    came after the begin of the last reading that had not found it."""
    world = World()
    silent = {"do": "pause", "target": "node 2", "at": "5s", "for": "12s"}
    waiting = {"do": "pause", "target": "node 101", "when": "isr.size(orders-0) <= 2", "for": "1s"}
    first, second = run(world, parse_steps([silent, waiting]), Aside(world.clock), quick_s=quick_s)
    came_ns = first.begin_ns + LAG_NS
    noticed_within_s = json.loads(second.evidence)["noticed_within_s"]
    assert noticed_within_s == pytest.approx(within_s)
    assert second.planned_begin_ns - ns(noticed_within_s) <= came_ns <= second.planned_begin_ns


def test_offsets_are_asked_of_the_view_that_waits_less() -> None:
    """A paused follower is behind by 500 records half a second later, for 3 s, and then out of the ISR."""
    world = World()
    view = WorldView(world)
    view.with_offsets = lambda _: pytest.fail("it was asked")  # type: ignore[method-assign]
    silent = {"do": "pause", "target": "node 2", "at": "5s", "for": "9s"}
    behind = {"do": "pause", "target": "node 101", "when": "hw < leo - 500", "for": "1s"}
    first, second = run_by(view, silent, behind, quick=WorldView(world))
    assert first.begin_ns + ns(0.5) <= second.inject_ns <= first.begin_ns + ns(1)


def test_a_reading_without_an_answer_does_not_say_that_an_event_has_not_come() -> None:
    """No broker answers for a while, and one is fenced meanwhile: it may have been so all that time."""
    world = World()
    view = WorldView(world)
    fenced = view.fenced
    view.fenced = lambda: fenced() if not ns(6) < world.clock.now_ns() < ns(9) else {}  # type: ignore[method-assign]
    kill = {"do": "kill", "target": "node 2", "at": "6500ms", "for": "9s"}
    waiting = {"do": "pause", "target": "node 101", "when": "broker 2 fenced", "since": "start", "for": "1s"}
    _, noticed = run_by(view, kill, waiting)
    assert ns(9) <= noticed.planned_begin_ns <= ns(9.3)
    noticed_within_s = json.loads(noticed.evidence)["noticed_within_s"]
    assert ns(5.7) <= noticed.planned_begin_ns - ns(noticed_within_s) <= ns(6)


def test_a_recovery_is_not_proven_by_the_view_that_does_not_wait() -> None:
    """It may leave out the one broker that knows who is in sync: here it takes all replicas for that."""
    world = World(rejoin_ns=ns(4))
    quick = WorldView(world)
    asked = quick.describe
    quick.describe = lambda *topics: tuple(  # type: ignore[method-assign]
        replace(state, isr=(1, 2, 3)) for state in asked(*topics)
    )
    words = {"do": "kill", "target": "node 2", "at": "5s", "for": "5s"}
    (kill,) = run_by(WorldView(world), words, quick=quick)
    assert kill.recovered_ns >= kill.heal_ns + world.boot_ns + world.rejoin_ns


def test_after_an_election_the_new_leader_is_hit_although_a_broker_still_names_the_old_one() -> None:
    """Roles are read through a broker that hears of it 5 s later; the event told who leads now."""
    world = World()
    world.admin.replicas["refunds", 0] = (1, 2, 3)
    kill = {"name": "kill", "at": "5s", "do": "kill", "target": "leader", "for": "6s"}
    pause = {"do": "pause", "when": "leader.changed", "target": "leader", "for": "3s"}
    killed, paused = run_schedule(
        parse_steps([kill, pause]),
        world,
        WorldView(world),
        world.clock,
        stop=Event(),
        on_event=lambda _: None,
        quick=LateToKnow(world, ns(10)),
        threads=Slow(world.clock),
    )
    assert (killed.nodes, paused.nodes) == ((1,), (2,))
    assert paused.inject_ns - killed.inject_ns < ns(2)


def test_without_a_quick_view_a_silent_broker_makes_faults_late() -> None:
    """What is known of the leader is older than a second: it is asked for again when the step is due."""
    world = World()
    records = run(world, plan_of(16), Aside(world.clock), quick_s=None)
    assert p99_late_ns(records) > LIMIT_NS


def test_faults_that_are_not_prepared_before_are_late(monkeypatch: pytest.MonkeyPatch) -> None:
    """So the figure can fail."""
    monkeypatch.setattr(step_runner, "_ahead_ns", lambda state: 0)
    records = run_slowly(World(), plan_of(40))
    late = [record for record in records if record.inject_ns - record.planned_begin_ns > LIMIT_NS]
    assert len(late) == 40
    assert {json.loads(record.evidence)["delayed"] for record in late} == {"it was not prepared in time"}


class SlowToStart(World):
    """A world whose nodes take five seconds to be started."""

    def start(self, node: int, *, owner: str = "") -> None:
        self.clock.advance(ns(5))
        super().start(node, owner=owner)


def test_a_change_that_takes_long_delays_no_other_fault() -> None:
    """While one node is started, another is paused when that is due, and for as long as planned."""
    world = SlowToStart()
    kill = {"do": "kill", "target": "node 2", "at": "5s", "for": "1s"}
    pause = {"do": "pause", "target": "node 3", "at": "8s", "for": "1s"}
    started, paused = run(world, parse_steps([kill, pause]), Aside(world.clock))
    assert started.end_ns < paused.inject_ns < paused.heal_ns < started.heal_ns
    assert paused.inject_ns == ns(8)
    assert paused.end_ns - paused.begin_ns == ns(1)


def test_planned_and_realised_times_stand_side_by_side() -> None:
    """A kill that was begun at its instant, was in force 0.05 s later, and was held as long as planned."""
    world = World()
    (kill,) = run(world, parse_steps([{"do": "kill", "target": "node 2", "at": "5s", "for": "3s"}]), Inline())
    assert (kill.planned_begin_ns, kill.planned_end_ns) == (ns(5), ns(8))
    assert (kill.inject_ns, kill.begin_ns, kill.end_ns, kill.heal_ns) == (ns(5), ns(5.05), ns(8.05), ns(8.15))


def test_a_step_begins_once_others_have_recovered() -> None:
    """At its time if they have by then, else a moment after it is proven; it says for whom it waited."""
    words = {"do": "kill", "target": "node 2", "at": "5s", "for": "3s"}
    after = {"do": "pause", "target": "node 3", "for": "3s", "once": "kill-1"}
    world = World()
    _, on_time = run(world, parse_steps([words, after | {"at": "40s"}]), Aside(world.clock))
    assert on_time.inject_ns == ns(40)
    assert "postponed" not in json.loads(on_time.evidence)
    world = World()
    kill, late = run(world, parse_steps([words, after | {"at": "9s"}]), Aside(world.clock))
    assert late.inject_ns == late.planned_begin_ns
    assert kill.recovered_ns + ns(2) <= late.inject_ns <= kill.recovered_ns + ns(5)
    assert late.planned_end_ns == late.planned_begin_ns + ns(3)
    by_s = round((late.planned_begin_ns - ns(9)) / 1e9, 3)
    assert json.loads(late.evidence)["postponed"] == {"by_s": by_s, "for": "kill-1"}


def test_a_step_is_not_injected_after_one_that_did_not_recover() -> None:
    """A node whose edges never pass a byte again: nobody makes it worse."""
    world = World(ignores={"mend"})
    words = {"do": "partition", "edges": "all <-> node 2", "at": "5s", "for": "3s"}
    _, pause = run(
        world,
        parse_steps(
            [words, {"do": "pause", "target": "node 3", "at": "9s", "for": "3s", "once": "partition-1"}]
        ),
        Inline(),
        quick_s=None,
    )
    assert pause.inject_ns == -1
    assert "partition-1 did not recover" in json.loads(pause.evidence)["reason"]


def test_a_step_that_was_not_injected_is_not_waited_for() -> None:
    """It impairs nothing."""
    world = World(leader=1)
    world.kill(1)
    for node in (2, 3):
        world.kill(node)
    skipped, pause = run(
        world,
        parse_steps(
            [
                {"do": "pause", "target": "node 1", "at": "5s", "for": "3s"},
                {"do": "pause", "target": "node 101", "at": "20s", "for": "3s", "once": "pause-1"},
            ]
        ),
        Aside(world.clock),
    )
    assert skipped.inject_ns == -1
    assert pause.inject_ns == pause.planned_begin_ns >= ns(20)
