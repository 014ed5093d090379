"""Memory limit: the node may have so many MiB at most, its cache of files included, which Kafka lives on.

What it writes and reads then goes through a small cache: pages are written back and dropped at once, and the
pages of the program itself are read again and again. What it holds itself, its heap above all, cannot be
dropped: if that grows above the limit the kernel ends the process, and the run ends as one whose memory ran
out. So leave room for the heap to grow.
Effect: the limit is set, and was met, so that the kernel had to drop something to keep the node to it: it
counts each time, and never does without a limit.
Recovery: there is no limit, and the node answers; the ISR is what it was.

Refused where this machine's kernel counts none of it, and where the node holds more than the limit already.
"""

from dataclasses import dataclass, field
from functools import partial
from typing import ClassVar, Self

from faults.errors import BadStep, NoTarget
from faults.kinds.fault.base import UP, Injection, all_alive, check_free, claim, fit_node, try_all
from faults.kinds.fault.evidence import Evidence, NotYet, Proven, by_name
from faults.kinds.fault.kind import FaultKind, Takes
from faults.kinds.fault.step import Head, TargetStep, Words
from faults.kinds.shared.recovery import answering
from faults.sizes import parse_mib, write_mib
from faults.targets.target import parse_target
from faults.tasks import as_job

FEWEST_MIB, MOST_MIB = 128, 1 << 20
"""Every node holds more than FEWEST_MIB less SPARE_MIB as soon as it runs: a controller 116 MiB after two
seconds, 180 MiB later, a broker 300 MiB. With more than MOST_MIB nothing would ever have to be dropped."""

SPARE_MIB = 32
"""Above what a node holds already: thread stacks and young objects come and go."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryLimitStep(TargetStep):
    """Limit nodes to so many MiB."""

    kind: ClassVar[str] = "memory-limit"
    keys: ClassVar[tuple[str, ...]] = (*TargetStep.keys, "memory")
    mib: int

    @classmethod
    def parse(cls, head: Head, words: Words) -> Self:
        """Read the target and the limit."""
        return cls(
            name=head.name,
            start=head.start,
            hold_s=head.hold_s,
            target=parse_target(words.get("target")),
            mib=_parse_mib(words.get("memory")),
        )

    def write(self) -> dict[str, str]:
        """Target and limit."""
        return TargetStep.write(self) | {"memory": write_mib(self.mib)}


def _parse_mib(value: object) -> int:
    mib = parse_mib(value, "memory")
    if not FEWEST_MIB <= mib <= MOST_MIB:
        allowed = f"what a node may have, from {write_mib(FEWEST_MIB)} to {MOST_MIB >> 10}GiB"
        raise BadStep("memory", value, allowed)
    return mib


@dataclass(slots=True)
class MemoryLimit:
    """Holds the injection's nodes limited."""

    injection: Injection[MemoryLimitStep]
    _nodes: tuple[int, ...] = ()
    _met_before: dict[int, int] = field(default_factory=dict)

    def prepare(self) -> None:
        """Only a running node without a limit, that holds less than it may have."""
        cluster, mib = self.injection.cluster, self.injection.step.mib
        self._nodes = all_alive(self.injection, what="limit")
        for node in self._nodes:
            check_free(self.injection, _limit_of(node))
            if (limit := cluster.memory_limit(node)) is not None:
                raise NoTarget(f"nothing to limit: node {node} may have {limit >> 20} MiB already")
            use = cluster.memory_use(node)
            held_mib = use.held_bytes >> 20
            if held_mib + SPARE_MIB > mib:
                needed = f"{held_mib} MiB itself, and needs {SPARE_MIB} MiB more than that"
                raise NoTarget(f"{mib} MiB would end node {node}, not limit it: it holds {needed}")
            self._met_before[node] = use.limit_met

    @as_job
    def inject(self) -> None:
        """Limit."""
        for node in self._nodes:
            with fit_node(self.injection, node, UP):
                claim(self.injection, _limit_of(node))
                self.injection.cluster.limit_memory(node, self.injection.step.mib << 20)

    def effect(self) -> Evidence:
        """Is the limit set, and is it met?"""
        cluster, mib = self.injection.cluster, self.injection.step.mib
        limits = {node: cluster.memory_limit(node) for node in self._nodes}
        if any(limit != mib << 20 for limit in limits.values()):
            return NotYet(instead=f"limits in bytes: {by_name(limits)}")
        met = {node: cluster.memory_use(node).limit_met - self._met_before[node] for node in self._nodes}
        if any(times <= 0 for times in met.values()):
            return NotYet(instead=f"the limit is set, and was met so many times: {by_name(met)}")
        values = {"limit_mib": mib, "limit_met": by_name(met)}
        return Proven(since_ns=self.injection.clock.now_ns(), values=values)

    @as_job
    def heal(self) -> None:
        """Take the limit away, also of a node that does not run."""
        try_all(partial(self._release, node) for node in self._nodes)

    def _release(self, node: int) -> None:
        """Nothing where another fault has set the limit."""
        holds, limit = self.injection.holds, _limit_of(node)
        with holds.changing((node,)):
            if holds.claimed_by(limit) == self.injection.owner:
                self.injection.cluster.limit_memory(node, None)
                holds.give_up(limit, self.injection.owner)

    def recovery(self) -> Evidence:
        """Is there no limit, and do all serve?"""
        limits = {node: self.injection.cluster.memory_limit(node) for node in self._nodes}
        if any(limit is not None for limit in limits.values()):
            return NotYet(instead=f"limits in bytes: {by_name(limits)}")
        return answering(self.injection, self._nodes)


def _limit_of(node: int) -> str:
    return f"the limit of node {node}'s memory"


MEMORY_LIMIT = FaultKind(
    step=MemoryLimitStep,
    make=MemoryLimit,
    takes=Takes(inject_s=3.0),
    shortest_hold_s=2.0,
    does="the node may have `memory` at most (from 128MiB on), its cache of files included. It must be 32 "
    "MiB more than the node holds itself, or it is refused; where the heap outgrows it, the kernel ends the "
    "node",
    effect="the limit is set, and was met: the kernel counts how often it had to keep the node to it",
    healing="no limit",
    recovery="there is no limit, the node answers",
)
