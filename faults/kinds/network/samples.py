"""How often what passes over edges is timed, before a fault and while it holds, and what that says."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Generic, TypeVar

from compose.protocols import Edge, Timed
from faults.clock import Clock, ns
from faults.kinds.fault.evidence import NotYet

TimedT = TypeVar("TimedT", bound=Timed)

SAMPLES = 2
"""Before and during: what an edge adds to one alone may be much by chance."""
MOST_SAMPLES, MOST_S = 6, 1.0
"""On a busy machine it may be much in two, and hide the fault if they were before it: then more are taken, so
many in all, if they begin so soon after the first."""
PREPARES_S = 2.5
"""What two to six of them take on a busy machine, after a probe of what answers at all: 0.2 to 0.6 s each."""


def least_added_before(
    take: Callable[[], Mapping[Edge, TimedT]],
    enough: Callable[[Sequence[TimedT]], bool],
    clock: Clock,
    due_ns: int = -1,
) -> Mapping[Edge, TimedT]:
    """Of SAMPLES the one to which each edge has added least, by edge that has answered, in order.

    More are taken until those of each edge, by what it has added, are `enough`. None after the first is begun
    that would end after `due_ns` if it took as long as the one before it: an edge seems to have added more
    then, and the fault has to show more.
    """
    until_ns = clock.now_ns() + ns(MOST_S)
    found: list[Mapping[Edge, TimedT]] = []
    while True:
        began_ns = clock.now_ns()
        found.append(take())
        now_ns = clock.now_ns()
        if 0 <= due_ns < 2 * now_ns - began_ns:
            break
        if len(found) >= SAMPLES and (
            len(found) == MOST_SAMPLES or now_ns >= until_ns or all(map(enough, by_edge(found).values()))
        ):
            break
    return {edge: its[0] for edge, its in sorted(by_edge(found).items())}


def by_edge(samples: Sequence[Mapping[Edge, TimedT]]) -> dict[Edge, list[TimedT]]:
    """The samples of each edge, the one first to which it has added least."""
    found: dict[Edge, list[TimedT]] = {}
    for sample in samples:
        for edge, timed in sample.items():
            found.setdefault(edge, []).append(timed)
    return {edge: sorted(its, key=attrgetter("added_s")) for edge, its in found.items()}


@dataclass(slots=True)
class Shown(Generic[TimedT]):
    """What is shown by `needed` samples in a row, of each edge for itself, whatever the others show.

    `what` is timed; `latest`: by edge, the newest of its row.
    """

    what: str
    needed: int = SAMPLES
    latest: dict[Edge, TimedT] = field(default_factory=dict)
    _rows: dict[Edge, list[int]] = field(default_factory=dict)

    def lacks(
        self,
        before: Mapping[Edge, TimedT],
        measure: Callable[[tuple[Edge, ...]], Mapping[Edge, TimedT]],
        shows: Callable[[Edge, TimedT], bool],
        clock: Clock,
    ) -> NotYet | None:
        """Measure the edges without a whole row once more: what is there instead, or None if none is left.

        The row of an edge that does not show it, or does not answer, begins anew.
        """
        began_ns = clock.now_ns()
        asked = self._without_row(before)
        sample = measure(asked)
        others: list[Edge] = []
        for edge in asked:
            if edge in sample and shows(edge, sample[edge]):
                self.latest[edge] = sample[edge]
                self._rows.setdefault(edge, []).append(began_ns)
            else:
                self._rows.pop(edge, None)
                others.append(edge)
        if others:
            return NotYet(instead=_compared(self.what, others[0], sample.get(others[0]), before[others[0]]))
        if left := self._without_row(before):
            return NotYet(instead=f"{self.what} through {left[0]} shows it once, not {self.needed} times")
        return None

    def _without_row(self, edges: Iterable[Edge]) -> tuple[Edge, ...]:
        return tuple(edge for edge in edges if len(self._rows.get(edge, ())) < self.needed)

    @property
    def since_ns(self) -> int:
        """Since when all rows go on."""
        return max(row[0] for row in self._rows.values())


def _compared(what: str, edge: Edge, now: Timed | None, before: Timed) -> str:
    """How long `what` takes over the edge now, and took before, with what it takes past it."""
    shown = "is not answered in time" if now is None else f"takes {_shown(now)}"
    return f"{what} through {edge} {shown}, took {_shown(before)} before"


def _shown(timed: Timed) -> str:
    return f"{timed.took_s:.2f} s ({timed.direct_s:.2f} s past it)"
