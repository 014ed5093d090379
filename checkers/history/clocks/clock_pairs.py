"""Wall-clock times on the history's clock, by readings of both clocks all along a run.

Invariant: what happened at a wall-clock time happened within `slack_ns` of `at_ns` on the history's clock.
Evidence: the clocks table: every two seconds the history's clock, the harness's wall clock and the engine's,
which is that of the nodes, with half of the time that the question took. Between two readings the wall clock
may have been set; then a time between them has two places, and so has a time that it passed twice.
Counterexample to "one reading will do":
    read at 0 s; NTP sets the wall clock back by 2 s at 30 s
    an election at 40 s would be placed at 38 s, before the kill that caused it
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from checkers.history.columnar import columns_of
from checkers.history.rows import ClockPair
from checkers.history.tables import NONE

MILLISECOND_NS = 1_000_000
BEYOND_NS = 5_000_000_000
"""What is this far outside of the readings, or further, is placed by the nearest one with unknown slack."""
Times = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Placed:
    """A time on the history's clock; it may be off by `slack_ns` either way (-1: by nobody knows what)."""

    at_ns: int
    slack_ns: int


class ClockPairs:
    """The readings of one run, in any order; there is at least one."""

    def __init__(self, pairs: Sequence[ClockPair]) -> None:
        """By the engine's clock where that was read at all, else by the harness's wall clock."""
        columns = columns_of(pairs, ("at_ns", "wall_ns", "engine_ns", "error_ns"))
        answered = columns["engine_ns"] != NONE
        of_engine = bool(answered.any())
        taken = answered if of_engine else np.ones(len(pairs), bool)
        order = np.argsort(columns["at_ns"][taken], kind="stable")
        self._at: Times = columns["at_ns"][taken][order].astype(np.int64)
        self._wall: Times = columns["engine_ns" if of_engine else "wall_ns"][taken][order].astype(np.int64)
        self._error: Times = columns["error_ns"][taken][order].astype(np.int64)
        assert len(self._at), "clock pairs of a run without a reading"

    @property
    def drift_ns(self) -> int:
        """How far the clocks moved apart from one reading to the next at most, with both readings' errors.

        -1 where one reading shows nothing. It is 1 ms in 2 s where NTP slews a clock (500 ppm).
        """
        return int(self._apart().max()) if len(self._at) > 1 else NONE

    def place(self, wall_ms: int) -> Placed:
        """A wall-clock time by the reading that is nearest to it."""
        wall_ns = wall_ms * MILLISECOND_NS
        nearest = int(np.argmin(np.abs(self._wall - wall_ns)))
        at_ns = int(self._at[nearest] + wall_ns - self._wall[nearest])
        return Placed(at_ns=at_ns, slack_ns=self._slack(wall_ns, at_ns, nearest))

    def _slack(self, wall_ns: int, at_ns: int, nearest: int) -> int:
        """The greatest distance to any place that the time can have, and what the readings' errors add."""
        if len(self._at) < 2:
            return NONE
        places, errors = self._places(wall_ns)
        if len(places):
            return int(np.abs(places - at_ns).max()) + int(errors.max()) + MILLISECOND_NS
        outside = max(int(self._at[0]) - at_ns, at_ns - int(self._at[-1]))
        if outside >= BEYOND_NS:
            return NONE
        return self.drift_ns + int(self._error[nearest]) + MILLISECOND_NS

    def _places(self, wall_ns: int) -> tuple[Times, Times]:
        """Where between two readings the wall clock showed a time, counted from either; and their errors."""
        passed = np.diff(self._at)
        error = np.maximum(self._error[:-1], self._error[1:])
        lowest = np.minimum(self._wall[:-1], self._wall[1:] - passed) - error
        highest = np.maximum(self._wall[1:], self._wall[:-1] + passed) + error
        (held,) = np.nonzero((lowest <= wall_ns) & (wall_ns <= highest))
        both: Times = np.concatenate([held, held + 1])
        return self._at[both] + wall_ns - self._wall[both], self._error[both]

    def _apart(self) -> Times:
        """Of each reading but the first: how far the clocks moved apart since the one before."""
        moved: npt.NDArray[Any] = np.abs(np.diff(self._wall) - np.diff(self._at))
        return moved + self._error[1:] + self._error[:-1]
