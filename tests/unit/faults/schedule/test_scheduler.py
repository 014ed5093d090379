"""A plan is run in time, and always healed: ten minutes of it in milliseconds, on a virtual clock."""

import gc
import json
import time
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from threading import Event

import pytest
from fakes.world.fault_world import Aside, Inline, Slow, World, WorldView

from compose.errors import NodeStateError
from compose.protocols import Edge, ProcessEvent
from faults.clock import SystemClock, ns
from faults.kinds import registry
from faults.kinds.fault.base import Injection
from faults.kinds.fault.kind import Cost
from faults.kinds.fault.step import Step
from faults.kinds.registry import KINDS
from faults.plan.parse import parse_steps
from faults.plan.storm import Storm, storm
from faults.schedule.record import FaultEvent, FaultRecord
from faults.schedule.scheduler import run_schedule
from faults.targets.facts import Facts, TopicFacts

CUT = {"name": "cut", "at": "5s", "do": "partition", "edges": "followers -> leader", "for": "3s"}
KILL = {"name": "kill", "at": "5s", "do": "kill", "target": "leader", "for": "3s"}
PAUSE = {"name": "pause", "at": "5s", "do": "pause", "target": "node 3", "for": "3s"}
STALL = {"name": "stall", "at": "5s", "do": "disk-stall", "target": "leader", "for": "3s"}


class Log:
    """Remembers events; `then` runs at each."""

    def __init__(self, then: Callable[[FaultEvent], None] = lambda _: None) -> None:
        self.events: list[FaultEvent] = []
        self._then = then

    def __call__(self, event: FaultEvent) -> None:
        self.events.append(event)
        self._then(event)

    def stages(self, name: str) -> list[str]:
        return [event.stage for event in self.events if event.name == name]


def facts_of(world: World) -> Facts:
    """The world as a scenario describes it."""
    topics = (TopicFacts(name="orders", partitions=1, replication=3, min_isr=2),)
    return Facts(brokers=world.brokers, controllers=world.controllers, edges=world.mesh.edges, topics=topics)


def run(
    world: World,
    steps: tuple[Step, ...],
    *,
    stop: Event | None = None,
    log: Callable[[FaultEvent], None] = lambda _: None,
    note: Callable[[FaultRecord], None] = lambda _: None,
    threads: Inline | None = None,
) -> tuple[FaultRecord, ...]:
    """Run steps on the world's own clock."""
    return run_schedule(
        steps,
        world,
        WorldView(world),
        world.clock,
        stop=stop or Event(),
        on_event=log,
        on_record=note,
        threads=threads or Inline(),
    )


def plan(*words: dict[str, str]) -> tuple[Step, ...]:
    """Steps from words; a later "after" or "when" replaces the "at"."""
    return parse_steps(
        [
            {k: v for k, v in each.items() if k != "at" or len({"after", "when"} & {*each}) == 0}
            for each in words
        ]
    )


def reason(record: FaultRecord) -> str:
    """Why a step was not injected or not proven."""
    return str(json.loads(record.evidence).get("reason", ""))


def is_healed(world: World) -> bool:
    """Whether nothing of any fault is left."""
    return (
        all(state.status == "running" for state in world.states.values())
        and not world.frozen
        and not any(world.mesh.is_cut(edge) for edge in world.mesh.edges)
    )


def test_the_schedule_of_the_leader_kill() -> None:
    """Cut at 5 s, kill 2 s after the cut, each healed after its hold: to the millisecond."""
    world = World()
    cut, kill = run(world, plan(CUT, KILL | {"after": "previous.begin + 2s"}))
    assert (cut.inject_ns, cut.heal_ns) == (ns(5), ns(8))
    assert kill.inject_ns == ns(7)
    assert (cut.proven, cut.recovered, kill.proven, kill.recovered) == (True, True, True, True)
    assert is_healed(world)


def test_a_ten_minute_storm_takes_a_moment() -> None:
    """Ten minutes of drawn faults run in seconds at most: overlapping, on time, all proven, all recovered."""
    world = World()
    steps = storm(Storm(duration_s=600.0), seed=11, facts=facts_of(world))
    began = time.monotonic()
    records = run(world, steps)
    assert time.monotonic() - began < 10
    assert len(records) == len(steps) > 60
    assert [record.name for record in records if not (record.proven and record.recovered)] == []
    assert sum(after.inject_ns < before.heal_ns for before, after in pairwise(records)) > 20
    assert max(record.inject_ns - record.planned_begin_ns for record in records) <= ns(0.1)
    assert ns(550) < world.clock.now_ns() < ns(600)
    assert is_healed(world)


def test_what_a_step_has_needed_is_let_go_when_it_has_recovered() -> None:
    """Of the injections those stay that are prepared or in work, a round's; the records are whole."""
    world, kept = World(), list[int]()
    others = {id(each) for each in gc.get_objects() if isinstance(each, Injection)}

    def count(event: FaultEvent) -> None:
        if event.stage == "recovered":
            injections = (each for each in gc.get_objects() if isinstance(each, Injection))
            kept.append(sum(id(each) not in others for each in injections))

    steps = storm(Storm(duration_s=300.0), seed=11, facts=facts_of(world))
    noted: dict[str, FaultRecord] = {}
    records = run(world, steps, log=count, note=lambda record: noted.update({record.name: record}))
    assert len(kept) == len(records) > 30
    assert 1 <= max(kept[-10:]) <= 6
    assert {record.name: record for record in records} == noted


@pytest.mark.parametrize("boot_s", [3.0, 40.0])
def test_a_storm_stays_within_its_limit_however_long_recoveries_take(boot_s: float) -> None:
    """One broker at a time is impaired, and one controller; the steps that wait for that say so."""
    world = World(boot_ns=ns(boot_s))
    steps = storm(Storm(duration_s=300.0), seed=5, facts=facts_of(world))
    records = run(world, steps)
    assert all(record.recovered for record in records)
    for now in records:
        hit = {
            node
            for each in records
            if each.inject_ns <= now.inject_ns < each.recovered_ns
            for node in victims(each)
        }
        assert len(hit & set(world.brokers)) <= 1
        assert len(hit & set(world.controllers)) <= 1
    assert max(record.inject_ns - record.planned_begin_ns for record in records) <= ns(0.1)
    assert any("postponed" in json.loads(each.evidence) for each in records) == (boot_s > 14)


def victims(record: FaultRecord) -> set[int]:
    """The nodes that a fault impairs: of edges, the node that has them all."""
    if not record.edges:
        return set(record.nodes)
    return {node for node in record.nodes if all(str(node) in edge.split("->") for edge in record.edges)}


def test_the_same_plan_runs_the_same() -> None:
    """Two runs of one plan leave equal records."""
    steps = plan(CUT, KILL | {"after": "cut.begin + 1s"}, PAUSE | {"after": "kill.recovered + 1s"})
    assert run(World(), steps) == run(World(), steps)


MOMENTS = [("begin", "inject_ns"), ("end", "heal_ns"), ("recovered", "recovered_ns")]


@pytest.mark.parametrize(("moment", "column"), MOMENTS)
def test_moments(moment: str, column: str) -> None:
    """A step can follow the begin, the end, or the proven recovery of another."""
    cut, pause = run(World(), plan(CUT, PAUSE | {"after": f"cut.{moment} + 1500ms"}))
    waited = pause.inject_ns - getattr(cut, column)
    assert ns(1.5) <= waited <= ns(1.7)


def test_what_is_known_of_a_fault_is_told_from_when_its_injection_begins() -> None:
    """So that it can be written down before the harness may be killed; the last is what is returned."""
    told: list[FaultRecord] = []
    (kill,) = run(World(), plan(KILL), note=told.append)
    assert (told[0].inject_ns, told[0].begin_ns, told[0].nodes) == (kill.inject_ns, -1, kill.nodes)
    known = [(each.begin_ns > 0, each.proven, each.heal_ns > 0, each.recovered) for each in told]
    assert known == sorted(known)
    assert told[-1] == kill


def test_roles_are_resolved_at_the_moment_of_injection() -> None:
    """Killing the leader twice kills two nodes: the second time it is the one elected after the first."""
    first, second = run(World(), plan(KILL, KILL | {"name": "again", "after": "kill.recovered"}))
    assert (first.nodes, second.nodes) == ((1,), (2,))


def test_a_vacant_role_is_waited_for() -> None:
    """While no node leads the partition the step waits, and records how late it was."""
    world = World()
    view = WorldView(world)
    describe, vacant_until = view.describe, ns(8)
    view.describe = lambda *topics: tuple(  # type: ignore[method-assign]
        state
        if world.clock.now_ns() >= vacant_until
        else type(state)(
            topic=state.topic, partition=0, leader=-1, leader_epoch=0, replicas=(1, 2, 3), isr=(1,)
        )
        for state in describe(*topics)
    )
    (record,) = run_schedule(
        plan(KILL), world, view, world.clock, stop=Event(), on_event=lambda _: None, threads=Inline()
    )
    assert record.proven
    assert ns(8) <= record.inject_ns <= ns(8.25)
    evidence = json.loads(record.evidence)
    assert 3.0 <= evidence["late_s"] <= 3.25
    assert "leader: orders-0 has no leader" in evidence["delayed"]


def test_a_role_that_stays_vacant_skips_the_step_and_its_dependents() -> None:
    """Without an active controller the pause is not injected, nor is what was to follow it."""
    log = Log()
    steps = plan(PAUSE | {"target": "active controller"}, KILL | {"after": "pause.end"}, CUT)
    pause, kill, cut = run(World(controller=None), steps, log=log)
    assert (pause.inject_ns, pause.proven, kill.inject_ns, kill.proven) == (-1, False, -1, False)
    assert "active controller: no node holds this role now, for 5 s" in reason(pause)
    assert "not injected: pause:" in reason(kill)
    assert log.stages("kill") == ["skipped"]
    assert cut.proven


def test_an_event() -> None:
    """A step that waits for the ISR to shrink is injected when it has, not before."""
    steps = plan(CUT | {"for": "6s"}, PAUSE | {"when": "isr == {leader}", "target": "leader"})
    cut, pause = run(World(), steps)
    assert pause.proven
    lag_limit = ns(3)
    assert cut.inject_ns + lag_limit <= pause.inject_ns <= cut.inject_ns + lag_limit + ns(0.5)


def test_an_event_of_offsets() -> None:
    """A step that waits for unreplicated records is injected once the followers are cut off."""
    steps = plan(CUT | {"for": "6s"}, KILL | {"when": "hw < leo - 500", "target": "leader"})
    cut, kill = run(World(), steps)
    assert kill.proven
    assert cut.inject_ns + ns(0.5) <= kill.inject_ns <= cut.inject_ns + ns(1.0)


def test_an_event_of_one_follower() -> None:
    """A step that waits for the second follower does not take the first one for it."""
    first = {"name": "first", "at": "5s", "do": "partition", "edges": "2 -> 1", "for": "5s"}
    second = {"name": "second", "at": "8s", "do": "partition", "edges": "3 -> 1", "for": "5s"}
    kill = {"name": "kill", "when": "follower 2 behind by 500", "do": "kill", "target": "leader", "for": "3s"}
    _, cut, killed = run(World(), plan(first, second, kill))
    assert cut.inject_ns + ns(0.5) <= killed.inject_ns <= cut.inject_ns + ns(1.0)


def test_offsets_that_do_not_part() -> None:
    """While all replicas keep up the event does not come, and the last offsets are on record."""
    _, kill = run(World(), plan(PAUSE | {"target": "node 101"}, KILL | {"when": "hw < leo", "within": "2s"}))
    assert kill.inject_ns == -1
    assert "hw < leo did not come within 2 s; the last state was PartitionState(" in reason(kill)
    assert "offsets=PartitionOffsets(high_watermark=" in reason(kill)


def test_an_event_is_measured_from_before_the_step_before() -> None:
    """A change of leader that the kill itself brings about counts, however soon it comes."""
    kill, pause, _ = run(World(), plan(KILL, PAUSE | {"when": "leader.changed"}, CUT | {"at": "30s"}))
    assert pause.proven
    assert kill.inject_ns < pause.inject_ns < kill.inject_ns + ns(0.5)


def test_an_event_that_does_not_come() -> None:
    """After its deadline the step is not injected, and its record holds the last state."""
    world = World()
    cut, pause = run(world, plan(CUT, PAUSE | {"when": "leader == none", "within": "10s"}))
    assert cut.proven
    assert pause.inject_ns == -1
    assert "leader == none did not come within 10 s; the last state was PartitionState(" in reason(pause)
    assert is_healed(world)


def test_an_event_after_a_step_that_was_skipped() -> None:
    """Nothing was injected that could bring the event about, so it is not waited for; later steps run."""
    steps = plan(
        PAUSE | {"target": "active controller"}, KILL | {"when": "leader.changed"}, CUT | {"at": "30s"}
    )
    _, kill, cut = run(World(controller=None), steps)
    assert (kill.inject_ns, cut.proven) == (-1, True)
    assert "not injected: pause: active controller" in reason(kill)


def test_an_event_after_a_step_that_could_not_be_healed() -> None:
    """The step before did begin, so its event is waited for, whatever became of its healing."""
    world = World(failing={"unpause": [NodeStateError("gone")] * 99})
    world.clock.call_at(ns(20), lambda: world.kill(1))
    world.clock.call_at(ns(21), lambda: world.start(1))
    _, cut = run(world, plan(PAUSE, CUT | {"when": "leader.changed"}))
    assert ns(20) <= cut.inject_ns <= ns(20.5)


def test_a_first_step_can_wait_for_an_event() -> None:
    """The first step waits from the start of the schedule."""
    world = World()
    world.clock.call_at(ns(4), lambda: world.kill(2))
    world.clock.call_at(ns(6), lambda: world.start(2))
    (pause,) = run(world, plan(PAUSE | {"when": "isr.size <= 2"}))
    assert ns(4) <= pause.inject_ns <= ns(4.4)


def test_ctrl_c() -> None:
    """When `stop` is set everything in force is healed, the latest first, and nothing more is injected."""
    world, stop, log = World(), Event(), Log()
    world.clock.call_at(ns(7), stop.set)
    steps = plan(CUT | {"for": "60s"}, PAUSE | {"at": "6s", "for": "60s"}, KILL | {"at": "8s"})
    cut, pause, kill = run(world, steps, stop=stop, log=log)
    assert (cut.heal_ns, pause.heal_ns) == (ns(7.05), ns(7.05))
    assert (cut.proven, cut.recovered, pause.proven, pause.recovered) == (True, True, True, True)
    assert (kill.inject_ns, reason(kill)) == (-1, "not injected: the schedule was interrupted")
    healed = [event.name for event in log.events if event.stage == "healed"]
    assert healed == ["pause", "cut"]
    assert [event.name for event in log.events if event.stage == "skipped"] == []
    assert is_healed(world)


def test_ctrl_c_injects_no_dependents() -> None:
    """Healing on the way out is no moment that other steps may follow."""
    world, stop = World(), Event()
    world.clock.call_at(ns(7), stop.set)
    _, kill = run(world, plan(CUT | {"for": "60s"}, KILL | {"after": "cut.end"}), stop=stop)
    assert kill.inject_ns == -1
    assert "kill 1" not in world.calls


def test_ctrl_c_waits_ten_seconds_for_a_recovery() -> None:
    """An interrupted run does not wait a minute for a node that does not come back."""
    world, stop = World(ignores={"start"}), Event()
    world.clock.call_at(ns(7), stop.set)
    (kill,) = run(world, plan(KILL | {"for": "60s"}), stop=stop)
    assert not kill.recovered
    assert world.clock.now_ns() - kill.heal_ns < ns(11)


@pytest.mark.parametrize("stage", ["injected", "effect", "healed", "recovered"])
def test_an_error_of_the_caller_heals(stage: str) -> None:
    """Whatever `on_event` raises, and when, is raised after everything was healed."""

    def fail(event: FaultEvent) -> None:
        if (event.name, event.stage) == ("pause", stage):
            raise RuntimeError(f"no screen for {event.stage}")

    world = World()
    with pytest.raises(RuntimeError, match=f"no screen for {stage}"):
        run(world, plan(CUT | {"for": "60s"}, PAUSE), log=fail)
    assert is_healed(world)


def test_an_error_of_the_caller_at_every_event_heals() -> None:
    """Not even a caller that raises at each event keeps anything from being healed."""

    def fail(event: FaultEvent) -> None:
        if event.at_ns >= ns(6):
            raise RuntimeError(event.stage)

    world = World()
    with pytest.raises(RuntimeError, match="injected"):
        run(world, plan(CUT | {"for": "60s"}, STALL | {"at": "6s"}), log=fail)
    assert is_healed(world)


class Interrupt(BaseException):
    """What a second signal raises."""


def test_an_interrupt_waits_for_nothing_and_heals_nothing() -> None:
    """The cluster goes: a node that is being stopped, which takes half a minute, is not waited for."""

    def fail(event: FaultEvent) -> None:
        if event.name == "pause":
            raise Interrupt

    world, begin = World(), time.monotonic()
    stops, gone = Event(), Event()
    world.stop = lambda *_, **__: (stops.set(), gone.wait(60))  # type: ignore[method-assign]
    stop_step = {"name": "stop", "at": "0.1s", "do": "stop", "target": "node 2", "for": "60s"}
    pause_step = {"name": "pause", "at": "0.3s", "do": "pause", "target": "node 1", "for": "60s"}
    with pytest.raises(Interrupt):
        run_schedule(
            plan(stop_step, pause_step), world, WorldView(world), SystemClock(), stop=Event(), on_event=fail
        )
    assert stops.is_set()
    assert time.monotonic() - begin < 30
    assert world.state(1).status == "paused"
    gone.set()


def test_an_unexpected_error_of_the_cluster_heals() -> None:
    """An injection that raises what is no error of the cluster: raised after everything was healed."""
    world = World(failing={"pause": [ZeroDivisionError("a bug")]})
    with pytest.raises(ZeroDivisionError):
        run(world, plan(CUT | {"for": "60s"}, PAUSE))
    assert is_healed(world)


def test_an_unexpected_error_of_a_probe_heals() -> None:
    """A probe that raises what is no error of the cluster keeps nothing from being healed."""
    world = World()
    world.clock.call_at(ns(5.3), lambda: setattr(world, "cpu_ns", lambda node: 1 // 0))
    with pytest.raises(ZeroDivisionError):
        run(world, plan(CUT | {"for": "60s"}, PAUSE))
    assert is_healed(world)


def test_a_failed_injection_is_healed_and_the_plan_goes_on() -> None:
    """A cluster that refuses an injection leaves it unproven with the reason; other steps run."""
    world = World(failing={"pause": [NodeStateError("node 2 could not be paused")]})
    steps = plan(PAUSE | {"target": "1+2+3"}, KILL | {"after": "pause.end"})
    pause, kill = run(world, steps)
    assert (pause.proven, reason(pause)) == (False, "the injection failed: node 2 could not be paused")
    assert kill.proven
    assert is_healed(world)


@pytest.mark.parametrize("failing", ["pause", "drop_unsynced", "kill"])
def test_a_power_cut_that_fails_half_way_is_healed(failing: str) -> None:
    """Wherever a power cut of three nodes breaks off, all three run again after it."""
    words = {"name": "power", "at": "5s", "do": "power-loss", "target": "brokers", "for": "1s"}
    world = World()

    call = getattr(world, failing)

    def fail_at_the_second(node: int, **more: str) -> None:
        if node == 2:
            setattr(world, failing, call)
            raise NodeStateError(f"{failing} of node 2")
        call(node, **more)

    setattr(world, failing, fail_at_the_second)
    (record,) = run(world, plan(words))
    assert (record.proven, record.recovered) == (False, True)
    assert is_healed(world)
    assert not world.cut_off


def test_a_heal_that_fails_is_tried_again() -> None:
    """Two failures to unpause are reported, the third try heals."""
    world = World(failing={"unpause": [NodeStateError("busy"), NodeStateError("still busy")]})
    log = Log()
    (pause,) = run(world, plan(PAUSE), log=log)
    assert log.stages("pause") == ["injected", "effect", "heal-failed", "heal-failed", "healed", "recovered"]
    assert "try 2: still busy" in [event.detail for event in log.events]
    assert pause.recovered
    assert ns(10) <= pause.heal_ns <= ns(10.2)


def test_a_heal_that_always_fails_is_given_up_and_the_others_are_healed() -> None:
    """After its last try a fault is reported as not healed; other faults are healed all the same. At the end
    of the schedule it is tried again."""
    world = World(failing={"unpause": [NodeStateError("gone")] * 99})
    log = Log()
    pause, cut, kill = run(world, plan(PAUSE, CUT | {"at": "6s"}, KILL | {"after": "pause.end"}), log=log)
    assert (pause.proven, pause.recovered, pause.heal_ns) == (True, False, -1)
    assert reason(pause) == "not healed after 10 tries"
    assert cut.heal_ns == ns(9)
    assert kill.inject_ns == -1
    assert log.stages("pause").count("heal-failed") == 10
    assert not any(world.mesh.is_cut(edge) for edge in world.mesh.edges)


def test_ctrl_c_gives_up_what_cannot_be_healed() -> None:
    """After five tries, a second apart, the next fault is healed, and the records are there."""
    world, stop, log = World(failing={"unpause": [NodeStateError("gone")] * 99}), Event(), Log()
    world.clock.call_at(ns(7), stop.set)
    steps = plan(CUT | {"for": "60s"}, PAUSE | {"at": "6s", "for": "60s"})
    cut, pause = run(world, steps, stop=stop, log=log)
    assert (pause.heal_ns, pause.recovered) == (-1, False)
    assert log.stages("pause")[-6:] == [*["heal-failed"] * 5, "not-recovered"]
    assert cut.heal_ns == ns(11)


def test_a_last_probe_before_healing() -> None:
    """What has stood still for just long enough when the hold is over is proven by a last probe."""
    (pause,) = run(World(), plan(PAUSE | {"for": "800ms"}))
    assert pause.proven


def test_slow_probes_prove_that_a_counter_stands_still_after_a_short_hold() -> None:
    """Two probes of 1.3 s each do not fit into a hold of 1.5 s; the hold goes on until the second returns."""
    world = World()
    slow = Slow(world.clock, latency_ns=ns(1.3))
    (stall,) = run(world, plan(STALL | {"for": "1500ms"}), threads=slow)
    assert stall.proven
    assert ns(2.6) <= stall.end_ns - stall.begin_ns < ns(4.5)


def test_a_probe_that_goes_on_when_the_hold_is_over_counts() -> None:
    """A kill is healed at once, but not before the probe of its effect has returned."""
    world, log = World(), Log()
    (kill,) = run(world, plan(KILL | {"for": "0s"}), log=log, threads=Slow(world.clock))
    assert kill.proven
    assert log.stages("kill")[:3] == ["injected", "effect", "healed"]


def test_a_probe_that_takes_too_long_is_not_waited_for() -> None:
    """Healing waits three seconds for a probe and no longer; what that probe finds then does not count."""
    world, log = World(), Log()
    slow = Slow(world.clock, latency_ns=ns(4))
    (kill,) = run(world, plan(KILL | {"for": "0s"}), log=log, threads=slow)
    assert not kill.proven
    assert ns(3) <= kill.end_ns - kill.begin_ns < ns(3.2)
    assert reason(kill) == "no evidence of an effect: no probe returned before the fault had to be healed"
    assert log.stages("kill") == ["injected", "unproven", "healed", "recovered"]


def test_slow_jobs_delay_no_other_step() -> None:
    """Where each job takes 2 s, a step is late by its own preparation, and by no other one.

    A cut is prepared twice, since its roles are 2 s old when the first one is done.
    """
    world = World()
    cut, pause = run(world, plan(CUT, PAUSE | {"at": "6s"}), threads=Slow(world.clock, latency_ns=ns(2)))
    assert ns(7.7) <= cut.inject_ns <= ns(8.5)
    assert ns(6.7) <= pause.inject_ns <= ns(7.2)
    assert ns(3) <= cut.end_ns - cut.begin_ns <= ns(6.2)
    assert ns(3) <= pause.end_ns - pause.begin_ns <= ns(6.2)


STOP = {"name": "stop", "at": "5s", "do": "stop", "target": "node 2", "for": "1s"}


def test_a_slow_stop_delays_no_other_step() -> None:
    """While one node takes 20 s to end, another is paused and healed on time; then the stop goes its way."""
    world, log = World(stop_ns=ns(20)), Log()
    steps = plan(STOP, PAUSE | {"at": "10s"}, CUT | {"at": "12s", "edges": "3 -> 1"})
    stop, pause, cut = run(world, steps, log=log, threads=Aside(world.clock))
    assert (pause.inject_ns, cut.inject_ns) == (ns(10), ns(12))
    assert (pause.heal_ns, cut.heal_ns) == (ns(13.1), ns(15))
    assert (stop.proven, stop.recovered, stop.inject_ns) == (True, True, ns(5))
    (ended_ns,), (started_ns,) = stop.down_ns, stop.up_ns
    assert ns(25) <= ended_ns <= ns(25.2)
    assert ns(26) <= started_ns <= stop.heal_ns <= ns(26.2)
    assert log.stages("stop") == ["injected", "effect", "healed", "recovered"]
    assert is_healed(world)


@pytest.mark.parametrize("do", ["stop", "kill", "power-loss", "pause"])
def test_a_node_that_another_step_is_ending_is_waited_for_and_then_refused(do: str) -> None:
    """Its shutdown takes 20 s, in which it runs: nobody else ends it, starts it, or claims that it did."""
    world = World(stop_ns=ns(20))
    second = STOP | {"name": "second", "at": "10s", "do": do, "for": "2s"}
    stop, other = run(world, plan(STOP | {"for": "5s"}, second), threads=Aside(world.clock))
    assert (stop.proven, stop.recovered, other.inject_ns, other.down) == (True, True, -1, ())
    assert reason(other).endswith("node 2 is running, and stop is ending it, for 5 s")
    assert ns(5) <= stop.up_ns[0] - stop.down_ns[0] < ns(5.5)
    assert is_healed(world)


def test_a_step_whose_node_is_ended_at_the_last_moment_names_who_has_ended_it() -> None:
    """Known too late to be waited for: the step is not proven, and leaves the node to the other fault."""
    world = World()
    others = {"name": "slow", "at": "5s", "do": "stop", "target": "2+3", "for": "1s"}
    kill = KILL | {"at": "6s", "target": "node 3", "for": "30s"}
    world.stop_ns = ns(4)
    slow, killed = run(world, plan(others, kill), threads=Aside(world.clock))
    assert (slow.proven, slow.down, killed.proven, killed.recovered) == (False, (2,), True, True)
    assert reason(slow) == "the injection failed: node 3 is exited, ended by kill"
    assert ns(30) <= killed.up_ns[0] - killed.down_ns[0] < ns(31)
    assert is_healed(world)


def test_ctrl_c_in_a_slow_stop() -> None:
    """The other faults are healed at once, and the node is started when it has ended, not before."""
    world, stop, log = World(stop_ns=ns(20)), Event(), Log()
    world.clock.call_at(ns(9), stop.set)
    steps = plan(CUT | {"at": "4s", "for": "60s"}, STOP, PAUSE | {"at": "6s", "for": "60s"})
    cut, ended, pause = run(world, steps, stop=stop, log=log, threads=Aside(world.clock))
    assert (pause.heal_ns, cut.heal_ns) == (ns(9.05), ns(9.05))
    assert ns(25) <= ended.heal_ns <= ns(25.2)
    assert [event.name for event in log.events if event.stage == "healed"] == ["pause", "cut", "stop"]
    assert (ended.proven, ended.recovered) == (True, True)
    assert is_healed(world)


def test_an_error_of_the_caller_in_a_slow_stop_heals() -> None:
    """What `on_event` raises while a node is ending is raised when that node runs again."""

    def fail(event: FaultEvent) -> None:
        if (event.name, event.stage) == ("pause", "injected"):
            raise RuntimeError("no screen")

    world = World(stop_ns=ns(20))
    with pytest.raises(RuntimeError, match="no screen"):
        run(world, plan(STOP, PAUSE | {"at": "6s"}), log=fail, threads=Aside(world.clock))
    assert world.clock.now_ns() >= ns(25)
    assert is_healed(world)


class SlowToRead(World):
    """A world whose CPU counters take a second to read."""

    def cpu_ns(self, node: int) -> int:
        self.clock.advance(ns(1))
        return super().cpu_ns(node)


@pytest.mark.parametrize(("moves_at_s", "node"), [(4.6, 2), (60.0, 1)])
def test_a_role_that_has_moved_since_the_preparation(moves_at_s: float, node: int) -> None:
    """A leader that moved meanwhile is not hit, its successor is, although counters take a second to read."""
    world = SlowToRead()
    world.clock.call_at(ns(moves_at_s), lambda: setattr(world, "leader", 2))
    (pause,) = run(world, plan(PAUSE | {"target": "leader"}), threads=Aside(world.clock))
    assert pause.nodes == (node,)
    assert pause.proven


def test_unproven_is_reported_before_healing() -> None:
    """That there is no evidence, and why, is an event when the hold is over."""
    log = Log()
    run(World(ignores={"pause"}), plan(PAUSE), log=log)
    assert log.stages("pause") == ["injected", "unproven", "healed", "recovered"]
    assert "states: {'3': 'running'}" in next(each.detail for each in log.events if each.stage == "unproven")


def test_two_cuts_of_one_edge() -> None:
    """An edge stays cut until the last fault that holds it has released it."""
    world, edge, was_cut = World(), Edge(source="2", target=1), []
    for at_s in (8.5, 9.5):
        world.clock.call_at(ns(at_s), lambda: was_cut.append(world.mesh.is_cut(edge)))
    wide = CUT | {"name": "wide", "at": "6s", "edges": "all -> leader", "mode": "blackhole"}
    first, second = run(world, plan(CUT, wide))
    assert was_cut == [True, False]
    assert (first.recovered, second.recovered) == (True, True)


@pytest.mark.parametrize("words", [PAUSE, STALL | {"target": "node 3"}])
def test_a_second_hold_of_one_node(words: dict[str, str]) -> None:
    """A fault whose node is paused or stalled already waits until it is not, and is proven then."""
    world = World()
    first, second = run(world, plan(words, words | {"name": "again", "at": "6s"}))
    assert (first.proven, second.proven) == (True, True)
    assert ns(8) <= first.heal_ns <= second.inject_ns <= first.heal_ns + ns(0.6)
    assert is_healed(world)


@pytest.mark.parametrize("do", ["kill", "stop", "power-loss"])
def test_an_end_of_a_node_whose_disk_is_frozen(do: str) -> None:
    """The disk is thawed, since the node could not end; both faults are proven, and both recover."""
    world = World()
    end = KILL | {"at": "8s", "target": "node 1", "do": do}
    stall, kill = run(world, plan(STALL | {"for": "10s"}, end))
    assert world.calls.count("thaw 1") >= 1
    assert (stall.proven, stall.recovered, kill.proven, kill.recovered) == (True, True, True, True)
    assert is_healed(world)


def test_a_kill_of_a_paused_node() -> None:
    """The end of the pause does not disturb the dead node, and the restarted node is not paused."""
    world = World()
    pause, kill = run(world, plan(PAUSE, KILL | {"at": "7s", "target": "node 3", "for": "5s"}))
    assert (pause.proven, pause.recovered, kill.proven, kill.recovered) == (True, True, True, True)
    assert is_healed(world)


@pytest.mark.parametrize(
    ("words", "do"),
    [
        (PAUSE, "kill"),
        (PAUSE, "power-loss"),
        (STALL | {"target": "node 3"}, "kill"),
        (STALL | {"target": "node 3"}, "stop"),
        (STALL | {"target": "node 3"}, "power-loss"),
    ],
)
def test_a_hold_ends_with_the_node(words: dict[str, str], do: str) -> None:
    """What held a node before it died holds it no longer: only a later fault does, until it is healed."""
    world, held = World(), list[bool]()
    end = KILL | {"do": do, "at": "7s", "target": "node 3", "for": "1s"}
    later = words | {"name": "later", "at": "10s", "for": "5s"}

    def note() -> None:
        held.append(world.states[3].status == "paused" or 3 in world.frozen)

    for at_s in (6, 9.5, 12, 17):
        world.clock.call_at(ns(at_s), note)
    run(world, plan(words | {"for": "18s"}, end, later))
    assert held == [True, False, True, False]
    assert is_healed(world)


def test_recovery_waits_until_no_other_fault_is_in_force() -> None:
    """The cut recovers long after its heal, because the leader is dead so long: that is not its failure."""
    world = World()
    cut, kill = run(world, plan(CUT, KILL | {"after": "cut.begin + 2s", "for": "90s"}))
    assert (cut.recovered, kill.recovered) == (True, True)
    assert cut.recovered_ns - cut.heal_ns > ns(80)


def test_counters_are_read_only_when_a_step_is_near() -> None:
    """Before the last seconds before the first step the cluster is not read."""
    world, reads = World(), []
    read = world.mesh.bytes
    world.mesh.bytes = lambda: reads.append(world.clock.now_ns()) or read()  # type: ignore[method-assign,func-returns-value]
    run(world, plan(CUT | {"at": "60s"}))
    assert min(reads) >= ns(57.0)


def test_an_empty_plan() -> None:
    """A plan without steps is over at once."""
    world = World()
    assert run(world, ()) == ()
    assert world.clock.now_ns() == 0


@pytest.mark.parametrize("words", [KILL, STOP])
def test_the_default_threads_are_threads(words: dict[str, str]) -> None:
    """On the machine's own clock, with its own threads, a plan runs as well."""
    world, log = World(boot_ns=0, rejoin_ns=0), Log()
    steps = plan(words | {"at": "20ms", "for": "20ms"})
    (record,) = run_schedule(steps, world, WorldView(world), SystemClock(), stop=Event(), on_event=log)
    assert (record.proven, record.recovered) == (True, True)
    assert log.stages(record.name) == ["injected", "effect", "healed", "recovered"]


def test_every_end_and_start_is_asked_for_in_the_name_of_its_fault() -> None:
    world, reported = World(), list[ProcessEvent]()
    world.watch(reported.append)
    stop = {"name": "stop", "at": "30s", "do": "stop", "target": "node 3", "for": "3s"}
    power = {"name": "power", "at": "60s", "do": "power-loss", "target": "node 2", "for": "3s"}
    run(world, plan(KILL, stop, power))
    changes = [(each.node, each.event, each.planned, each.owner) for each in reported[6:]]
    assert changes == [
        (1, "exited", True, "kill"),
        (1, "started", True, "kill"),
        (3, "exited", True, "stop"),
        (3, "started", True, "stop"),
        (2, "exited", True, "power"),
        (2, "started", True, "power"),
    ]


def test_a_node_may_halt_by_itself_only_under_a_kind_of_fault_that_may_end_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """While the fault is in force, not after it is healed. A pause stands for such a kind."""
    harmful = dict(KINDS) | {"pause": replace(KINDS["pause"], cost=Cost(may_end_node=True))}
    allowed: dict[str, dict[str, set[int]]] = {}
    for kinds in (KINDS, harmful):
        monkeypatch.setattr(registry, "KINDS", kinds)
        world, seen = World(), dict[str, set[int]]()

        def note(event: FaultEvent, world: World = world, seen: dict[str, set[int]] = seen) -> None:
            seen[event.stage] = {node for node, owners in world.allowed.items() if "pause" in owners}

        run(world, plan(PAUSE), log=note)
        allowed["harmful" if kinds is harmful else "harmless"] = seen
    nobody: set[int] = set()
    assert set(allowed["harmless"]) == {"injected", "effect", "healed", "recovered"}
    assert all(nodes == nobody for nodes in allowed["harmless"].values())
    assert allowed["harmful"] == {"injected": {3}, "effect": {3}, "healed": set(), "recovered": set()}
