"""Disk stall: the node's file system is frozen, so every write blocks, without an error, until it is thawed.

Effect: the file system reports that it is frozen, and the node's log, which grew before, stands still.
Recovery: the log grows, the node answers; the ISR is what it was.

Of a broker with several log directories all are frozen, or the one that is named: then the log is what lies
there, and has to have grown since the fault was prepared.
"""

from dataclasses import dataclass, field
from functools import partial
from typing import ClassVar

from faults.kinds.disk.log_dir import LogDirStep, check_thawed, note_replicas
from faults.kinds.fault.base import Injection, all_alive, fit_node, try_all
from faults.kinds.fault.evidence import (
    CounterSample,
    Evidence,
    NotYet,
    Proven,
    Stillness,
    by_name,
    moved,
    seconds,
)
from faults.kinds.fault.kind import FaultKind, Takes, one_node
from faults.kinds.shared.recovery import growing
from faults.tasks import as_job


@dataclass(frozen=True, slots=True, kw_only=True)
class DiskStallStep(LogDirStep):
    """Stall the disks of nodes."""

    kind: ClassVar[str] = "disk-stall"


@dataclass(slots=True)
class DiskStall:
    """Holds the file systems of the injection's nodes frozen."""

    injection: Injection[DiskStallStep]
    _nodes: tuple[int, ...] = ()
    _still: Stillness[int] = field(default_factory=Stillness)
    _prepared: CounterSample | None = None
    _at_heal: dict[int, int] = field(default_factory=dict)

    def prepare(self) -> None:
        """Only a running node writes, and only one whose disk is not frozen already."""
        self._nodes = all_alive(self.injection, what="stall")
        check_thawed(self.injection, self._nodes, what="stall")
        note_replicas(self.injection, self._nodes, self.injection.step.log_dir)
        if self.injection.step.log_dir is not None:
            self._prepared = self._sample()

    @as_job
    def inject(self) -> None:
        """Freeze."""
        holds = self.injection.holds
        for node in self._nodes:
            with fit_node(self.injection, node):
                holds.take("frozen", node, self.injection.owner)
                self.injection.cluster.freeze(node, log_dir=self.injection.step.log_dir)

    def effect(self) -> Evidence:
        """Is it frozen, and does the log stand still that grew before?"""
        injection = self.injection
        frozen = {node: injection.cluster.is_frozen(node) for node in self._nodes}
        if not all(frozen.values()):
            return NotYet(instead=f"frozen: {by_name(frozen)}")
        began_ns = injection.clock.now_ns()
        frozen_with = self._sample()
        before, now = self._until_frozen(frozen_with)
        grown = moved(before.log_bytes, now.log_bytes)
        if any(node not in grown for node in self._nodes):
            return NotYet(instead=f"the log did not grow before the stall either: {by_name(grown)}")
        self._still.add(began_ns, frozen_with.at_ns, frozen_with.log_bytes)
        if not self._still.proven:
            return NotYet(instead=f"log bytes {by_name(self._still.values)} not still for long enough")
        values = {
            "frozen": list(self._nodes),
            "log_bytes_grown_before": by_name({node: grown[node] for node in self._nodes}),
            "log_bytes_grown_before_over_s": seconds(now.at_ns - before.at_ns),
            "log_still_for_s": seconds(self._still.last_ns - self._still.since_ns),
        }
        return Proven(since_ns=self._still.since_ns, values=values)

    def _until_frozen(self, frozen_with: CounterSample) -> tuple[CounterSample, CounterSample]:
        """The logs some time before the stall and at its begin. The counters of a node are of all that it
        writes: of one log directory there is what was read when the fault was prepared."""
        if self._prepared is None:
            return self.injection.before, self.injection.now
        return self._prepared, frozen_with

    @as_job
    def heal(self) -> None:
        """Thaw, except those that another fault holds frozen."""
        try_all(partial(self._release, node) for node in self._nodes)
        self._at_heal = self._at_heal or dict(self._sample().log_bytes)

    def _release(self, node: int) -> None:
        holds = self.injection.holds
        with holds.changing((node,)):
            if holds.release("frozen", node, self.injection.owner):
                self.injection.cluster.thaw(node)

    def recovery(self) -> Evidence:
        """Does the log grow, do all serve, and is the ISR what it was?"""
        return growing(self.injection, self._at_heal, log_dir=self.injection.step.log_dir)

    def _sample(self) -> CounterSample:
        """How many bytes the logs have."""
        number = self.injection.step.log_dir
        logs = {node: self.injection.cluster.log_bytes(node, log_dir=number) for node in self._nodes}
        return CounterSample(at_ns=self.injection.clock.now_ns(), log_bytes=logs)


DISK_STALL = FaultKind(
    step=DiskStallStep,
    make=DiskStall,
    takes=Takes(inject_s=3.0, heal_s=2.0),
    counter="logs",
    shortest_hold_s=1.5,
    storm=one_node(DiskStallStep, weight=2, brokers_only=True, needs_peers=True),
    does="the node's file systems are frozen, or that of one `log_dir`: every write blocks, without an error",
    effect="the superblock is frozen, and the log, which grew before, stands still for 0.75 s",
    healing="thaw",
    recovery="the log grows, the node answers",
)
