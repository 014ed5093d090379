"""Named cuts: sets of edges that follow from how the nodes are put into groups, resolved as arrows are.

    split 1+2 | 3               every edge between nodes of different groups; there may be more than two
    split controllers           one group is halved, the lower ids in the smaller half: a quorum and the rest
    bridge leader between followers
                                a split that one node is left out of: it keeps all of its edges, and so both
                                halves of the others reach it
    ring brokers                every edge between nodes that are not neighbours, in the order of their ids,
                                with the last beside the first: each sees some, and no two see the same

Edges of clients, and of nodes in no group, stay as they are. A node that two groups mean is in the first.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import combinations

from compose.protocols import Edge
from faults.errors import BadStep
from faults.targets.target import Target, TopicPartition, parse_target, with_partition

SHAPES = "split GROUP | GROUP, bridge ROLE between GROUP | GROUP, ring GROUP"
SMALLEST_RING = 4
"""In a smaller one all are neighbours."""

_SHAPE = re.compile(r"(?:split|bridge +(?P<bridge>.+?) +between|(?P<ring>ring)) +(?P<groups>.+)")

NodesOf = Callable[[Target], tuple[int, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Split:
    """Groups that do not reach each other, or one that is halved. Nodes of `bridge` are in none."""

    groups: tuple[Target, ...]
    bridge: Target | None = None

    def __str__(self) -> str:
        groups = " | ".join(map(str, self.groups))
        return f"split {groups}" if self.bridge is None else f"bridge {self.bridge} between {groups}"

    @property
    def targets(self) -> tuple[Target, ...]:
        """All that it names."""
        return self.groups if self.bridge is None else (self.bridge, *self.groups)

    def with_partition(self, default: TopicPartition | None) -> "Split":
        """The same, with `default` in every role of a partition that names none."""
        return Split(
            groups=tuple(with_partition(each, default) for each in self.groups),
            bridge=self.bridge and with_partition(self.bridge, default),
        )

    def pairs(self, nodes_of: NodesOf) -> Iterator[tuple[int, int]]:
        """The nodes that do not reach each other."""
        for one, other in combinations(self._parts(nodes_of), 2):
            yield from ((a, b) for a in one for b in other)

    def _parts(self, nodes_of: NodesOf) -> list[list[int]]:
        taken = set(nodes_of(self.bridge)) if self.bridge else set[int]()
        parts: list[list[int]] = []
        for group in self.groups:
            parts.append([node for node in nodes_of(group) if node not in taken])
            taken.update(parts[-1])
        return parts if len(parts) > 1 else _halves(parts[0])


def _halves(nodes: list[int]) -> list[list[int]]:
    middle = len(nodes) // 2
    return [sorted(nodes)[:middle], sorted(nodes)[middle:]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ring:
    """Nodes that reach only the two beside them."""

    of: Target

    def __str__(self) -> str:
        return f"ring {self.of}"

    @property
    def targets(self) -> tuple[Target, ...]:
        """All that it names."""
        return (self.of,)

    def with_partition(self, default: TopicPartition | None) -> "Ring":
        """The same, with `default` in a role of a partition that names none."""
        return Ring(of=with_partition(self.of, default))

    def pairs(self, nodes_of: NodesOf) -> Iterator[tuple[int, int]]:
        """The nodes that do not reach each other."""
        nodes = sorted(nodes_of(self.of))
        for one, other in combinations(range(len(nodes)), 2):
            if other - one not in (1, len(nodes) - 1):
                yield nodes[one], nodes[other]


Shape = Split | Ring


def parse_shape(text: str, field: str) -> Shape | None:
    """The shape that a text begins to name; None if it names none."""
    match = _SHAPE.fullmatch(text)
    if match is None:
        return None
    if match["ring"]:
        return Ring(of=parse_target(match["groups"], field))
    return Split(
        groups=tuple(parse_target(each.strip(), field) for each in match["groups"].split("|")),
        bridge=parse_target(match["bridge"], field) if match["bridge"] else None,
    )


def edges_of_shape(shape: Shape, nodes_of: NodesOf, mesh: Iterable[Edge]) -> frozenset[Edge]:
    """The edges of the mesh that it cuts, both ways, if these nodes are meant."""
    apart = {frozenset(map(str, pair)) for pair in shape.pairs(nodes_of)}
    return frozenset(edge for edge in mesh if frozenset((edge.source, str(edge.target))) in apart)


def possible_edges(shape: Shape, candidates_of: NodesOf, mesh: Iterable[Edge]) -> frozenset[Edge]:
    """Every edge that it may cut, whichever nodes hold its roles then."""
    if not any(target.moves for target in shape.targets):
        return edges_of_shape(shape, candidates_of, mesh)
    nodes = {str(node) for target in shape.targets for node in candidates_of(target)}
    return frozenset(edge for edge in mesh if edge.source in nodes and str(edge.target) in nodes)


def check_shape(shape: Shape, candidates_of: NodesOf, field: str) -> None:
    """BadStep if a ring has too few nodes to leave any out."""
    if isinstance(shape, Ring) and len(candidates_of(shape.of)) < SMALLEST_RING:
        allowed = f"a ring of at least {SMALLEST_RING} nodes: in a smaller one all are neighbours"
        raise BadStep(field, str(shape), allowed)
