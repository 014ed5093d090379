"""The controllers' wall clock on the history's clock, and how far that may be wrong.

Invariant: a record of the metadata log was written within `slack_ns` of `at(its CreateTime)`.
A controller's own clock that a fault had set is none of its business: the history is loaded without that.
Evidence: the clocks table, readings of both clocks taken all along the run. The nearest reading places a
time; the greatest step between neighbouring readings, half the time that a reading took, and the millisecond
of a CreateTime are the slack.
Counterexample to "one reading is enough":
    read at 0 s; NTP sets the wall clock back by 2 s at 30 s
    an election at 40 s would be placed at 38 s, before the kill that caused it
"""

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from checkers.history.rows import ClockPair
from checkers.history.tables import NONE

MILLISECOND_NS = 1_000_000
FEWEST = 2
"""One reading alone does not show whether the clocks run together."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WallClock:
    """Readings of the history's clock and the nodes' wall clock, by wall clock, in ns."""

    walls_ns: Sequence[int]
    at_ns: Sequence[int]
    slack_ns: int

    def at(self, wall_ms: int) -> int:
        """A wall-clock time in milliseconds as nanoseconds of the history's clock."""
        wall_ns = wall_ms * MILLISECOND_NS
        after = bisect_left(self.walls_ns, wall_ns)
        near = [place for place in (after - 1, after) if 0 <= place < len(self.walls_ns)]
        nearest = min(near, key=lambda place: abs(self.walls_ns[place] - wall_ns))
        return self.at_ns[nearest] + wall_ns - self.walls_ns[nearest]


def wall_clock(pairs: Sequence[ClockPair]) -> WallClock | None:
    """The clock of the nodes: the engine's where it was read, else the harness's. None: too few readings."""
    of_engine = [pair for pair in pairs if pair.engine_ns != NONE]
    taken = sorted(of_engine or pairs, key=lambda pair: pair.at_ns)
    if len(taken) < FEWEST:
        return None
    walls = [pair.engine_ns if of_engine else pair.wall_ns for pair in taken]
    lags = [pair.at_ns - wall for pair, wall in zip(taken, walls, strict=True)]
    drift = max(abs(later - sooner) for sooner, later in pairwise(lags))
    placed = sorted(zip(walls, (pair.at_ns for pair in taken), strict=True))
    return WallClock(
        walls_ns=[wall for wall, _ in placed],
        at_ns=[at_ns for _, at_ns in placed],
        slack_ns=drift + max(pair.error_ns for pair in taken) + MILLISECOND_NS,
    )
