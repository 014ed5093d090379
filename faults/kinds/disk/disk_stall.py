"""Disk stall: the node's file system is frozen, so every write blocks, without an error, until it is thawed.

Effect: the file system reports that it is frozen, and the node's log, which grew before, stands still.
Recovery: the log grows, the node answers; the ISR is what it was.
"""

from dataclasses import dataclass, field
from functools import partial
from typing import ClassVar

from faults.errors import NoTarget
from faults.kinds.base import Injection, alive, try_all
from faults.kinds.evidence import Evidence, NotYet, Proven, Stillness, by_name, moved, seconds
from faults.kinds.kind import FaultKind, Takes, one_node
from faults.kinds.recovery import growing
from faults.kinds.step import TargetStep
from faults.tasks import as_job


@dataclass(frozen=True, slots=True, kw_only=True)
class DiskStallStep(TargetStep):
    """Stall the disks of nodes."""

    kind: ClassVar[str] = "disk-stall"


@dataclass(slots=True)
class DiskStall:
    """Holds the file systems of the injection's nodes frozen."""

    injection: Injection[DiskStallStep]
    _nodes: tuple[int, ...] = ()
    _still: Stillness[int] = field(default_factory=Stillness)
    _at_heal: dict[int, int] = field(default_factory=dict)

    def prepare(self) -> None:
        """Only a running node writes, and only one whose disk is not frozen already."""
        self._nodes = alive(self.injection, what="stall")
        for node in self._nodes:
            if self.injection.cluster.is_frozen(node):
                raise NoTarget(f"nothing to stall: the disk of node {node} is frozen already")

    @as_job
    def inject(self) -> None:
        """Freeze."""
        holds = self.injection.holds
        for node in self._nodes:
            with holds.changing((node,)):
                holds.take("frozen", node, self.injection.owner)
                self.injection.cluster.freeze(node)

    def effect(self) -> Evidence:
        """Is it frozen, and does the log stand still that grew before?"""
        injection = self.injection
        frozen = {node: injection.cluster.is_frozen(node) for node in self._nodes}
        if not all(frozen.values()):
            return NotYet(instead=f"frozen: {by_name(frozen)}")
        grown = moved(injection.before.log_bytes, injection.now.log_bytes)
        if any(node not in grown for node in self._nodes):
            return NotYet(instead=f"the log did not grow before the stall either: {by_name(grown)}")
        logs = self._logs()
        self._still.add(injection.clock.now_ns(), logs)
        if not self._still.proven:
            return NotYet(instead=f"log bytes {by_name(self._still.values)} not still for long enough")
        values = {
            "frozen": list(self._nodes),
            "log_bytes_grown_before": by_name({node: grown[node] for node in self._nodes}),
            "log_bytes_grown_before_over_s": seconds(injection.now.at_ns - injection.before.at_ns),
            "log_still_for_s": seconds(self._still.last_ns - self._still.since_ns),
        }
        return Proven(since_ns=self._still.since_ns, values=values)

    @as_job
    def heal(self) -> None:
        """Thaw, except those that another fault holds frozen."""
        try_all(partial(self._release, node) for node in self._nodes)
        self._at_heal = self._at_heal or self._logs()

    def _release(self, node: int) -> None:
        holds = self.injection.holds
        with holds.changing((node,)):
            if holds.release("frozen", node, self.injection.owner):
                self.injection.cluster.thaw(node)

    def recovery(self) -> Evidence:
        """Does the log grow, do all serve, and is the ISR what it was?"""
        return growing(self.injection, self._at_heal)

    def _logs(self) -> dict[int, int]:
        return {node: self.injection.cluster.log_bytes(node) for node in self._nodes}


DISK_STALL = FaultKind(
    step=DiskStallStep,
    make=DiskStall,
    takes=Takes(inject_s=3.0, heal_s=2.0),
    counter="logs",
    shortest_hold_s=1.5,
    storm=one_node(DiskStallStep, weight=2, brokers_only=True, needs_peers=True),
    does="the node's file system is frozen: every write blocks, without an error",
    effect="the superblock is frozen, and the log, which grew before, stands still for 0.75 s",
    healing="thaw",
    recovery="the log grows, the node answers",
)
