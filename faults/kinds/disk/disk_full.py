"""Disk full: all space of the node's file system is taken, so that whatever needs a new block fails (ENOSPC).

A broker takes the log directory offline that it cannot append to, and halts when it was the last one, or had
the metadata log; so does a controller that cannot append to the metadata log. It starts again when there is
room.
Effect: no room is left, and the process has halted by itself.
Recovery: the node answers; the ISR is what it was.

A node halts at its first append that needs a new block, so that the fault is proven only under load.

Of a broker with several log directories one is full: the first, unless another is named. Without another one
the broker goes on, and effect and recovery are those of offline.py; the healing is a restart, once there is
room. A broker that halts then has failed: that end is not planned.
"""

from dataclasses import dataclass, field
from functools import partial
from typing import ClassVar

from compose.errors import ComposeError
from faults.clock import ns
from faults.errors import NoTarget
from faults.kinds.base import Fault, Injection, all_alive, try_all
from faults.kinds.disk.log_dir import METADATA, LogDirStep
from faults.kinds.disk.offline import OfflineDirectory
from faults.kinds.evidence import Evidence, NotYet, Proven, by_name
from faults.kinds.kind import Cost, FaultKind, Takes
from faults.kinds.outage import bring_back, close_edges, exit_codes, note_end
from faults.kinds.recovery import answering
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
    _is_over: bool = False

    def prepare(self) -> None:
        """Only a running node writes, and only one whose disk is not frozen fails at once."""
        self._nodes = all_alive(self.injection, what="fill")
        for node in self._nodes:
            if self.injection.cluster.is_frozen(node):
                raise NoTarget(f"nothing to fill: the disk of node {node} is frozen")

    @as_job
    def inject(self) -> None:
        """Take all space."""
        for node in self._nodes:
            with self.injection.holds.changing((node,)):
                self.injection.cluster.fill_up(node)

    def go_on(self) -> Task[None]:
        """Note when a node halts: the contract has to know of each end, and when it was."""
        while not self._is_over:
            yield from in_background(self._try_to_note)
            yield from sleep_until(self.injection.clock.now_ns() + AGAIN_NS)

    def _try_to_note(self) -> None:
        try:
            self._note_ends()
        except ComposeError:
            return  # the next time, or the healing, tells

    def _note_ends(self) -> None:
        """What another fault has ended is not ours."""
        injection = self.injection
        for node in self._nodes:
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
        """Give the space back, and start what has halted."""
        clock, cluster = self.injection.clock, self.injection.cluster
        self._is_over = True
        try_all(partial(cluster.free_up, node) for node in self._nodes)
        clock.sleep_until(clock.now_ns() + HALTING_NS)
        self._note_ends()
        bring_back(self.injection, sorted(self._halted))

    def recovery(self) -> Evidence:
        """Are all back?"""
        return answering(self.injection, self._nodes)


@dataclass(slots=True)
class DirectoryFull:
    """Leaves no room in a log directory that the injection's nodes can do without."""

    injection: Injection[DiskFullStep]
    _directory: OfflineDirectory[DiskFullStep] = field(init=False)

    def __post_init__(self) -> None:
        """Which directory."""
        self._directory = OfflineDirectory(self.injection, self.injection.step.number)

    def prepare(self) -> None:
        """As of the only one."""
        self._directory.prepare("fill")
        for node in self._directory.nodes:
            if self.injection.cluster.is_frozen(node):
                raise NoTarget(f"nothing to fill: a disk of node {node} is frozen")

    @as_job
    def inject(self) -> None:
        """Take all space."""
        for node in self._directory.nodes:
            with self.injection.holds.changing((node,)):
                self._directory.hit.add(node)
                self.injection.cluster.fill_up(node, log_dir=self.injection.step.number)

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
        """Give the space back, then restart."""
        yield from in_background(self._free_up)
        yield from self._directory.restart()

    def _free_up(self) -> None:
        cluster, number = self.injection.cluster, self.injection.step.number
        try_all(partial(cluster.free_up, node, log_dir=number) for node in sorted(self._directory.hit))

    def recovery(self) -> Evidence:
        """Are the directories back, and all in sync?"""
        return self._directory.recovery()


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
    "new block fails with ENOSPC",
    effect="no room is left, and the process has halted by itself, as Kafka does without a log directory; "
    "without another `log_dir` than 1 it goes on, and the effect is that of `log-dir-failure`",
    healing="the space is given back; what has halted is started, and what went on is restarted",
    recovery="the node answers, and reports the directory as online",
)
