"""Steps that wait for events and moments, and steps that are repeated: on time, on a virtual clock."""

import json
from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from itertools import pairwise
from threading import Event
from typing import Any

import pytest
from fakes.world.fault_world import Aside, Inline, Slow, World, WorldView

from compose.errors import ViewError
from compose.kafka.coordinators import TRANSACTION_LOG
from compose.protocols import PartitionState
from faults.clock import ns
from faults.plan.blocks import READY_S
from faults.plan.parse import parse_steps
from faults.schedule import step_runner
from faults.schedule.record import FaultRecord
from faults.schedule.scheduler import run_schedule
from faults.targets.target import TopicPartition

CUT = {"name": "cut", "at": "5s", "do": "partition", "edges": "followers -> leader", "for": "3s"}
KILL = {"name": "kill", "at": "5s", "do": "kill", "target": "node 2", "for": "3s"}
PAUSE = {"name": "pause", "do": "pause", "target": "node 3", "for": "3s"}


def run(
    world: World,
    *words: dict[str, Any],
    view: WorldView | None = None,
    last_ack_ns: Callable[[TopicPartition | None], int] = lambda _: -1,
    last_fencing_ns: Callable[[], int] = lambda: -1,
    slowly: bool = False,
    threads: Executor | None = None,
) -> tuple[FaultRecord, ...]:
    """Run a plan on the world's clock; `slowly`: each reading takes 0.3 s."""
    return run_schedule(
        parse_steps(words),
        world,
        view or WorldView(world),
        world.clock,
        stop=Event(),
        on_event=lambda _: None,
        last_ack_ns=last_ack_ns,
        last_fencing_ns=last_fencing_ns,
        threads=threads or (Slow(world.clock) if slowly else Inline()),
    )


def reason(record: FaultRecord) -> str:
    """Why a step was not injected."""
    return str(json.loads(record.evidence)["reason"])


def test_a_broker_is_fenced() -> None:
    """The step is injected when the killed broker is given up."""
    kill, pause = run(World(), KILL, PAUSE | {"when": "broker 2 fenced"})
    assert kill.begin_ns <= pause.inject_ns <= kill.begin_ns + ns(0.5)


def test_a_broker_is_unfenced() -> None:
    """Not before it was fenced, and is back: it boots for three seconds."""
    kill, pause = run(World(), KILL, PAUSE | {"when": "broker 2 unfenced"})
    assert kill.heal_ns + ns(2.9) <= pause.inject_ns <= kill.heal_ns + ns(3.5)


def test_a_broker_that_was_never_fenced_is_not_unfenced() -> None:
    """The record says what was read last."""
    _, pause = run(World(), KILL, PAUSE | {"when": "broker 3 unfenced", "within": "4s"})
    assert reason(pause) == (
        "not injected: broker 3 unfenced did not come within 4 s; the last state was broker 3: not fenced"
    )


def test_no_broker_answers() -> None:
    """Then nobody is known to be fenced."""
    world = World()
    view = WorldView(world)
    view.fenced = lambda: (_ for _ in ()).throw(ViewError("no broker answers"))  # type: ignore[method-assign]
    _, pause = run(world, KILL, PAUSE | {"when": "broker 2 fenced", "within": "4s"}, view=view)
    assert reason(pause).endswith("the last state was broker 2: nobody knows")


def test_the_controller_moves() -> None:
    """From the one that was active before the fault, though the next one is active when that is done."""
    world = World()
    world.clock.call_at(ns(5.01), lambda: setattr(world, "controller", 102))
    kill, pause = run(
        world,
        KILL | {"target": "active controller"},
        PAUSE | {"when": "controller.moved", "target": "active controller"},
    )
    assert (kill.nodes, pause.nodes) == ((101,), (102,))
    assert kill.inject_ns < pause.inject_ns < kill.inject_ns + ns(0.5)


class SlowToTell(World):
    """A world in which it takes 2.5 s to read from the controllers' disks which one is active."""

    def active_controller(self) -> int | None:
        self.clock.advance(ns(2.5))
        return super().active_controller()


@pytest.mark.parametrize("made", [SlowToTell, World], ids=["read late", "read in time"])
@pytest.mark.parametrize("since", ["kill.begin", "kill.end"])
def test_a_controller_where_there_was_none_has_moved(made: type[World], since: str) -> None:
    """None is active when the event begins to count, or what was known then is too old to count, and none is
    active at the first reading; then another one is."""
    world = made()
    world.clock.call_at(ns(5.01), lambda: setattr(world, "controller", None))
    world.clock.call_at(ns(9.5), lambda: setattr(world, "controller", 102))
    _, pause = run(
        world,
        KILL | {"target": "node 101"},
        PAUSE | {"when": "controller.moved", "since": since, "within": "20s"},
        threads=Aside(world.clock),
    )
    assert ns(9.5) <= pause.planned_begin_ns <= ns(15)


def test_nobody_can_say_who_is_the_controller() -> None:
    """That is no move; and one that is there again has not moved."""
    world = World()
    world.clock.call_at(ns(5.5), lambda: setattr(world, "controller", None))
    world.clock.call_at(ns(7), lambda: setattr(world, "controller", 101))
    _, pause = run(world, KILL, PAUSE | {"when": "controller.moved", "within": "6s"})
    assert reason(pause).endswith("the last state was active controller 101")


def test_a_coordinator_moves() -> None:
    """From the one of before the kill, though the next one coordinates the group when the kill is done."""
    kill, pause = run(World(), KILL | {"target": "leader"}, PAUSE | {"when": "coordinator(g).moved"})
    assert kill.inject_ns < pause.inject_ns < kill.inject_ns + ns(0.5)


def test_no_broker_knows_a_coordinator() -> None:
    """While none is known, none has moved; one that is known at last is no other."""
    world = World()
    view = WorldView(world)
    view.coordinator = lambda _: 3 if world.clock.now_ns() > ns(7) else None  # type: ignore[method-assign]
    _, pause = run(world, KILL, PAUSE | {"when": "coordinator(g).moved", "within": "4s"}, view=view)
    assert reason(pause).endswith("the last state was coordinator of g: 3")


@dataclass
class ViewWithTransactions(WorldView):
    """A view of a cluster whose transaction log is led by whoever leads orders-0."""

    def describe(self, *topics: str) -> tuple[PartitionState, ...]:
        (orders,) = super().describe("orders")
        log = tuple(replace(orders, topic=TRANSACTION_LOG, partition=number) for number in range(4))
        return super().describe(*topics) + (log if TRANSACTION_LOG in topics else ())


def test_a_transaction_coordinator_is_killed_and_moves() -> None:
    """From the one of before the kill, as it is read from the transaction log."""
    world = World()
    kill, pause = run(
        world,
        KILL | {"target": "transaction coordinator(payments-1)"},
        PAUSE | {"when": "transaction coordinator(payments-1).moved"},
        view=ViewWithTransactions(world),
    )
    assert kill.nodes == (1,)
    assert kill.inject_ns < pause.inject_ns < kill.inject_ns + ns(0.5)


def test_there_is_no_transaction_log() -> None:
    """Then nobody coordinates, and nobody moves."""
    kill, pause = run(
        World(),
        KILL | {"target": "transaction coordinator(payments-1)"},
        PAUSE | {"when": "transaction coordinator(payments-1).moved", "since": "start", "within": "4s"},
    )
    assert "__transaction_state: no broker knows it" in reason(kill)
    assert reason(pause).endswith("the last state was None")


def test_a_producer_is_fenced() -> None:
    """One that was fenced before does not count."""
    world = World()
    _, pause = run(
        world,
        CUT,
        PAUSE | {"when": "producer fenced", "since": "cut.begin"},
        last_fencing_ns=lambda: ns(7) if world.clock.now_ns() >= ns(7) else ns(4),
    )
    assert ns(7) <= pause.inject_ns <= ns(7.5)


@dataclass
class ViewWithElr(WorldView):
    """A view of a cluster on which who has left the ISR is an eligible leader for as long."""

    def describe(self, *topics: str) -> tuple[PartitionState, ...]:
        return tuple(
            replace(state, elr=tuple(sorted(set(state.replicas) - set(state.isr))))
            for state in super().describe(*topics)
        )


def test_an_eligible_leader() -> None:
    """The step waits until the followers have left the ISR, 3 s after they were cut off."""
    world = World()
    cut, pause = run(
        world,
        CUT | {"for": "6s"},
        PAUSE | {"when": "elr.size >= 2", "target": "leader"},
        view=ViewWithElr(world),
    )
    assert cut.inject_ns + ns(3) <= pause.inject_ns <= cut.inject_ns + ns(3.5)


@dataclass
class Acks:
    """A load that gets an acknowledgement each 10 ms, but none between two times."""

    world: World
    none_from_ns: int
    none_until_ns: int

    def last_ack_ns(self, of: TopicPartition | None) -> int:
        assert of is None
        now_ns = self.world.clock.now_ns()
        return self.none_from_ns if self.none_from_ns <= now_ns < self.none_until_ns else now_ns - ns(0.01)


def test_the_first_ack_after_a_moment() -> None:
    """An older one does not count, however late it is read."""
    world = World()
    acks = Acks(world, none_from_ns=ns(4.9), none_until_ns=ns(7))
    _, pause = run(world, CUT, PAUSE | {"when": "first ack after cut.begin"}, last_ack_ns=acks.last_ack_ns)
    assert ns(7) <= pause.inject_ns <= ns(7.5)


def test_an_ack_comes_at_once_where_there_is_one() -> None:
    """The step follows the moment as soon as it is ready."""
    world = World()
    acks = Acks(world, none_from_ns=0, none_until_ns=0)
    cut, pause = run(world, CUT, PAUSE | {"when": "first ack after cut.end"}, last_ack_ns=acks.last_ack_ns)
    assert cut.heal_ns <= pause.inject_ns <= cut.heal_ns + ns(0.5)


def test_no_ack_comes_without_a_load() -> None:
    """The record says so."""
    _, pause = run(World(), CUT, PAUSE | {"when": "first ack after cut.begin", "within": "4s"})
    assert reason(pause) == (
        "not injected: first ack did not come within 4 s; "
        "the last state was the last acknowledgement at -1 ns"
    )


def test_an_event_counts_from_a_moment_on() -> None:
    """The change of leader that the kill brings about is over when it is healed: the next one counts."""
    world = World()
    world.clock.call_at(ns(20), lambda: world.kill(2))
    world.clock.call_at(ns(22), lambda: world.start(2))
    kill, _, pause = run(
        world,
        KILL | {"target": "leader"},
        PAUSE | {"name": "other", "at": "9s", "target": "node 101"},
        PAUSE | {"when": "leader.moved", "since": "kill.end", "within": "30s"},
    )
    assert kill.nodes == (1,)
    assert ns(20) <= pause.inject_ns <= ns(20.5)


def test_an_event_counts_from_the_begin_of_an_earlier_step() -> None:
    """What the step itself brings about counts, though others begin in between."""
    kill, other, pause = run(
        World(),
        KILL | {"target": "leader"},
        PAUSE | {"name": "other", "after": "kill.begin + 1s", "target": "node 101"},
        PAUSE | {"when": "leader.moved", "since": "kill.begin"},
    )
    assert kill.inject_ns < pause.inject_ns < kill.inject_ns + ns(0.6)
    assert other.inject_ns > pause.inject_ns


def test_what_the_healing_brings_about_counts_from_the_end() -> None:
    """The leader moves while the node is being started, before the step is healed."""
    world = World()
    world.clock.call_at(ns(8.07), lambda: setattr(world, "leader", 3))
    kill, pause = run(
        world, KILL, PAUSE | {"when": "leader.moved", "since": "kill.end", "target": "node 101"}
    )
    assert kill.end_ns < ns(8.07) < kill.heal_ns
    assert kill.heal_ns <= pause.inject_ns <= kill.heal_ns + ns(0.5)


def test_a_step_waits_for_its_event_from_the_recovery_of_another() -> None:
    """And no longer than `within` after it."""
    kill, pause = run(
        World(), KILL, PAUSE | {"when": "leader.moved", "since": "kill.recovered", "within": "3s"}
    )
    assert reason(pause).startswith("not injected: leader.moved did not come within 3 s;")
    assert json.loads(kill.evidence)["recovery"]


@pytest.mark.parametrize(("which", "follows"), [("all", "kill"), ("any", "cut")])
def test_the_last_and_the_first_of_several_moments(which: str, follows: str) -> None:
    """The cut is healed at 8 s, the kill at 12 s."""
    cut, kill, pause = run(
        World(), CUT, KILL | {"for": "7s"}, PAUSE | {"after": f"{which}(cut.end, kill.end) + 1500ms"}
    )
    healed = {"cut": cut.heal_ns, "kill": kill.heal_ns}
    assert healed["cut"] + ns(3) < healed["kill"]
    assert healed[follows] + ns(1.5) <= pause.inject_ns <= healed[follows] + ns(1.7)
    assert pause.inject_ns == pause.planned_begin_ns


def test_moments_of_which_one_never_comes() -> None:
    """The last of them never comes then; the first does."""
    never = PAUSE | {"name": "never", "at": "1s", "target": "active controller"}
    _, _, last, first = run(
        World(controller=None),
        never,
        CUT,
        PAUSE | {"name": "last", "after": "all(never.end, cut.end)"},
        PAUSE | {"name": "first", "after": "any(never.end, cut.end) + 2s"},
    )
    assert reason(last).startswith("not injected: never: active controller: no node holds this role now")
    assert first.proven


def test_repetitions_are_on_time() -> None:
    """Each reading takes 0.3 s; every one of thirty is injected at its instant, within 0.1 s."""
    repeat = {"every": "12s", "jitter": "1s", "times": 30}
    records = run(World(), PAUSE | {"at": "5s", "repeat": repeat}, slowly=True)
    assert [record.name for record in records] == [f"pause#{number}" for number in range(1, 31)]
    assert max(record.inject_ns - record.planned_begin_ns for record in records) <= ns(0.1)
    assert all(record.proven and record.recovered for record in records)
    assert [record for record in records if "postponed" in json.loads(record.evidence)] == []


def test_repetitions_wait_for_the_one_before() -> None:
    """A node that boots for 20 s is not killed again before it is back, and the record says why."""
    repeat = {"every": "10s", "times": 3}
    records = run(World(boot_ns=ns(20)), KILL | {"repeat": repeat})
    for before, now in pairwise(records):
        assert 0 < before.recovered_ns < now.inject_ns
        assert json.loads(now.evidence)["postponed"]["for"] == before.name
    assert max(record.inject_ns - record.planned_begin_ns for record in records) <= ns(0.1)


def test_repetitions_that_may_overlap() -> None:
    """They begin when they are planned, whatever became of the ones before."""
    cut = {"do": "partition", "edges": "2 -> 1", "for": "8s", "at": "5s"}
    records = run(World(), cut | {"repeat": {"every": "5s", "times": 3, "overlap": "allow"}})
    assert [record.inject_ns for record in records] == [ns(5), ns(10), ns(15)]
    assert records[1].inject_ns < records[0].heal_ns


def test_a_sequence_is_on_time() -> None:
    """Each broker is stopped once the one before has recovered, and 1.2 s later, when all is ready for it.

    A step side by side with the sequence does not wait. Each reading takes 0.3 s.
    """
    stops = [{"name": f"stop-{node}", "do": "stop", "target": node, "for": "1s"} for node in (1, 2, 3)]
    roll = {"name": "roll", "sequence": stops}
    both = {"at": "5s", "parallel": [roll, PAUSE | {"target": "node 101"}]}
    last = PAUSE | {"name": "last", "after": "roll.recovered + 2s"}
    *stopped, paused, ended = records = run(World(), both, last, slowly=True)
    assert stopped[0].planned_begin_ns == paused.planned_begin_ns == ns(5)
    for before, now in pairwise(stopped):
        assert ns(READY_S) <= now.planned_begin_ns - before.recovered_ns <= ns(READY_S + 0.4)
    assert ns(2) <= ended.planned_begin_ns - stopped[-1].recovered_ns <= ns(2.4)
    assert max(record.inject_ns - record.planned_begin_ns for record in records) <= ns(0.1)
    assert ns(READY_S) == step_runner.AHEAD_NS
