"""The cluster that a scenario describes, and the refusal of targets that it cannot have."""

from collections.abc import Iterable
from dataclasses import dataclass

from compose.protocols import Edge
from faults.errors import BadStep
from faults.targets.edges import EdgeSet, can_exist
from faults.targets.shapes import check_shape, edges_of_shape, possible_edges
from faults.targets.target import Target, TopicPartition, candidates


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicFacts:
    """A topic that the scenario makes; `min_isr` is its min.insync.replicas. `settings` has those with which
    it begins, as far as they are known."""

    name: str
    partitions: int
    replication: int
    min_isr: int = 1
    settings: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """Nodes, edges and topics of the cluster; partition 0 of the first topic is the plan's default.

    `has_elr`: whether eligible leader replicas are on (KIP-966). `release` is the Kafka release whose
    metadata.version the cluster begins with, as (4, 3); empty: not known. `releases` has each
    node and that with which it begins, as "4.3.1"; empty: not known. `log_dirs`: of each broker; a controller
    has one.
    `settings` has those with which every broker begins, as far as they are known.
    `internal` are topics of Kafka's own that the load makes it need, `transactional_ids` those of the load.
    """

    brokers: tuple[int, ...]
    controllers: tuple[int, ...]
    edges: tuple[Edge, ...]
    topics: tuple[TopicFacts, ...]
    has_elr: bool = True
    release: tuple[int, ...] = ()
    releases: tuple[tuple[int, str], ...] = ()
    log_dirs: int = 1
    settings: tuple[tuple[str, str], ...] = ()
    internal: tuple[TopicFacts, ...] = ()
    transactional_ids: tuple[str, ...] = ()

    @property
    def nodes(self) -> tuple[int, ...]:
        """All node ids, ascending."""
        return tuple(sorted({*self.brokers, *self.controllers}))

    def candidates(self, target: Target) -> tuple[int, ...]:
        """The nodes that can ever hold the role."""
        return candidates(target, self.brokers, self.controllers)

    def copies(self, of: TopicPartition | None) -> int:
        """How many replicas the partition has; 0 if there is none."""
        topics = (*self.topics, *self.internal)
        return next((each.replication for each in topics if of is not None and each.name == of.topic), 0)

    def holders(self, target: Target) -> tuple[int, ...]:
        """Nodes that may hold the role at one time: other ones than any other role of the same partition."""
        match target.role:
            case "leader" | "active controller" | "transaction coordinator":
                return self.candidates(target)[:1]
            case "follower":
                return self.brokers[target.rank : target.rank + 1]
            case "followers":
                return self.brokers[1 : self.copies(target.of)]
            case _:
                return self.candidates(target)

    @property
    def default_partition(self) -> TopicPartition | None:
        """What a role or an event means that names no partition; None without topics."""
        return TopicPartition(topic=self.topics[0].name, partition=0) if self.topics else None


def check_partition(of: TopicPartition | None, field: str, facts: Facts) -> None:
    """BadStep unless there will be the partition; None names none, and passes."""
    if of is None:
        return
    known = {each.name: each.partitions for each in (*facts.topics, *facts.internal)}
    if of.partition >= known.get(of.topic, 0):
        raise BadStep(field, str(of), [f"{name}-0..{count - 1}" for name, count in known.items()])


def check_target(target: Target, field: str, facts: Facts) -> None:
    """BadStep if the node or the partition does not exist, or if no node can ever hold the role."""
    check_partition(target.of, field, facts)
    if target.role == "transaction coordinator":
        check_transactional_id(target.transactional_id, field, str(target), facts)
    for node in target.ids:
        if node not in facts.nodes:
            raise BadStep(field, f"node {node}", map(str, facts.nodes))
    if target.role != "client" and not candidates(target, facts.brokers, facts.controllers):
        raise BadStep(field, str(target), f"a role that a node can hold; the nodes are {list(facts.nodes)}")
    if target.is_of_partition:
        copies = facts.copies(target.of)
        needed = 1 if target.role == "leader" else target.rank + 1
        if copies < needed:
            raise BadStep(field, str(target), f"a role in a partition that has one; replicas: {copies}")


def check_transactional_id(transactional_id: str, field: str, asked: str, facts: Facts) -> None:
    """BadStep unless a producer of the load has it."""
    if transactional_id not in facts.transactional_ids:
        ids = [f"the transactional id {each}" for each in facts.transactional_ids]
        raise BadStep(field, asked, ids or "something else: the load has no transactions")


def check_edges(edges: EdgeSet, field: str, facts: Facts) -> None:
    """BadStep if an arrow or a named cut means no edge of the mesh, whichever nodes hold its roles."""
    for arrow in edges.arrows:
        ends = (arrow.left, arrow.right)
        for end in ends:
            check_target(end, field, facts)
        if not can_exist(arrow, facts.candidates, facts.edges):
            raise BadStep(field, str(arrow), f"edges that the mesh has: {', '.join(map(str, facts.edges))}")
        if _move_together(ends) and not can_exist(arrow, facts.holders, facts.edges):
            raise BadStep(field, str(arrow), "roles of which different nodes can hold one each")
    for shape in edges.shapes:
        for target in shape.targets:
            check_target(target, field, facts)
        check_shape(shape, facts.candidates, field)
        can_be = possible_edges(shape, facts.candidates, facts.edges)
        if can_be and _move_together(shape.targets):
            can_be = edges_of_shape(shape, facts.holders, facts.edges)
        if not can_be:
            raise BadStep(field, str(shape), "groups with edges between them")


def _move_together(targets: Iterable[Target]) -> bool:
    """Whether all are roles of one partition, or the one role that moves: who holds one of them holds no
    other, whichever nodes they are, and the mesh has the same edges between all of these."""
    first, *others = targets
    if first.is_of_partition:
        return all(each.is_of_partition and each.of == first.of for each in others)
    return first.moves and all(each == first for each in others)
