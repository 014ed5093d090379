"""Log directory failure: one log directory of a broker answers every read and write with EIO, while it runs.

As a disk that breaks, or is pulled: the file system is shut down under the broker (EXT4_IOC_SHUTDOWN), nobody
pauses or ends it, and what was never synced there is gone, as with a power loss of that disk.
Effect: the broker goes on and reports the directory as offline; of the replicas there none leads, and none
is in sync (see offline.py).
Recovery: after a restart, which mounts the file system anew, the broker reports the directory as online; the
ISR is what it was. What each replica held is read from the disks before the start.

Never the directory with the metadata log, without which a broker halts. A broker that halts without another
one has failed: that end is not planned. Nothing is measured of the logs at the moment of the failure, since
the broker goes on writing until then: how far they reached is not known, only how far they reach afterwards.
"""

from dataclasses import dataclass, field
from functools import partial
from typing import ClassVar

from faults.errors import BadStep
from faults.kinds.disk.log_dir import KEY, METADATA, LogDirStep, check_thawed, thawed_node
from faults.kinds.disk.lost import Lost
from faults.kinds.disk.offline import OfflineDirectory
from faults.kinds.fault.base import Injection, try_tasks
from faults.kinds.fault.evidence import Evidence, Proven
from faults.kinds.fault.kind import Cost, FaultKind, Takes
from faults.kinds.fault.step import TargetStep
from faults.targets.facts import Facts
from faults.tasks import Task, as_job

SECOND = 2
"""The first log directory that has no metadata log."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LogDirFailureStep(LogDirStep):
    """Let a log directory of brokers fail."""

    kind: ClassVar[str] = "log-dir-failure"
    by_default: ClassVar[int | None] = SECOND

    @property
    def number(self) -> int:
        """The log directory that fails."""
        return self.log_dir or SECOND

    def check(self, facts: Facts) -> None:
        """The brokers must have another one, which is not hit and has the metadata log."""
        if facts.log_dirs == 1:
            allowed = (
                "any other kind: brokers with one log directory halt without it; set cluster.log_dirs to 2"
            )
            raise BadStep("do", self.kind, f"{allowed} or more (Kafka 3.7 and newer, KIP-858)")
        TargetStep.check(self, facts)
        if not set(self.candidates(facts.brokers, facts.controllers)) <= set(facts.brokers):
            allowed = "brokers: a controller has one log directory, and halts without it"
            raise BadStep("target", str(self.target), allowed)
        if self.number == METADATA:
            others = f"{SECOND}" if facts.log_dirs == SECOND else f"from {SECOND} to {facts.log_dirs}"
            allowed = f"{others}: without the first, which has the metadata log, a broker halts"
            raise BadStep(KEY, str(self.number), allowed)
        LogDirStep.check(self, facts)


@dataclass(slots=True)
class LogDirFailure:
    """Holds a log directory of the injection's nodes failed."""

    injection: Injection[LogDirFailureStep]
    _directory: OfflineDirectory[LogDirFailureStep] = field(init=False)
    _lost: Lost = field(default_factory=Lost)

    def __post_init__(self) -> None:
        """Which directory."""
        self._directory = OfflineDirectory(self.injection, self.injection.step.number)

    def prepare(self) -> None:
        """Only a running broker whose directory is online, and whose disks are not frozen: those cannot
        fail."""
        self._directory.prepare("fail")
        check_thawed(self.injection, self._directory.nodes, what="fail")

    @as_job
    def inject(self) -> None:
        """Cut the file system off, one node after the other."""
        number = self.injection.step.number
        for node in self._directory.nodes:
            with thawed_node(self.injection, node):
                self._lost.measure(self.injection, node, number)
                self._directory.hit.add(node)
                self.injection.cluster.fail_log_dir(node, log_dir=number)
                self._lost.cut(self.injection, node)

    def effect(self) -> Evidence:
        """Does the broker go on without the directory, and others with what lay there?"""
        evidence = self._directory.effect()
        if isinstance(evidence, Proven):
            values = {**evidence.values, **self._lost.unsynced_before}
            return Proven(since_ns=evidence.since_ns, values=values)
        return evidence

    def heal(self) -> Task[None]:
        """Restart: a file system that was shut down is well when it is mounted anew."""
        hit = sorted(self._directory.hit)
        yield from try_tasks(partial(self._directory.restart, node, self._lost) for node in hit)

    def recovery(self) -> Evidence:
        """Are the directories back, and all in sync?"""
        evidence = self._directory.recovery()
        if isinstance(evidence, Proven):
            return Proven(since_ns=evidence.since_ns, values={**evidence.values, **self._lost.values})
        return evidence


LOG_DIR_FAILURE = FaultKind(
    step=LogDirFailureStep,
    make=LogDirFailure,
    takes=Takes(inject_s=3.0, heal_s=12.0),
    shortest_hold_s=3.0,
    cost=Cost(ends_process=True, unclean=True, loses_unsynced_data=True),
    does="one log directory of a running broker fails: every read and write there is answered with EIO, and "
    "what was never synced is gone. `log_dir` is 2 or more, as the first has the metadata log; needs "
    "`cluster.log_dirs`",
    effect="the process goes on, the broker itself reports the directory as offline, and of its replicas "
    "there none leads, and none is in sync with a leader",
    healing="restart (SIGTERM), which mounts the file system anew. What each replica holds is read from its "
    "disk before the start",
    recovery="the broker reports the directory as online, and answers",
)
