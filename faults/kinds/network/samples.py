"""How often what passes over edges is timed: before a fault, and in a row while it holds."""

from collections.abc import Callable, Sequence
from typing import TypeVar

from faults.clock import Clock, ns

Timed = TypeVar("Timed")

SAMPLES = 2
"""Before and during: one alone may be long by chance."""
MOST_SAMPLES, MOST_S = 6, 0.4
"""On a busy machine two may be long, and hide the fault if they were before it: then more are taken, so many
in all, and for so long. A step is prepared 1.2 s ahead, and that includes more than this."""


def samples_before(
    take: Callable[[], Timed], enough: Callable[[Sequence[Timed]], bool], clock: Clock
) -> Sequence[Timed]:
    """SAMPLES, and more until they are `enough`, MOST_SAMPLES are taken, or MOST_S more have passed."""
    found = [take() for _ in range(SAMPLES)]
    until_ns = clock.now_ns() + ns(MOST_S)
    while len(found) < MOST_SAMPLES and not enough(found) and clock.now_ns() < until_ns:
        found.append(take())
    return found
