"""What a plan must satisfy before anything starts; every refusal is a BadStep with the step's index.

Names are unique; `after` names an earlier step; nodes, topics, partitions and edges exist; a role is held
by at least one node; a hold is long enough to be proven.
"""

from dataclasses import dataclass, replace
from typing import get_args

from compose.protocols import Edge
from faults.errors import BadStep
from faults.plan.edges import EdgeSet, end_names, joins
from faults.plan.steps import After, FaultStep, When
from faults.plan.targets import PartitionRole, Target, TopicPartition, candidates

SHORTEST_HOLD_S = {"partition": 1.0, "pause": 1.0, "disk-stall": 1.5}
"""Below this, standing still cannot be told from a short silence: it is watched for half a second or more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicFacts:
    """A topic that the scenario makes."""

    name: str
    partitions: int
    replication: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What the scenario says of its cluster; partition 0 of the first topic is the plan's default."""

    brokers: tuple[int, ...]
    controllers: tuple[int, ...]
    edges: tuple[Edge, ...]
    topics: tuple[TopicFacts, ...]

    @property
    def nodes(self) -> tuple[int, ...]:
        """All node ids, ascending."""
        return tuple(sorted({*self.brokers, *self.controllers}))


def validate(steps: tuple[FaultStep, ...], facts: Facts) -> tuple[FaultStep, ...]:
    """The same steps with the default partition written into every role that leaves it out."""
    default = TopicPartition(topic=facts.topics[0].name, partition=0) if facts.topics else None
    done = tuple(_with_partition(step, default) for step in steps)
    for index, step in enumerate(done):
        try:
            _check(step, done[:index], facts)
        except BadStep as refusal:
            raise refusal.at_step(index) from None
    return done


def _check(step: FaultStep, earlier: tuple[FaultStep, ...], facts: Facts) -> None:
    names = [each.name for each in earlier]
    if step.name in names:
        raise BadStep("name", step.name, "a name that no earlier step has")
    if isinstance(step.start, After) and step.start.anchor not in names:
        raise BadStep("after", step.start.anchor, ["the name of an earlier step", *names])
    shortest = SHORTEST_HOLD_S.get(step.kind, 0.0)
    if step.hold_s < shortest:
        allowed = f"at least {shortest:g}s: a shorter {step.kind} cannot be proven"
        raise BadStep("for", f"{step.hold_s:g}s", allowed)
    if isinstance(step.start, When):
        _check_partition(step.start.condition.of, "when", facts)
    if step.target is not None:
        _check_target(step.target, "target", facts)
    if step.edges is not None:
        _check_edges(step.edges, facts)


def _check_target(target: Target, field: str, facts: Facts) -> None:
    _check_partition(target.of, field, facts)
    for node in target.ids:
        if node not in facts.nodes:
            raise BadStep(field, f"node {node}", map(str, facts.nodes))
    if target.role != "client" and not candidates(target, facts.brokers, facts.controllers):
        raise BadStep(field, str(target), f"a role that somebody holds; there are only {list(facts.nodes)}")
    if target.role in get_args(PartitionRole):
        copies = next((each.replication for each in facts.topics if _is_of(target, each)), 0)
        needed = 1 if target.role == "leader" else target.rank + 1
        if copies < needed:
            raise BadStep(field, str(target), f"a role in a partition that has one; replicas: {copies}")


def _is_of(target: Target, topic: TopicFacts) -> bool:
    return target.of is not None and target.of.topic == topic.name


def _check_partition(of: TopicPartition | None, field: str, facts: Facts) -> None:
    """A partition that a role or condition names must be one that the scenario makes."""
    if of is None:
        return
    known = {each.name: each.partitions for each in facts.topics}
    if of.partition >= known.get(of.topic, 0):
        raise BadStep(field, str(of), [f"{name}-0..{count - 1}" for name, count in known.items()])


def _check_edges(edges: EdgeSet, facts: Facts) -> None:
    """Each arrow must have an edge between nodes that can ever hold the roles at its ends."""
    for arrow in edges.arrows:
        for end in (arrow.left, arrow.right):
            _check_target(end, "edges", facts)
        left, right = (
            end_names(end, candidates(end, facts.brokers, facts.controllers))
            for end in (arrow.left, arrow.right)
        )
        if not any(joins(arrow, edge, left, right) for edge in facts.edges):
            raise BadStep("edges", str(arrow), f"edges that the mesh has: {', '.join(map(str, facts.edges))}")


def _with_partition(step: FaultStep, default: TopicPartition | None) -> FaultStep:
    """The step with `default` where a role or a condition names no partition."""
    start, edges = step.start, step.edges
    if isinstance(start, When) and start.condition.of is None:
        start = replace(start, condition=replace(start.condition, of=default))
    if edges is not None:
        arrows = (
            replace(arrow, left=_filled(arrow.left, default), right=_filled(arrow.right, default))
            for arrow in edges.arrows
        )
        edges = replace(edges, arrows=tuple(arrows))
    target = None if step.target is None else _filled(step.target, default)
    return replace(step, start=start, edges=edges, target=target)


def _filled(target: Target, default: TopicPartition | None) -> Target:
    of_partition = target.role in get_args(PartitionRole)
    return replace(target, of=default) if of_partition and target.of is None else target
