"""Which edges a fault targets: arrows between roles, and named cuts, resolved when the fault is injected.

    followers -> leader             connections that the followers open to the leader (their fetches)
    all <-> node 1                  every edge from and to node 1, the clients' too
    leader -> controllers, 1 <-> 2  several arrows
    split 1+2 | 3                   a named cut: shapes.py has them all

An arrow means the edges of the mesh from any node on its left to any on its right; pairs between which the
mesh has no edge (a node and itself, controller to broker) drop out.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from compose.protocols import CLIENT, Edge
from faults.errors import BadStep, NoTarget
from faults.targets.roles import Roles
from faults.targets.shapes import SHAPES, NodesOf, Shape, edges_of_shape, parse_shape
from faults.targets.target import Target, TopicPartition, parse_target, with_partition

_ARROW = re.compile(r"(?P<left>[^<>]+?)\s*(?P<arrow><->|->)\s*(?P<right>[^<>]+)")
_WORDS = (
    "ROLE -> ROLE (one way) or ROLE <-> ROLE (both), as in 'followers -> leader', 'all <-> node 1'; "
    f"or a named cut: {SHAPES}"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrow:
    """The edges from one role to another, or in both directions."""

    left: Target
    right: Target
    both_ways: bool

    def __str__(self) -> str:
        return f"{self.left} {'<->' if self.both_ways else '->'} {self.right}"


@dataclass(frozen=True, slots=True, kw_only=True)
class EdgeSet:
    """One or more arrows and named cuts."""

    arrows: tuple[Arrow, ...] = ()
    shapes: tuple[Shape, ...] = ()

    def __str__(self) -> str:
        """What `parse_edges` reads back to the same set."""
        return ", ".join(map(str, (*self.arrows, *self.shapes)))


def parse_edges(value: object, field: str = "edges") -> EdgeSet:
    """Read arrows and named cuts, separated by commas."""
    if not isinstance(value, str):
        raise BadStep(field, value, _WORDS)
    texts = [each.strip() for each in value.split(",")]
    shapes = {text: shape for text in texts if (shape := parse_shape(text, field))}
    return EdgeSet(
        arrows=tuple(_parse_arrow(text, field) for text in texts if text not in shapes),
        shapes=tuple(shapes.values()),
    )


def _parse_arrow(text: str, field: str) -> Arrow:
    match = _ARROW.fullmatch(text)
    if match is None:
        raise BadStep(field, text, _WORDS)
    arrow = Arrow(
        left=parse_target(match["left"], field, edge_end=True),
        right=parse_target(match["right"], field, edge_end=True),
        both_ways=match["arrow"] == "<->",
    )
    if arrow.right.role == CLIENT and (not arrow.both_ways or arrow.left.role == CLIENT):
        raise BadStep(field, text, "an arrow from the client: no node opens a connection to it")
    return arrow


def around(target: Target) -> EdgeSet:
    """Every edge from and to `target`: what a step means that names a target instead of edges."""
    return EdgeSet(arrows=(Arrow(left=Target(role="all"), right=target, both_ways=True),))


def resolve_edges(edges: EdgeSet, roles: Roles) -> tuple[Edge, ...]:
    """The edges of the mesh that `edges` means now, sorted; NoTarget if there are none."""
    found: set[Edge] = set()
    for arrow in edges.arrows:
        left, right = (end_names(end, _nodes_of(end, roles)) for end in (arrow.left, arrow.right))
        found |= {edge for edge in roles.cluster.mesh.edges if joins(arrow, edge, left, right)}
    for shape in edges.shapes:
        found |= edges_of_shape(shape, roles.nodes, roles.cluster.mesh.edges)
    if not found:
        raise NoTarget(f"{edges}: the mesh has no edge between the nodes that hold these roles now")
    return tuple(sorted(found))


def with_partitions(edges: EdgeSet, default: TopicPartition | None) -> EdgeSet:
    """The same edges, with `default` in every role of a partition that names none."""
    return EdgeSet(
        arrows=tuple(
            Arrow(
                left=with_partition(arrow.left, default),
                right=with_partition(arrow.right, default),
                both_ways=arrow.both_ways,
            )
            for arrow in edges.arrows
        ),
        shapes=tuple(shape.with_partition(default) for shape in edges.shapes),
    )


def can_exist(arrow: Arrow, nodes_of: NodesOf, mesh: Iterable[Edge]) -> bool:
    """Whether `mesh` has an edge between these nodes of the roles at the arrow's ends."""
    left, right = (end_names(end, nodes_of(end)) for end in (arrow.left, arrow.right))
    return any(joins(arrow, edge, left, right) for edge in mesh)


def joins(arrow: Arrow, edge: Edge, left: frozenset[str], right: frozenset[str]) -> bool:
    """Whether `edge` leads from left to right, or back too if the arrow has both ways."""
    source, target = edge.source, str(edge.target)
    return (source in left and target in right) or (arrow.both_ways and source in right and target in left)


def end_names(end: Target, nodes: tuple[int, ...]) -> frozenset[str]:
    """Names of the edge ends that `end` means, if its nodes are `nodes`: their ids as text, and "client"."""
    clients = frozenset({CLIENT}) if end.role in ("client", "all") else frozenset()
    return clients | {str(node) for node in nodes}


def _nodes_of(end: Target, roles: Roles) -> tuple[int, ...]:
    return () if end.role == "client" else roles.nodes(end)
