"""The controllers' wall clock on the history's clock."""

from checkers.history.rows import ClockPair
from checkers.reference.control_plane.wall_clock import wall_clock

SECOND = 1_000_000_000


def pair(at_s, wall_s, engine_s=None, error_ns=0):
    engine_ns = -1 if engine_s is None else round(engine_s * SECOND)
    return ClockPair(
        at_ns=round(at_s * SECOND), wall_ns=round(wall_s * SECOND), engine_ns=engine_ns, error_ns=error_ns
    )


def test_a_time_is_placed_by_the_nearest_reading():
    """The wall clock is 100 s ahead, and 102 s after 20 s."""
    clock = wall_clock([pair(0, 100), pair(10, 110), pair(20, 122), pair(30, 132)])
    assert clock.at(101_000) == 1 * SECOND
    assert clock.at(115_000) == 15 * SECOND
    assert clock.at(131_000) == 29 * SECOND
    assert clock.at(140_500) == 38_500_000_000


def test_the_slack_is_step_and_error_and_a_millisecond():
    """The greatest step between neighbours is 2 s, the worst reading took 2 × 5 ms."""
    clock = wall_clock([pair(0, 100), pair(10, 110, error_ns=5_000_000), pair(20, 122), pair(30, 131.5)])
    assert clock.slack_ns == 2_006_000_000


def test_the_clock_of_the_engine_counts_where_it_was_read():
    """The nodes run on the engine's host, the harness may not."""
    clock = wall_clock([pair(0, 100, 200), pair(10, 110, 210), pair(20, 500)])
    assert clock.at(205_000) == 5 * SECOND
    assert clock.slack_ns == 1_000_000


def test_one_reading_is_not_enough():
    """It does not show whether the clocks run together."""
    assert wall_clock([pair(0, 100)]) is None
    assert wall_clock([]) is None
