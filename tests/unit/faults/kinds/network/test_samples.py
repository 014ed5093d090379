"""How often something is timed before a fault: twice, and more while that is not enough, within bounds."""

from collections.abc import Callable, Sequence

import pytest
from fakes.world.virtual_clock import VirtualClock

from faults.clock import ns
from faults.kinds.network.samples import samples_before


def numbered(clock: VirtualClock, takes_s: float) -> Callable[[], int]:
    """1, 2, 3, …, each of which takes so long."""
    taken: list[int] = []

    def take() -> int:
        clock.advance(ns(takes_s))
        taken.append(len(taken) + 1)
        return taken[-1]

    return take


@pytest.mark.parametrize(
    ("takes_s", "enough", "found"),
    [
        (0.01, lambda found: True, [1, 2]),
        (0.01, lambda found: len(found) >= 4, [1, 2, 3, 4]),
        (0.01, lambda found: False, [1, 2, 3, 4, 5, 6]),
        (0.15, lambda found: False, [1, 2, 3, 4, 5]),
        (0.5, lambda found: False, [1, 2, 3]),
    ],
)
def test_two_are_taken_and_more_until_they_are_enough_or_too_many_or_too_late(
    takes_s: float, enough: Callable[[Sequence[int]], bool], found: list[int]
) -> None:
    clock = VirtualClock()
    assert samples_before(numbered(clock, takes_s), enough, clock) == found
