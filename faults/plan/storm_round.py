"""One round of a storm: faults that overlap, on a few nodes. Which of them can be in force together?

Each fault of a round needs evidence of its own, so it must find what it takes away: a partition is proven on
an edge that is open, and a pause on a process that runs. And a change takes processor time from all others: a
fault is on time if nothing else is injected or healed just before it.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from compose.protocols import CLIENT, Edge
from faults.kinds.fault.step import EdgesStep, Step
from faults.kinds.registry import kind_of
from faults.targets.edges import Arrow, EdgeSet, end_names, joins
from faults.targets.facts import Facts
from faults.targets.shapes import possible_edges
from faults.targets.target import Target, candidates

RECOVERY_S = 6.0
"""Within which a fault has recovered that ends no process: the ISR was full again after 0 to 4 s."""

RESTART_S = 14.0
"""As well, of one that ends processes: 3 to 6.4 s, once 13 s."""

PROOF_S = 2.0
"""Between two begins: in it the first is proven, by 0.75 s of stillness, and probes on a busy machine. What
takes longer to prepare takes as much longer to prove: it is timed as often."""

CHANGE_S, START_S = 1.0, 2.0
"""What a change may take, and the start of a node's process: nothing begins so soon after an end."""

EARLY_S = 0.5
"""An end may be so much later than planned, since the hold counts from when the injection is done."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Planned:
    """A step against `victim`, with the times that it has if the first step of its round begins at 0."""

    step: Step
    victim: Target
    begin_s: float

    @property
    def end_s(self) -> float:
        """When its hold is over."""
        return self.begin_s + self.step.hold_s

    @property
    def over_s(self) -> float:
        """When it has recovered at the latest, as far as is known before."""
        return self.end_s + (RESTART_S if kind_of(self.step).cost.ends_process else RECOVERY_S)

    @property
    def change_s(self) -> float:
        """How long its end changes the cluster."""
        return START_S if kind_of(self.step).cost.ends_process else CHANGE_S


def with_another(faults: Sequence[Planned], fault: Planned) -> list[Planned]:
    """The faults and this one, in order of their begins."""
    return sorted([*faults, fault], key=lambda each: each.begin_s)


def fits_among(fault: Planned, faults: Sequence[Planned], facts: Facts) -> bool:
    """Whether faults that make a round still do with this one: all overlap, are on time and can be proven.

    Of two of them, and of one and those before it, nothing is asked that the fault has no part in.
    """
    if not all(_are_apart(fault, other) for other in faults):
        return False
    together = with_another(faults, fault)
    if len(together) > 1 and _begins_late(together[0]):
        return False
    first = next(index for index, each in enumerate(together) if each is fault)
    return all(
        _overlaps(together[index], together[:index])
        and _can_be_proven(together[index], together[:index], facts)
        for index in range(first, len(together))
    )


def _begins_late(fault: Planned) -> bool:
    """A stop begins when the process has ended: the others of a round cannot be planned by it."""
    kind = kind_of(fault.step)
    return kind.cost.ends_process and not kind.cost.unclean


def _are_apart(one: Planned, other: Planned) -> bool:
    """Whether neither begins while the other is changed, and both do not end at one time."""
    first, second = (one, other) if one.begin_s <= other.begin_s else (other, one)
    return (
        second.begin_s - first.begin_s >= PROOF_S + kind_of(first.step).prepares_s
        and not _disturbs(one, other)
        and not _disturbs(other, one)
        and abs(one.end_s - other.end_s) >= max(one.change_s, other.change_s)
    )


def _disturbs(ending: Planned, beginning: Planned) -> bool:
    """Whether the one ends while the other is prepared or begins, or begins to be undone then."""
    after_s = max(ending.change_s, kind_of(beginning.step).prepares_s)
    return ending.end_s - EARLY_S < beginning.begin_s < ending.end_s + after_s


def _overlaps(fault: Planned, earlier: Sequence[Planned]) -> bool:
    return not earlier or any(fault.begin_s < each.end_s for each in earlier)


def _can_be_proven(fault: Planned, earlier: Sequence[Planned], facts: Facts) -> bool:
    """Whether what the fault takes away is there when it begins, whatever nodes hold the roles."""
    others = [each.step for each in earlier if fault.begin_s < each.over_s]
    silent = {node for each in others for node in _silenced(each, facts)}
    shut = {edge for each in others for edge in _shut(each, facts)}
    if isinstance(fault.step, EdgesStep):
        edges = edges_of(fault.step.edges, facts)
        slow = {edge for each in others for edge in _slowed(each, facts)}
        clashing = shut | slow if _leaves_open(fault.step) else shut
        ends = {edge.target for edge in edges} | {int(edge.source) for edge in edges if edge.source != CLIENT}
        return edges.isdisjoint(clashing) and ends.isdisjoint(silent)
    nodes = _nodes_of(fault.step, facts)
    if not nodes.isdisjoint(silent):
        return False
    rule, brokers = kind_of(fault.step).storm, set(facts.brokers)
    if rule is None or not rule.needs_peers:
        return True
    peers_away = not silent.isdisjoint(brokers) or any(edge.target in brokers for edge in shut)
    return not peers_away and not any(edge.source == str(node) for edge in shut for node in nodes)


def _leaves_open(step: Step) -> bool:
    rule = kind_of(step).storm
    return rule is not None and rule.leaves_open


def _silenced(step: Step, facts: Facts) -> frozenset[int]:
    """The nodes that may not answer because of the step."""
    return frozenset() if isinstance(step, EdgesStep) else _nodes_of(step, facts)


def _shut(step: Step, facts: Facts) -> frozenset[Edge]:
    """The edges that may pass nothing because of the step."""
    if isinstance(step, EdgesStep) and not _leaves_open(step):
        return edges_of(step.edges, facts)
    return frozenset()


def _slowed(step: Step, facts: Facts) -> frozenset[Edge]:
    """The edges whose answers may be late because of the step."""
    if isinstance(step, EdgesStep) and _leaves_open(step):
        return edges_of(step.edges, facts)
    return frozenset()


def _nodes_of(step: Step, facts: Facts) -> frozenset[int]:
    return frozenset(step.candidates(facts.brokers, facts.controllers))


@lru_cache(maxsize=1024)
def edges_of(edges: EdgeSet, facts: Facts) -> frozenset[Edge]:
    """Every edge that may be meant, whichever nodes hold the roles."""
    of_arrows = (edge for arrow in edges.arrows for edge in _of_arrow(arrow, facts))
    of_shapes = (possible_edges(shape, facts.candidates, facts.edges) for shape in edges.shapes)
    return frozenset(of_arrows).union(*of_shapes)


def _of_arrow(arrow: Arrow, facts: Facts) -> Iterator[Edge]:
    left, right = (
        end_names(end, candidates(end, facts.brokers, facts.controllers)) for end in (arrow.left, arrow.right)
    )
    return (edge for edge in facts.edges if joins(arrow, edge, left, right))
