"""Disk full: all space of the node's file system is taken, so that whatever needs a new block fails (ENOSPC).

A broker takes the log directory offline that it cannot append to, and halts when it was the last one, or had
the metadata log; so does a controller that cannot append to the metadata log. It starts again when there is
room.
Effect: no room is left, and the process has halted by itself.
Recovery: the node answers; the ISR is what it was.

A node halts at its first append that needs a new block, so that the fault is proven only under load. What
becomes free while it runs on is taken too: Kafka removes segments, and the logs of topics that were deleted,
a minute or so later than it was told to, and could append for long in their place.

Of a broker with several log directories one is full: the first, unless another is named. Without another one
the broker goes on, and effect and recovery are those of offline.py; the healing is a restart, once there is
room. A broker that halts then has failed: that end is not planned.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from typing import ClassVar

from compose.errors import ComposeError
from faults.clock import ns
from faults.kinds.disk.log_dir import METADATA, LogDirStep, check_thawed, thawed_node
from faults.kinds.disk.offline import OfflineDirectory
from faults.kinds.fault.base import Fault, Injection, all_alive, check_free, claim, try_all, try_tasks
from faults.kinds.fault.evidence import Evidence, NotYet, Proven, by_name
from faults.kinds.fault.kind import Cost, FaultKind, Takes
from faults.kinds.shared.outage import bring_back, close_edges, exit_codes, note_end, thaw_first
from faults.kinds.shared.recovery import answering
from faults.tasks import Task, as_job, in_background, sleep_until

AGAIN_NS = ns(0.25)

HALTING_NS = ns(0.5)
"""An append that failed just before there was room again may still halt the node: it takes milliseconds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DiskFullStep(LogDirStep):
    """Fill the disks of nodes."""

    kind: ClassVar[str] = "disk-full"
    by_default: ClassVar[int | None] = METADATA

    @property
    def number(self) -> int:
        """The log directory that is full."""
        return self.log_dir or METADATA


@dataclass(slots=True)
class DiskFull:
    """Leaves the injection's nodes no room, and sees when they halt."""

    injection: Injection[DiskFullStep]
    _nodes: tuple[int, ...] = ()
    _halted: set[int] = field(default_factory=set)
    _freed: set[int] = field(default_factory=set)
    _is_over: bool = False

    def prepare(self) -> None:
        """Only a running node writes, and only one whose disk is not frozen fails at once."""
        self._nodes = all_alive(self.injection, what="fill")
        _check_free(self.injection, self._nodes)

    @as_job
    def inject(self) -> None:
        """Take all space."""
        for node in self._nodes:
            with _claimed_room(self.injection, node):
                self.injection.cluster.fill_up(node)

    def go_on(self) -> Task[None]:
        """Note when a node halts: the contract has to know of each end, and when it was. Leave what runs no
        room."""
        while not self._is_over:
            yield from in_background(self._try_to_note)
            yield from in_background(partial(_fill_again, self.injection, self._nodes))
            yield from sleep_until(self.injection.clock.now_ns() + AGAIN_NS)

    def _try_to_note(self) -> None:
        try:
            self._note_ends()
        except ComposeError:
            return  # the next time, or the healing, tells

    def _note_ends(self) -> None:
        try_all(partial(self._note_end, node) for node in self._nodes)

    def _note_end(self, node: int) -> None:
        """What another fault has ended is not ours."""
        injection = self.injection
        with injection.holds.changing((node,)):
            ended = injection.cluster.state(node).status == "exited" and node not in self._halted
            if ended and injection.cluster.ended_by(node) == injection.owner:
                self._halted.add(node)
                injection.outages.ending(node, unclean=True)
                note_end(injection, node)
                close_edges(injection, node)

    def effect(self) -> Evidence:
        """Is there no room, and have all halted?"""
        self._note_ends()
        room = {node: self.injection.cluster.room_bytes(node) for node in self._nodes}
        if any(room.values()):
            return NotYet(instead=f"bytes free: {by_name(room)}")
        if running := sorted(set(self._nodes) - self._halted):
            return NotYet(instead=f"no room is left, and these run on: {running}")
        codes = exit_codes(self.injection, self._nodes)
        values = {"bytes_free": by_name(room), "exit_codes": by_name(codes)}
        return Proven(since_ns=self.injection.clock.now_ns(), values=values)

    @as_job
    def heal(self) -> None:
        """Give the space back, and start what has halted, each once it has room."""
        self._is_over = True
        freeing = (partial(self._free_up, node) for node in self._nodes)
        try_all((*freeing, self._wait_for_halts, self._note_ends, self._bring_back))

    def _free_up(self, node: int) -> None:
        _free_up(self.injection, node)
        self._freed.add(node)

    def _wait_for_halts(self) -> None:
        clock = self.injection.clock
        clock.sleep_until(clock.now_ns() + HALTING_NS)

    def _bring_back(self) -> None:
        bring_back(self.injection, sorted(self._halted & self._freed))

    def recovery(self) -> Evidence:
        """Are all back?"""
        return answering(self.injection, self._nodes)


@dataclass(slots=True)
class DirectoryFull:
    """Leaves no room in a log directory that the injection's nodes can do without."""

    injection: Injection[DiskFullStep]
    _directory: OfflineDirectory[DiskFullStep] = field(init=False)
    _is_over: bool = False

    def __post_init__(self) -> None:
        """Which directory."""
        self._directory = OfflineDirectory(self.injection, self.injection.step.number)

    def prepare(self) -> None:
        """As of the only one."""
        self._directory.prepare("fill")
        _check_free(self.injection, self._directory.nodes)

    @as_job
    def inject(self) -> None:
        """Take all space."""
        for node in self._directory.nodes:
            with _claimed_room(self.injection, node):
                self._directory.hit.add(node)
                self.injection.cluster.fill_up(node, log_dir=self.injection.step.number)

    def go_on(self) -> Task[None]:
        """Leave it no room."""
        while not self._is_over:
            yield from in_background(partial(_fill_again, self.injection, self._directory.nodes))
            yield from sleep_until(self.injection.clock.now_ns() + AGAIN_NS)

    def effect(self) -> Evidence:
        """Is there no room, and does the broker go on without the directory?"""
        cluster, number = self.injection.cluster, self.injection.step.number
        room = {node: cluster.room_bytes(node, log_dir=number) for node in self._directory.nodes}
        if any(room.values()):
            return NotYet(instead=f"bytes free: {by_name(room)}")
        evidence = self._directory.effect()
        if isinstance(evidence, Proven):
            values = {"bytes_free": by_name(room), **evidence.values}
            return Proven(since_ns=evidence.since_ns, values=values)
        return evidence

    def heal(self) -> Task[None]:
        """Give each its space back, then restart it."""
        self._is_over = True
        yield from try_tasks(partial(self._restart, node) for node in sorted(self._directory.hit))

    def _restart(self, node: int) -> Task[None]:
        yield from in_background(partial(_free_up, self.injection, node))
        yield from self._directory.restart(node)

    def recovery(self) -> Evidence:
        """Are the directories back, and all in sync?"""
        return self._directory.recovery()


def _room_of(injection: Injection[DiskFullStep], node: int) -> str:
    return f"the room of log directory {injection.step.number} of node {node}"


def _check_free(injection: Injection[DiskFullStep], nodes: Iterable[int]) -> None:
    """NoTarget if another fault has a disk frozen, or full: healed first, it would give this one's back."""
    check_thawed(injection, nodes, what="fill")
    for node in nodes:
        check_free(injection, _room_of(injection, node))


@contextmanager
def _claimed_room(injection: Injection[DiskFullStep], node: int) -> Iterator[None]:
    with thawed_node(injection, node):
        claim(injection, _room_of(injection, node))
        yield


def _fill_again(injection: Injection[DiskFullStep], nodes: Iterable[int]) -> None:
    """Take what has become free since on those of the nodes that run. What cannot be had now may be the next
    time; the effect tells whether it was."""
    for node in nodes:
        with suppress(ComposeError), thawed_node(injection, node):
            _fill_room(injection, node)


def _fill_room(injection: Injection[DiskFullStep], node: int) -> None:
    """Nothing where this fault does not have the room: not filled, or given back by the healing."""
    number = injection.step.number
    has_claim = injection.holds.claimed_by(_room_of(injection, node)) == injection.owner
    if has_claim and injection.cluster.room_bytes(node, log_dir=number):
        injection.cluster.fill_up(node, log_dir=number)


def _free_up(injection: Injection[DiskFullStep], node: int) -> None:
    """Nothing where another fault has the room. What is removed from a frozen disk waits for its thaw, and
    with it everybody who asks for that disk."""
    room = _room_of(injection, node)
    with injection.holds.changing((node,)):
        if injection.holds.claimed_by(room) == injection.owner:
            thaw_first(injection, node)
            injection.cluster.free_up(node, log_dir=injection.step.number)
            injection.holds.give_up(room, injection.owner)


def _make(injection: Injection[DiskFullStep]) -> Fault:
    if injection.step.number == METADATA:
        return DiskFull(injection)
    return DirectoryFull(injection)


def _cost(step: DiskFullStep) -> Cost:
    """Whether the nodes can halt: they do without the only log directory, or that with the metadata log."""
    if step.number == METADATA:
        return Cost(may_end_node=True)
    return Cost(ends_process=True, unclean=True)


DISK_FULL = FaultKind(
    step=DiskFullStep,
    make=_make,
    takes=Takes(inject_s=2.0, heal_s=3.0),
    shortest_hold_s=2.0,
    cost=Cost(may_end_node=True),
    cost_of_step=_cost,
    does="all space of the node's file system, of `log_dir` 1 if there are several, is taken: what needs a "
    "new block fails with ENOSPC; what becomes free while the process goes on is taken too",
    effect="no room is left, and the process has halted by itself, as Kafka does without a log directory; "
    "without another `log_dir` than 1 it goes on, and the effect is that of `log-dir-failure`",
    healing="the space is given back; what has halted is started, and what went on is restarted",
    recovery="the node answers, and reports the directory as online",
)
