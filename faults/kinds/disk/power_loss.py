"""Power loss: what was never synced is gone, on one node or on several at one instant, and later a restart.

All nodes are paused first, so that none reacts to the end of another and none meets the errors of its own
disk. Then every file system drops what it has not written and fails every call, then every process is killed.
Effect: exit code 137; every file system has answered a read with an error between its cut and the kill, which
a kill alone does not bring about; and where log bytes had been unsynced, log files are shorter when it is
mounted again. Where none had been, as with `flush.messages=1`, that error is all that tells the two apart.
Recovery: the nodes answer again; the ISR is what it was.
What each replica held is read from its disk before the cut, and again before the node is started.

A node that is down already is left out: its disk was unmounted, and so written, when it died.
"""

from dataclasses import dataclass, field
from functools import partial
from typing import ClassVar

from faults.kinds.disk.lost import Lost
from faults.kinds.fault.base import UP, Injection, alive, check_fit, try_all
from faults.kinds.fault.evidence import Evidence, NotYet, Proven, by_name, seconds
from faults.kinds.fault.kind import Cost, FaultKind, Takes, one_node
from faults.kinds.fault.step import TargetStep
from faults.kinds.shared.outage import (
    SIGKILLED,
    bring_back,
    close_edges,
    exit_codes,
    kill,
    measure_logs,
    thaw_first,
)
from faults.kinds.shared.recovery import answering
from faults.tasks import as_job


@dataclass(frozen=True, slots=True, kw_only=True)
class PowerLossStep(TargetStep):
    """Cut the power of nodes."""

    kind: ClassVar[str] = "power-loss"


@dataclass(slots=True)
class PowerLoss:
    """Holds the injection's nodes down after a power cut."""

    injection: Injection[PowerLossStep]
    _nodes: tuple[int, ...] = ()
    _lost: Lost = field(default_factory=Lost)
    _answers: dict[int, tuple[str, ...]] = field(default_factory=dict)
    """Of each node's file systems to a read, once they were cut off."""
    _paused: set[int] = field(default_factory=set)
    _pausing_ns: int = 0

    def prepare(self) -> None:
        """Only a node that is up has a power supply to lose."""
        self._nodes = alive(self.injection, what="cut off from power", fit=UP)

    @as_job
    def inject(self) -> None:
        """Pause all; drop unsynced pages on all; close the edges to all; kill all."""
        with self.injection.holds.changing(self._nodes):
            self._cut_power()

    def _cut_power(self) -> None:
        cluster, clock = self.injection.cluster, self.injection.clock
        for node in self._nodes:
            check_fit(self.injection, node, UP)
        began_ns = clock.now_ns()
        for node in self._nodes:
            self._paused.add(node)
            cluster.pause(node)
        self._pausing_ns = clock.now_ns() - began_ns
        for node in self._nodes:
            thaw_first(self.injection, node)
            measure_logs(self.injection, node, "before-power-loss")
        for node in self._nodes:
            self._drop_unsynced(node)
        for node in self._nodes:
            close_edges(self.injection, node)
        for node in self._nodes:
            kill(self.injection, node)

    def _drop_unsynced(self, node: int) -> None:
        """From here on the node cannot go on: whatever is raised, it ends uncleanly.

        What is unsynced is read just before: the kernel goes on writing it to the disk.
        """
        self._lost.measure(self.injection, node)
        self.injection.outages.ending(node, unclean=True)
        self._answers[node] = self.injection.cluster.drop_unsynced(node)
        self._lost.cut(self.injection, node)

    def effect(self) -> Evidence:
        """Did all die, did every file system fail, and are the logs shorter that had bytes to lose?"""
        codes = exit_codes(self.injection, self._nodes)
        if any(code != SIGKILLED for code in codes.values()):
            return NotYet(instead=f"exit codes: {by_name(codes)}")
        dead_ns = self.injection.clock.now_ns()
        lost = self._lost
        for node in self._nodes:
            lost.note(self.injection, node, self.injection.cluster.log_sizes(node))
        kept = [node for node in self._nodes if lost.unsynced[node] > 0 and lost.gone[node] <= 0]
        if kept:
            return NotYet(instead=f"node {kept[0]} had {lost.unsynced[kept[0]]} unsynced bytes and lost none")
        unanswered = [node for node in self._nodes if not self._answers.get(node)]
        if unanswered:
            return NotYet(instead=f"node {unanswered[0]}: no file system is known to have failed a read")
        values = {
            "exit_codes": by_name(codes),
            "reads_failed_with": by_name(self._answers),
            **lost.unsynced_before,
            **lost.values,
            "all_paused_within_s": seconds(self._pausing_ns),
        }
        return Proven(since_ns=dead_ns, values=values)

    @as_job
    def heal(self) -> None:
        """Start each again, once its disks can be read: a node would not start on one that was cut off."""
        try_all(partial(self._finish_half_way, node) for node in self._nodes)
        try_all(partial(self._bring_back, node) for node in self._nodes)

    def _bring_back(self, node: int) -> None:
        self.injection.cluster.log_bytes(node)
        bring_back(self.injection, (node,), source="after-power-loss")

    def _finish_half_way(self, node: int) -> None:
        """If the injection failed while `node` was paused: let it go on, or kill it if its disk is gone."""
        if node not in self._paused or self.injection.cluster.state(node).status != "paused":
            return
        if node in self.injection.outages.unclean:
            kill(self.injection, node)
        else:
            self.injection.cluster.unpause(node)

    def recovery(self) -> Evidence:
        """Are all back?"""
        return answering(self.injection, self._nodes)


POWER_LOSS = FaultKind(
    step=PowerLossStep,
    make=PowerLoss,
    takes=Takes(inject_s=2.5, heal_s=3.0),
    storm=one_node(PowerLossStep, weight=2, brokers_only=True),
    cost=Cost(ends_process=True, unclean=True, loses_unsynced_data=True),
    does="all nodes are paused, then every file system drops what was never synced, then all are killed",
    effect="exit code 137; every file system failed a read (EIO) once it was cut off, before the kill; where "
    "log bytes were unsynced, log files are shorter when it is mounted again",
    healing="once the disks can be read again: start. What each replica holds is read from its disk before "
    "the cut and before the start",
    recovery="the nodes answer",
)
