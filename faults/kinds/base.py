"""What every fault offers, and what it is given: one object for each injection.

The scheduler calls `prepare` and the looks (`effect`, `recovery`) on threads that only look, one call at a
time for each fault, and `inject` and `heal` on the one thread that changes the cluster.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Protocol, TypeVar

from compose.errors import ComposeError
from compose.protocols import Cluster, CutMode, Edge, Status, View
from faults.clock import Clock
from faults.errors import NoTarget
from faults.kinds.evidence import Finding, Key, Snapshot
from faults.kinds.node_holds import Holds

Value = TypeVar("Value")


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """Where a fault strikes: what the roles of its step meant at the moment of injection.

    `owner` names the fault as the holder of cuts and nodes. `before` is from about a second earlier, `now`
    from just before the injection; `isr` is what was in sync then, by topic and partition.
    """

    cluster: Cluster
    view: View
    clock: Clock
    holds: Holds
    owner: str
    nodes: tuple[int, ...]
    edges: tuple[Edge, ...]
    mode: CutMode
    before: Snapshot
    now: Snapshot
    isr: Mapping[tuple[str, int], tuple[int, ...]]


@dataclass(slots=True)
class Toll:
    """What a fault did that the contract must know: nodes whose unsynced pages were dropped, nodes that died.

    `unclean`: the node did not shut down by itself.
    """

    data_lost: set[int] = field(default_factory=set)
    unclean: set[int] = field(default_factory=set)


class Fault(Protocol):
    """One injection: inject, evidence of its effect, heal, evidence of the recovery."""

    @property
    def toll(self) -> Toll:
        """What it has cost so far."""

    def prepare(self) -> None:
        """Look at what the injection needs to know. NoTarget if there is nothing to hit."""

    def inject(self) -> None:
        """Change the cluster. ComposeError if it could not be done, in part or at all: heal then."""

    def effect(self) -> Finding:
        """One short look: did it bite?"""

    def heal(self) -> None:
        """Undo. May be called again, also after an injection that failed. ComposeError: try again."""

    def recovery(self) -> Finding:
        """One short look: is it gone, and is what it had taken away there again?"""


def alive(site: Site, *, what: str, fit: tuple[Status, ...] = ("running",)) -> tuple[int, ...]:
    """Those of the site's nodes that this can be done to; NoTarget if there are none."""
    states = {node: site.cluster.state(node).status for node in site.nodes}
    found = tuple(node for node, status in states.items() if status in fit)
    if not found:
        raise NoTarget(f"nothing to {what}: {', '.join(f'node {node} is {states[node]}' for node in states)}")
    return found


def seconds(nanoseconds: int) -> float:
    """For evidence: nanoseconds as seconds, to the millisecond."""
    return round(nanoseconds / 1e9, 3)


def by_name(values: Mapping[Key, Value]) -> dict[str, Value]:
    """For evidence: a mapping under keys that JSON can carry."""
    return {str(key): value for key, value in values.items()}


def try_all(actions: Iterable[Callable[[], object]]) -> None:
    """Do each, also if an earlier one fails; then raise what failed first."""
    failed: list[ComposeError] = []
    for action in actions:
        try:
            action()
        except ComposeError as error:
            failed.append(error)
    if failed:
        raise failed[0]
