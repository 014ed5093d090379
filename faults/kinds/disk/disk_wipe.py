"""Disk wipe: the node is killed, and started again with an empty disk, formatted for the same node.

So the broker registers under its own id, has no mark of a clean shutdown, and fetches every replica anew.
What was synced is gone too.

A `new` disk has another directory id, as one that was replaced. From 3.7 on (KIP-858) the controllers know by
it that the replicas of the old one are gone, and elect the broker only for what it has taken up anew. A disk
that was `emptied` keeps its id: they elect the broker for a log that it does not have.

Effect: exit code 137, and no byte of the log is left that there was before.
Recovery: the nodes answer; the ISR is what it was, so all replicas have been fetched.
What each replica held is read from the old disk; of the new one it is read that nothing is there.

Of a broker with several log directories all are wiped, or the one that is named.

Only brokers: a controller that forgets its vote may give it twice, which no operator may do either (KIP-853).
"""

from dataclasses import dataclass, field, replace
from typing import ClassVar, Literal, Self, get_args

from faults.choices import parse_choice
from faults.errors import BadStep
from faults.kinds.disk.log_dir import KEY, check_log_dir, note_replicas, parse_log_dir, write_log_dir
from faults.kinds.fault.base import UP, Injection, alive, check_fit
from faults.kinds.fault.evidence import Evidence, NotYet, Proven, by_name
from faults.kinds.fault.kind import Cost, FaultKind, Takes, one_node
from faults.kinds.fault.step import Head, TargetStep, Words
from faults.kinds.shared.outage import SIGKILLED, bring_back, close_edges, exit_codes, kill, measure_logs
from faults.kinds.shared.recovery import answering
from faults.targets.facts import Facts
from faults.targets.target import parse_target
from faults.tasks import as_job

Disk = Literal["new", "emptied"]
DISKS: tuple[Disk, ...] = get_args(Disk)


@dataclass(frozen=True, slots=True, kw_only=True)
class DiskWipeStep(TargetStep):
    """Empty the disks of brokers, or replace them."""

    kind: ClassVar[str] = "disk-wipe"
    keys: ClassVar[tuple[str, ...]] = (*TargetStep.keys, "disk", KEY)
    disk: Disk = "new"
    log_dir: int | None = None

    @classmethod
    def parse(cls, head: Head, words: Words) -> Self:
        """Read the target, which disk the node gets, and for which log directory."""
        return cls(
            name=head.name,
            start=head.start,
            hold_s=head.hold_s,
            target=parse_target(words.get("target")),
            disk=parse_choice(words.get("disk", "new"), "disk", DISKS),
            log_dir=parse_log_dir(words.get(KEY)),
        )

    def write(self) -> dict[str, str]:
        """Target, disk and log directory."""
        return TargetStep.write(self) | {"disk": self.disk} | write_log_dir(self.log_dir)

    def check(self, facts: Facts) -> None:
        """No target may be a controller."""
        TargetStep.check(self, facts)
        hit = self.candidates(facts.brokers, facts.controllers)
        check_log_dir(self.log_dir, hit, facts)
        if not set(hit).isdisjoint(facts.controllers):
            allowed = "brokers that are no controllers: a controller that forgets its vote may give it twice"
            raise BadStep("target", str(self.target), allowed)


@dataclass(slots=True)
class DiskWipe:
    """Holds the injection's nodes down, with empty disks."""

    injection: Injection[DiskWipeStep]
    _nodes: tuple[int, ...] = ()
    _logs: dict[int, int] = field(default_factory=dict)

    def prepare(self) -> None:
        """Only a living node can be killed."""
        self._nodes = alive(self.injection, what="wipe", fit=UP)
        note_replicas(self.injection, self._nodes, self.injection.step.log_dir)

    @as_job
    def inject(self) -> None:
        """Kill all, then replace all disks: so that none is fetched from by another that is empty already."""
        with self.injection.holds.changing(self._nodes):
            for node in self._nodes:
                check_fit(self.injection, node, UP)
            for node in self._nodes:
                close_edges(self.injection, node)
            for node in self._nodes:
                kill(self.injection, node)
            for node in self._nodes:
                self._wipe(node)

    def _wipe(self, node: int) -> None:
        """From here on the node's data counts as lost, whatever is raised."""
        cluster, outages, step = self.injection.cluster, self.injection.outages, self.injection.step
        self._logs[node] = cluster.log_bytes(node, log_dir=step.log_dir)
        measure_logs(self.injection, node, "before-wipe")
        outages.data_lost.add(node)
        cluster.wipe(node, new=step.disk == "new", log_dir=step.log_dir)
        self._measure_nothing(node)

    def _measure_nothing(self, node: int) -> None:
        """A partition that has no directory on the new disk ends at offset 0."""
        logs, at_ns = self.injection.outages.logs, self.injection.clock.now_ns()
        left = self.injection.cluster.log_ends(node)
        logs += [
            replace(log, at_ns=at_ns, log_start=0, log_end=0, source="after-wipe")
            for log in logs
            if (log.node, log.source) == (node, "before-wipe") and (log.topic, log.partition) not in left
        ]

    def effect(self) -> Evidence:
        """Did all die, and is nothing left of their logs?"""
        codes = exit_codes(self.injection, self._nodes)
        if any(code != SIGKILLED for code in codes.values()):
            return NotYet(instead=f"exit codes: {by_name(codes)}")
        number = self.injection.step.log_dir
        left = {node: self.injection.cluster.log_bytes(node, log_dir=number) for node in self._nodes}
        if any(left.values()) or not all(self._logs.get(node) for node in self._nodes):
            return NotYet(instead=f"log bytes: {by_name(left)}, before: {by_name(self._logs)}")
        values = {"exit_codes": by_name(codes), "log_bytes_before": by_name(self._logs)}
        return Proven(since_ns=self.injection.clock.now_ns(), values=values)

    @as_job
    def heal(self) -> None:
        """Start again."""
        bring_back(self.injection, self._nodes)

    def recovery(self) -> Evidence:
        """Are all back?"""
        return answering(self.injection, self._nodes)


DISK_WIPE = FaultKind(
    step=DiskWipeStep,
    make=DiskWipe,
    takes=Takes(inject_s=3.0, heal_s=2.5),
    storm=one_node(DiskWipeStep, weight=1, brokers_only=True, by_default=False),
    cost=Cost(ends_process=True, unclean=True, loses_all_data=True),
    does="SIGKILL, then the disk is replaced by an empty one, formatted for the same broker (`disk: new`), "
    "or only `emptied`: then it keeps its directory id. Not of a controller",
    effect="exit code 137, and no byte is left of a log that had some",
    healing="start. What each replica held is read from the old disk before",
    recovery="the nodes answer",
)
