"""Whether one more run fits into what is left of a budget of time.

Invariant: the first run of a suite is made whatever it takes; a later one begins only if it is expected to
end within the budget. What it will take is what runs of its scenario have taken in this suite, else what its
own schedule says; so a suite may end some seconds late, and not a whole run.
"""

from collections.abc import Sequence
from dataclasses import dataclass

BEFORE_IT_IS_KNOWN_S = 25.0
"""What a run takes beyond its schedule, as long as no run of its scenario has shown it: a cluster start, most
of all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """Seconds in all, and those that were spent."""

    total_s: float
    spent_s: float

    def has_room(self, expected_s: float, *, is_first: bool) -> bool:
        """Whether a run that is expected to take so long may begin."""
        if is_first:
            return True
        return self.spent_s + expected_s <= self.total_s


def expected_s(took_s: Sequence[float], schedule_s: float) -> float:
    """What a run will take: the longest of those of its scenario so far, else its schedule and a start."""
    return max(took_s) if took_s else schedule_s + BEFORE_IT_IS_KNOWN_S
