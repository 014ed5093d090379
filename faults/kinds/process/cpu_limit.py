"""CPU limit: the node may use so many processors at most: each tenth of a second it runs, then waits.

So a node meets a quota that is too small, or neighbours that take its processors. Unlike a pause it goes on,
slowly; it is fenced if its heartbeats come too late.
Effect: the limit is set, and the time rises for which the node's processes had to wait for it.
Recovery: there is no limit, that time stands still, and the node answers; the ISR is what it was.

Refused where the kernel has no bandwidth control, or counts nothing that this machine can read.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from random import Random
from typing import ClassVar, Self

from faults.errors import BadStep, NoTarget
from faults.kinds.fault.base import UP, Injection, all_alive, check_free, claim, fit_node, try_all
from faults.kinds.fault.evidence import Evidence, NotYet, Proven, by_name, moved, seconds
from faults.kinds.fault.kind import FaultKind, StormRule
from faults.kinds.fault.step import Head, Step, TargetStep, Words
from faults.kinds.shared.recovery import answering
from faults.targets.facts import Facts
from faults.targets.target import Target, parse_target
from faults.tasks import as_job

FEWEST, MOST = 0.01, 8.0
"""The kernel wants at least 1 ms of each period of 100 ms."""

LEAST_WAIT_NS = 50_000_000
"""Two periods, of which a node that wants a processor and may have half of one waits a quarter."""

DRAWN_HUNDREDTHS = (5, 20)
"""What a storm draws: a broker under load uses about half a processor."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CpuLimitStep(TargetStep):
    """Limit nodes to so many `cpus`."""

    kind: ClassVar[str] = "cpu-limit"
    keys: ClassVar[tuple[str, ...]] = (*TargetStep.keys, "cpus")
    cpus: float

    @classmethod
    def parse(cls, head: Head, words: Words) -> Self:
        """Read the target and the limit."""
        return cls(
            name=head.name,
            start=head.start,
            hold_s=head.hold_s,
            target=parse_target(words.get("target")),
            cpus=_parse_cpus(words.get("cpus")),
        )

    def write(self) -> dict[str, str]:
        """Target and limit."""
        return TargetStep.write(self) | {"cpus": f"{self.cpus:g}"}


def _parse_cpus(value: object) -> float:
    try:
        cpus = round(float(str(value)), 2)
    except ValueError:
        cpus = 0.0
    if isinstance(value, bool) or not FEWEST <= cpus <= MOST:
        raise BadStep(
            "cpus", value, f"processors that a node may use, from {FEWEST:g} to {MOST:g}, as in 0.2"
        )
    return cpus


@dataclass(slots=True)
class CpuLimit:
    """Holds the injection's nodes limited."""

    injection: Injection[CpuLimitStep]
    _nodes: tuple[int, ...] = ()
    _before: Mapping[int, int] = field(default_factory=dict)
    _since_heal: Mapping[int, int] = field(default_factory=dict)

    def prepare(self) -> None:
        """Only a running node that has no limit yet, where the kernel counts how long it waits."""
        self._nodes = all_alive(self.injection, what="limit")
        for node in self._nodes:
            check_free(self.injection, _limit_of(node))
            if (limit := self.injection.cluster.cpu_limit(node)) is not None:
                raise NoTarget(f"nothing to limit: node {node} may use {limit:g} processors already")
        self._before = self._waited()

    def _waited(self) -> Mapping[int, int]:
        return {node: self.injection.cluster.throttled_ns(node) for node in self._nodes}

    @as_job
    def inject(self) -> None:
        """Limit."""
        for node in self._nodes:
            with fit_node(self.injection, node, UP):
                claim(self.injection, _limit_of(node))
                self.injection.cluster.limit_cpu(node, self.injection.step.cpus)

    def effect(self) -> Evidence:
        """Is the limit set, and do the processes wait for it?"""
        cluster, cpus = self.injection.cluster, self.injection.step.cpus
        limits = {node: cluster.cpu_limit(node) for node in self._nodes}
        if any(limit != cpus for limit in limits.values()):
            return NotYet(instead=f"limits: {by_name(limits)}")
        waited_ns = {node: all_ns - self._before[node] for node, all_ns in self._waited().items()}
        in_s = by_name({node: seconds(each) for node, each in waited_ns.items()})
        if any(each < LEAST_WAIT_NS for each in waited_ns.values()):
            return NotYet(instead=f"the limit is set, and for it the nodes have waited {in_s} s")
        values = {"cpus": by_name(limits), "waited_s": in_s}
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
                self.injection.cluster.limit_cpu(node, None)
                holds.give_up(limit, self.injection.owner)

    def recovery(self) -> Evidence:
        """Is there no limit, does nobody wait for one since the last probe, and do all serve?"""
        limits = {node: self.injection.cluster.cpu_limit(node) for node in self._nodes}
        if any(limit is not None for limit in limits.values()):
            return NotYet(instead=f"limits: {by_name(limits)}")
        before, self._since_heal = self._since_heal, self._waited()
        if not before or moved(before, self._since_heal):
            return NotYet(instead="not known yet whether the nodes still wait for a limit")
        return answering(self.injection, self._nodes)


def _limit_of(node: int) -> str:
    return f"the limit of node {node}'s processors"


def _draw(rng: Random, head: Head, node: Target, facts: Facts) -> Step:
    """A small part of a processor."""
    cpus = rng.randint(*DRAWN_HUNDREDTHS) / 100
    return CpuLimitStep(name=head.name, start=head.start, hold_s=head.hold_s, target=node, cpus=cpus)


CPU_LIMIT = FaultKind(
    step=CpuLimitStep,
    make=CpuLimit,
    shortest_hold_s=1.5,
    storm=StormRule(draw=_draw, weight=2, brokers_only=True, by_default=False),
    does="the node may use `cpus` processors at most (0.01 to 8), and waits for the rest of each tenth of a "
    "second",
    effect="the limit is set, and the node's processes have waited for it for at least 0.05 s",
    healing="no limit",
    recovery="no process waits for a limit, the node answers",
)
