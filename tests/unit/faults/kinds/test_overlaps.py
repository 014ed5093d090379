"""Two faults on one node: what one takes from the other is known, and each is proven by its own doing."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from fakes.world.fault_steps import run, shown
from fakes.world.fault_world import ORDERS, Inline, World, WorldView

from compose.errors import ComposeError, DiskError
from faults.clock import ns
from faults.kinds.fault.base import Fault, Injection
from faults.kinds.fault.evidence import CounterSample
from faults.kinds.fault.node_holds import Holds
from faults.kinds.registry import kind_of
from faults.plan.parse import parse_steps
from faults.schedule.event_loop import EventLoop
from faults.schedule.record import FaultRecord
from faults.tasks import Task

KILL = {"name": "kill", "do": "kill", "target": "node 1", "for": "1s"}
PAUSE = {"name": "pause", "do": "pause", "target": "node 1", "for": "15s"}
STALL = {"name": "stall", "do": "disk-stall", "target": "node 1", "for": "15s"}
FULL = {"name": "full", "do": "disk-full", "target": "node 1", "for": "3s"}
SECOND_FULL = FULL | {"log_dir": "2"}
CPU = {"name": "cpu", "do": "cpu-limit", "target": "node 1", "cpus": "0.1", "for": "3s"}
MEMORY = {"name": "memory", "do": "memory-limit", "target": "node 1", "memory": "600MiB", "for": "3s"}
CLOCK = {"name": "clock", "do": "clock-skew", "target": "node 1", "offset": "+1h", "for": "3s"}
PULSES = {"do": "pulses", "target": "node 1", "on": "200ms", "off": "200ms", "for": "5s"}
STUTTER = PULSES | {"do": "disk-stutter"}
DIRECTORY = {"do": "log-dir-failure", "target": "node 1", "log_dir": "2", "for": "5s"}


def named(value: Any) -> str | None:
    """Words by the kind of their fault."""
    return str(value["do"]) if isinstance(value, dict) else None


def made(world: World, holds: Holds, **words: str) -> Fault:
    """A fault on node 1 that is prepared; `name` is its owner."""
    (step,) = parse_steps([{"at": "0s", **words}])
    nothing = CounterSample(at_ns=0)
    injection = Injection(
        step=step,
        cluster=world,
        view=WorldView(world),
        clock=world.clock,
        holds=holds,
        nodes=(1,),
        edges=(),
        before=nothing,
        now=nothing,
        isr={},
    )
    fault = kind_of(step).make(injection)
    fault.prepare()
    return fault


def done(world: World, task: Task[None]) -> ComposeError | None:
    """Carry it out; what it raises of the cluster."""
    raised: list[ComposeError] = []

    def caught() -> Task[None]:
        try:
            yield from task
        except ComposeError as error:
            raised.append(error)

    EventLoop(world.clock, Inline()).run_alone(caught())
    return raised[0] if raised else None


def cut_short(record: FaultRecord) -> Any:
    return json.loads(record.evidence).get("cut_short")


@pytest.mark.parametrize(
    "words", [STALL, STUTTER, PAUSE, PULSES, FULL, SECOND_FULL, CPU, MEMORY, CLOCK, DIRECTORY], ids=named
)
def test_a_node_that_ends_after_the_preparation_is_not_hit(words: dict[str, str]) -> None:
    """Nothing is done to it, so that nothing waits for it when another fault has it started again."""
    world = World(log_dir_count=2 if "log_dir" in words else 1)
    fault = made(world, Holds(), **words)
    world.kill(1, owner="another")
    calls = list(world.calls)
    error = done(world, fault.inject())
    assert error is not None
    assert "node 1 is exited, ended by another" in str(error)
    assert world.calls == calls
    assert not world.frozen


@pytest.mark.parametrize("words", [FULL, SECOND_FULL, DIRECTORY], ids=named)
def test_a_disk_that_is_frozen_after_the_preparation_is_left_alone(words: dict[str, str]) -> None:
    """What is written to it, or removed from it, waits for the thaw; so does everybody who asks for it."""
    world = World(log_dir_count=2 if "log_dir" in words else 1)
    fault = made(world, Holds(), **words)
    world.freeze(1)
    calls = list(world.calls)
    assert "a disk of node 1 is frozen" in str(done(world, fault.inject()))
    assert world.calls == calls


@pytest.mark.parametrize(
    ("words", "is_set"),
    [
        (CPU, lambda world: world.cpu_limits.get(1) == 0.1),
        (MEMORY, lambda world: world.memory_limits.get(1) == 600 << 20),
        (CLOCK, lambda world: world.clocks[1] == 3_600_000),
        (FULL, lambda world: world.room[1] == 0),
        (SECOND_FULL, lambda world: world.other_rooms[1, 2] == 0),
    ],
    ids=named,
)
def test_of_two_faults_that_set_one_thing_the_quicker_has_it(
    words: dict[str, str], is_set: Callable[[World], bool]
) -> None:
    """The other one is not injected, and its healing leaves the thing as the first one has set it."""
    world, holds = World(log_dir_count=2 if "log_dir" in words else 1, halts=False), Holds()
    first, other = (made(world, holds, **words | {"name": name}) for name in ("first", "other"))
    assert done(world, first.inject()) is None
    assert "first has changed it, and is not healed" in str(done(world, other.inject()))
    assert done(world, other.heal()) is None
    assert is_set(world)
    assert done(world, first.heal()) is None
    assert not is_set(world)


@pytest.mark.parametrize(
    ("words", "ended_by"),
    [
        *((PAUSE, kind) for kind in ("kill", "power-loss", "disk-wipe")),
        *((STALL, kind) for kind in ("kill", "power-loss", "disk-wipe", "stop")),
    ],
    ids=named,
)
def test_a_hold_that_another_fault_ends_is_recorded_with_it(words: dict[str, str], ended_by: str) -> None:
    """Two seconds of fifteen: the node is never held again, though the fault is healed at its time only."""
    other = {"name": "other", "at": "7s", "do": ended_by, "target": "node 1", "for": "1s"}
    held, _ = run(World(), words, other)
    assert held.proven
    (lost,) = cut_short(held)
    assert (lost["node"], lost["by"]) == (1, "other")
    assert 1.9 <= lost["after_s"] <= 2.5


def test_a_hold_that_lasts_to_its_end_is_not_cut_short() -> None:
    """Nor is one whose node ends when it is healed, or that lasts behind another one."""
    pause, other, kill = run(
        World(),
        PAUSE | {"for": "4s"},
        PAUSE | {"name": "other", "at": "5s", "for": "6s"},
        KILL | {"at": "20s"},
    )
    assert [cut_short(each) for each in (pause, other, kill)] == [None, None, None]


@pytest.mark.parametrize("words", [PULSES, STUTTER], ids=named)
def test_pulses_that_another_fault_interrupts_are_recorded_with_it(words: dict[str, str]) -> None:
    """Also if it ends the node between two of them."""
    for at in ("7s", "7.1s", "7.2s", "7.3s"):
        train, _ = run(World(), words | {"name": "train"}, KILL | {"at": at})
        ((lost),) = cut_short(train)
        assert (lost["node"], lost["by"]) == (1, "kill"), at


def test_what_is_freed_is_thawed_first() -> None:
    """A file is not removed from a frozen disk: the call waits in the kernel, and others behind it."""
    world = World(log_dir_count=2)
    full, stall = run(world, SECOND_FULL | {"for": "4s"}, STALL | {"at": "7s", "for": "40s"})
    (freed,) = (number for number, call in enumerate(world.calls) if call.startswith("free_up 1"))
    assert "thaw 1" in world.calls[world.calls.index("freeze 1") : freed]
    assert (full.recovered, stall.recovered) == (True, True), (full.evidence, stall.evidence)
    assert [lost["by"] for lost in cut_short(stall)] == ["full"]


def test_one_disk_that_is_not_freed_does_not_keep_another_node_down() -> None:
    class Stubborn(World):
        def free_up(self, node: int, *, log_dir: int = 1) -> None:
            if node == 1:
                raise DiskError("node 1: nothing can be removed")
            super().free_up(node, log_dir=log_dir)

    world = Stubborn()
    (full,) = run(world, FULL | {"target": "1+2"})
    assert not full.recovered
    assert "start 2" in world.calls
    assert "start 1" not in world.calls
    assert world.states[2].status == "running"


def test_one_disk_that_cannot_be_read_does_not_keep_other_nodes_down() -> None:
    """After a power cut of all; their edges are opened too."""

    class Unreadable(World):
        def log_sizes(self, node: int, *, log_dir: int | None = None) -> Any:
            self._check(node)
            return super().log_sizes(node, log_dir=log_dir)

        def log_bytes(self, node: int, *, log_dir: int | None = None) -> int:
            self._check(node)
            return super().log_bytes(node, log_dir=log_dir)

        def _check(self, node: int) -> None:
            if node == 2 and self.clock.now_ns() > ns(7.4):
                raise DiskError("node 2: no disk")

    world = Unreadable()
    (cut,) = run(world, {"name": "cut", "do": "power-loss", "target": "brokers", "for": "3s"})
    assert not cut.recovered
    assert [node for node in (1, 2, 3) if f"start {node}" in world.calls] == [1, 3]
    assert not [edge for edge in world.mesh.edges if world.mesh.is_cut(edge) and edge.target != 2]


def test_one_node_that_is_not_restarted_does_not_keep_others_from_it() -> None:
    """Each of two nodes has a log directory that is offline until it is restarted."""

    class Stubborn(World):
        def log_sizes(self, node: int, *, log_dir: int | None = None) -> Any:
            if node == 1 and self.states[1].status == "exited":
                raise DiskError("node 1: no disk")
            return super().log_sizes(node, log_dir=log_dir)

    world = Stubborn(log_dir_count=2)
    (failed,) = run(world, DIRECTORY | {"name": "failed", "target": "1+2"})
    assert not failed.recovered
    assert "start 2" in world.calls
    assert not world.offline[2]


def test_what_was_in_sync_while_replicas_were_moved_need_not_come_back() -> None:
    """A fault within a move recovers when those are in sync that are still replicas."""
    world = World()
    world.admin.replicas[ORDERS] = (1, 2)
    move = {"name": "move", "do": "reassign", "topic": "orders", "to": "2+3", "for": "6s"}
    move_record, kill = run(world, move, KILL | {"at": "8s", "target": "node 3", "for": "2s"})
    assert (kill.proven, kill.recovered) == (True, True), shown(kill, "recovery")
    assert move_record.recovered
