"""A step of a plan as plain data: its name, when it starts, how long it holds, and what its kind adds.

A step *begins* when its injection is done and the fault is in force, *ends* when it is healed, and is
*recovered* when that is proven (or its deadline has passed). The hold counts from the begin.

Each kind of fault declares its own subclass, which reads, writes, checks and resolves what it adds. Most add
a target (`TargetStep`) or edges (`EdgesStep`) and inherit all of that.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar, Literal, Self

from compose.protocols import Edge
from faults.errors import BadStep
from faults.targets.conditions import Condition
from faults.targets.edges import EdgeSet, around, parse_edges, resolve_edges, with_partitions
from faults.targets.facts import Facts, check_edges, check_target
from faults.targets.moments import Moments
from faults.targets.roles import Roles
from faults.targets.target import Target, TopicPartition, candidates, parse_target, with_partition

Words = Mapping[str, object]
"""A step as the scenario writes it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class At:
    """At a time: seconds after the start of the schedule, which is when the workload is warm.

    `once` names earlier steps: if one of them is in force then or has not recovered, that is waited for, and
    the step begins late.
    """

    offset_s: float
    once: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class After:
    """After a moment of an earlier step, or of several; with `once` as in `At`."""

    of: Moments
    delay_s: float = 0.0
    once: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class When:
    """On an event, awaited from `since` on until `within_s` after that.

    What the event compares with is the state just before that moment was brought about: before the injection
    or the healing began. Without `since` it is the begin of the step before; of the first step of a plan the
    start of the schedule, as with "start". If the event does not come, the step is recorded as not injected.
    """

    condition: Condition
    within_s: float
    since: Moments | Literal["start"] | None = None


Start = At | After | When


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    """What every step has, whatever its kind."""

    name: str
    start: Start
    hold_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ResolvedTargets:
    """What the roles of a step mean now. The nodes of edges are those at their ends."""

    nodes: tuple[int, ...]
    edges: tuple[Edge, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Step(Head, ABC):
    """One fault of a plan. A subclass sets `kind`, as written after `do:`, and the `keys` that it adds."""

    kind: ClassVar[str]
    keys: ClassVar[tuple[str, ...]]

    @classmethod
    @abstractmethod
    def parse(cls, head: Head, words: Words) -> Self:
        """Read the keys that the kind adds; BadStep names the key."""

    @abstractmethod
    def write(self) -> dict[str, str]:
        """The words that `parse` reads back to the same step."""

    @property
    @abstractmethod
    def asked(self) -> str:
        """What the step is to hit, in the plan's words."""

    @abstractmethod
    def with_partition(self, default: TopicPartition | None) -> Self:
        """The same step, with `default` in every role of a partition that names none."""

    @abstractmethod
    def check(self, facts: Facts) -> None:
        """BadStep if the cluster can never have what the step is to hit."""

    def pauses_s(self, nodes: int) -> float:
        """How long its injection waits by itself, of so many nodes, before the step begins."""
        return 0.0

    @property
    def changes(self) -> frozenset[str]:
        """What the cluster has, and the step may change: its settings, features, releases, replicas."""
        return frozenset()

    @property
    def depends_on(self) -> frozenset[str]:
        """Of such things, those by which `in_vain` decides."""
        return self.changes

    def in_vain(self, facts: Facts) -> BadStep | None:
        """Why nothing can come of it while the cluster is as it begins; None if something may."""
        return None

    @abstractmethod
    def resolve(self, roles: Roles) -> ResolvedTargets:
        """What the step hits now; NoTarget if nothing."""

    @abstractmethod
    def candidates(self, brokers: tuple[int, ...], controllers: tuple[int, ...]) -> tuple[int, ...]:
        """The nodes whose own counters the step may need: all that it can ever hit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetStep(Step, ABC):
    """A step that hits nodes."""

    keys: ClassVar[tuple[str, ...]] = ("target",)
    target: Target

    @classmethod
    def parse(cls, head: Head, words: Words) -> Self:
        """Read the target."""
        target = parse_target(words.get("target"))
        return cls(name=head.name, start=head.start, hold_s=head.hold_s, target=target)

    def write(self) -> dict[str, str]:
        """The target."""
        return {"target": str(self.target)}

    @property
    def asked(self) -> str:
        """The target."""
        return str(self.target)

    def with_partition(self, default: TopicPartition | None) -> Self:
        """With `default` in the target."""
        return replace(self, target=with_partition(self.target, default))

    def check(self, facts: Facts) -> None:
        """The target must be one that a node can hold."""
        check_target(self.target, "target", facts)

    def resolve(self, roles: Roles) -> ResolvedTargets:
        """The nodes that hold the role now."""
        return ResolvedTargets(nodes=roles.nodes(self.target))

    def candidates(self, brokers: tuple[int, ...], controllers: tuple[int, ...]) -> tuple[int, ...]:
        """The nodes that can ever hold the role."""
        return candidates(self.target, brokers, controllers)


@dataclass(frozen=True, slots=True, kw_only=True)
class EdgesStep(Step, ABC):
    """A step that hits directed edges; `edges_of` reads them, and a subclass adds how it hits them."""

    keys: ClassVar[tuple[str, ...]] = ("target", "edges")
    edges: EdgeSet

    @property
    def asked(self) -> str:
        """The edges."""
        return str(self.edges)

    def with_partition(self, default: TopicPartition | None) -> Self:
        """With `default` in the edges."""
        return replace(self, edges=with_partitions(self.edges, default))

    def check(self, facts: Facts) -> None:
        """Each arrow and named cut must mean an edge of the mesh."""
        check_edges(self.edges, "edges", facts)

    def resolve(self, roles: Roles) -> ResolvedTargets:
        """The edges between the nodes that hold the roles now."""
        edges = resolve_edges(self.edges, roles)
        ends = {edge.target for edge in edges} | {
            int(edge.source) for edge in edges if edge.source.isdecimal()
        }
        return ResolvedTargets(nodes=tuple(sorted(ends)), edges=edges)

    def candidates(self, brokers: tuple[int, ...], controllers: tuple[int, ...]) -> tuple[int, ...]:
        """None: edges have counters of their own."""
        return ()


def edges_of(words: Words) -> EdgeSet:
    """The edges that a step names, or all edges from and to the target that it names instead."""
    target, edges = words.get("target"), words.get("edges")
    if (target is None) == (edges is None):
        allowed = "arrows such as 'followers -> leader', or else a target, for all edges from and to it"
        raise BadStep("edges", edges, allowed)
    return parse_edges(edges) if target is None else around(parse_target(target))
