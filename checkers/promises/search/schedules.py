"""Every schedule of a few faults, the shortest first: what a search goes through, always in the same order.

A fault hits one node: the power loss of three brokers is three faults. A node may first fall behind, or be
cut off, and then end; it does neither twice. Nodes are named in the order in which they are hit, since the
replicas of three partitions make the brokers alike. All faults end together, long after the controllers have
missed whom they can.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise, product

from checkers.model.case import (
    BROKERS,
    CONTROLLERS,
    Action,
    CleanStop,
    DiskWipe,
    Kill,
    Partition,
    PowerLoss,
)

MOST_FAULTS = 4
FIRST_S = 4.0
SOON_S = 2.0
"""Before a follower that does not fetch has left the ISR."""
AFTER_S = 2.0
"""How long after the controllers and the leaders must have missed a node another fault comes."""
HELD_S = 8.0
"""How much longer than that everything is held at the end."""
SHORTEST_HOLD_S = 1.0


class Kind(StrEnum):
    """What one fault does to one broker. Of what ends it, the milder comes first."""

    POWER_LOSS = "loses its power"
    KILL = "is killed"
    STOP = "is stopped cleanly"
    DISK_LOSS = "loses its disk"
    BEHIND = "fetches from no other broker"
    ALONE = "serves no other broker"
    DEPOSED = "reaches neither controllers nor brokers"


CUTS = frozenset({Kind.BEHIND, Kind.ALONE, Kind.DEPOSED})


@dataclass(frozen=True, slots=True, kw_only=True)
class Timed:
    """A fault: after `after_s` from the one before."""

    kind: Kind
    node: int
    after_s: float = 0.0


Schedule = tuple[Timed, ...]
"""Faults in the order in which they begin; the first one begins at FIRST_S."""


def schedules(length: int, fail_over_s: float, kinds: Sequence[Kind] = tuple(Kind)) -> Iterator[Schedule]:
    """All schedules of so many faults of these kinds. `fail_over_s`: after how long a broker that is gone is
    missed.
    """
    later_s = fail_over_s + AFTER_S
    gaps = (0.0, SOON_S, later_s) if length <= 2 else (0.0, later_s)
    for nodes in _orders(length):
        for each in product(kinds, repeat=length):
            if _possible(nodes, each):
                for after in product(gaps, repeat=length - 1):
                    timed = zip(each, nodes, (0.0, *after), strict=True)
                    found = tuple(Timed(kind=kind, node=node, after_s=gap) for kind, node, gap in timed)
                    if _in_order(found):
                        yield found


def _orders(length: int) -> Iterator[tuple[int, ...]]:
    """Which node each fault hits: a node that was not hit before is the first of those left."""
    for nodes in product(BROKERS, repeat=length):
        if all(node <= max(nodes[:place], default=0) + 1 for place, node in enumerate(nodes)):
            yield nodes


def _possible(nodes: Sequence[int], kinds: Sequence[Kind]) -> bool:
    """Whether each node is cut at most once, ends at most once, and is not cut when it has ended."""
    for node in set(nodes):
        its = [kind for at, kind in zip(nodes, kinds, strict=True) if at == node]
        if [kind in CUTS for kind in its] not in ([True], [False], [True, False]):
            return False
    return True


def _in_order(faults: Schedule) -> bool:
    """Faults of one instant have no order: they are given by their kinds, and then by their nodes."""
    kinds = list(Kind)
    return all(
        later.after_s > 0 or (kinds.index(earlier.kind), earlier.node) < (kinds.index(later.kind), later.node)
        for earlier, later in pairwise(faults)
    )


def actions(faults: Schedule, fail_over_s: float) -> tuple[Action, ...]:
    """The schedule for the model; ends of one kind at one instant are one action."""
    begins = begins_s(faults)
    ends_s = begins[-1] + fail_over_s + HELD_S
    found: list[Action] = []
    for (kind, at_s), nodes in at_once(faults):
        found.append(_action(kind, at_s, ends_s - at_s, nodes))
    return tuple(found)


def begins_s(faults: Schedule) -> list[float]:
    """When each fault begins, in seconds."""
    at_s, found = FIRST_S, []
    for fault in faults:
        at_s = round(at_s + fault.after_s, 3)
        found.append(at_s)
    return found


def at_once(faults: Schedule) -> list[tuple[tuple[Kind, float], tuple[int, ...]]]:
    """(kind, begin) and the nodes of faults that are one step: those of one kind at one instant."""
    steps: dict[tuple[Kind, float], tuple[int, ...]] = {}
    for fault, at_s in zip(faults, begins_s(faults), strict=True):
        key = fault.kind, at_s
        steps[key] = (*steps.get(key, ()), fault.node)
    return list(steps.items())


def _action(kind: Kind, at_s: float, hold_s: float, nodes: tuple[int, ...]) -> Action:
    match kind:
        case Kind.POWER_LOSS:
            return PowerLoss(at_s=at_s, hold_s=hold_s, nodes=nodes)
        case Kind.KILL:
            return Kill(at_s=at_s, hold_s=hold_s, nodes=nodes)
        case Kind.STOP:
            return CleanStop(at_s=at_s, hold_s=hold_s, nodes=nodes)
        case Kind.DISK_LOSS:
            return DiskWipe(at_s=at_s, hold_s=hold_s, nodes=nodes)
        case _:
            return Partition(at_s=at_s, hold_s=hold_s, edges=_edges(kind, nodes), refuse=True)


def _edges(kind: Kind, nodes: Sequence[int]) -> tuple[str, ...]:
    found: list[str] = []
    for node in nodes:
        others = [one for one in BROKERS if one != node]
        if kind is not Kind.ALONE:
            found += [f"{node}->{one}" for one in others]
        if kind is not Kind.BEHIND:
            found += [f"{one}->{node}" for one in others]
        if kind is Kind.DEPOSED:
            found += [f"{node}->{one}" for one in CONTROLLERS]
    return tuple(dict.fromkeys(found))


def in_words(faults: Schedule) -> str:
    """ "broker 3 fetches from no other broker; 6.5 s later broker 2 is killed"."""
    words, before_s = [], FIRST_S
    for (kind, at_s), nodes in at_once(faults):
        several = len(nodes) > 1
        who = f"brokers {' and '.join(map(str, nodes))}" if several else f"broker {nodes[0]}"
        gap = f"{at_s - before_s:g} s later " if at_s > before_s else ""
        words.append(f"{gap}{who} {_of_several(kind) if several else kind}")
        before_s = at_s
    return "; ".join(words)


def _of_several(kind: Kind) -> str:
    first, _, rest = str(kind).partition(" ")
    plural = {"loses": "lose", "is": "are", "fetches": "fetch", "serves": "serve", "reaches": "reach"}
    return f"{plural[first]} {rest}".replace("its power", "their power").replace("its disk", "their disks")
