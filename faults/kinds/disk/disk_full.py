"""Disk full: all space of the node's file system is taken, so that whatever needs a new block fails (ENOSPC).

A broker takes the log directory offline that it cannot append to, and halts when it was the last one; so does
a controller that cannot append to the metadata log. It starts again when there is room.
Effect: no room is left, and the process has halted by itself.
Recovery: the node answers; the ISR is what it was.

A node halts at its first append that needs a new block, so that the fault is proven only under load.
"""

from dataclasses import dataclass, field
from functools import partial
from typing import ClassVar

from compose.errors import ComposeError
from faults.clock import ns
from faults.errors import NoTarget
from faults.kinds.base import Injection, alive, try_all
from faults.kinds.evidence import Evidence, NotYet, Proven, by_name
from faults.kinds.kind import Cost, FaultKind, Takes
from faults.kinds.outage import bring_back_ended, close_edges, exit_codes, note_end
from faults.kinds.recovery import answering
from faults.kinds.step import TargetStep
from faults.tasks import Task, as_job, in_background, sleep_until

AGAIN_NS = ns(0.25)

HALTING_NS = ns(0.5)
"""An append that failed just before there was room again may still halt the node: it takes milliseconds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DiskFullStep(TargetStep):
    """Fill the disks of nodes."""

    kind: ClassVar[str] = "disk-full"


@dataclass(slots=True)
class DiskFull:
    """Leaves the injection's nodes no room, and sees when they halt."""

    injection: Injection[DiskFullStep]
    _nodes: tuple[int, ...] = ()
    _halted: set[int] = field(default_factory=set)
    _is_over: bool = False

    def prepare(self) -> None:
        """Only a running node writes, and only one whose disk is not frozen fails at once."""
        self._nodes = alive(self.injection, what="fill")
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
        bring_back_ended(self.injection, sorted(self._halted))

    def recovery(self) -> Evidence:
        """Are all back?"""
        return answering(self.injection, self._nodes)


DISK_FULL = FaultKind(
    step=DiskFullStep,
    make=DiskFull,
    takes=Takes(inject_s=2.0, heal_s=3.0),
    shortest_hold_s=2.0,
    cost=Cost(may_end_node=True),
    does="all space of the node's file system is taken: what needs a new block fails with ENOSPC",
    effect="no room is left, and the process has halted by itself, as Kafka does without a log directory",
    healing="the space is given back; what has halted is started",
    recovery="the node answers",
)
