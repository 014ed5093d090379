"""Wall-clock times on the history's clock: by the nearest reading, with what that may be wrong by."""

import pytest

from checkers.history.clocks.clock_pairs import ClockPairs, Placed
from checkers.history.rows import ClockPair

S, MS = 1_000_000_000, 1_000_000
WALL = 5_000


def pairs(*seconds: float, steps=(), error_ms: float = 5) -> list[ClockPair]:
    """Readings at these seconds; the engine's clock began at 5,000 s and was set by each step (when, by)."""

    def engine(second: float) -> float:
        return WALL + second + sum(by for when, by in steps if second >= when)

    return [
        ClockPair(at_ns=int(s * S), wall_ns=0, engine_ns=int(engine(s) * S), error_ns=int(error_ms * MS))
        for s in seconds
    ]


STEADY = pairs(*range(0, 61, 2))
BACK = pairs(*range(0, 61, 2), steps=[(31, -2.0)])
FORTH = pairs(*range(0, 61, 2), steps=[(31, 10.0)])


def wall_ms(second: float) -> int:
    return round((WALL + second) * 1000)


def test_a_steady_clock_is_off_by_the_readings_error_only() -> None:
    assert ClockPairs(STEADY).place(wall_ms(13.5)) == Placed(at_ns=int(13.5 * S), slack_ns=6 * MS)
    assert ClockPairs(STEADY).drift_ns == 10 * MS


def test_a_time_after_a_step_is_placed_by_the_readings_after_it() -> None:
    """An election at 40 s, stamped 38 s by a clock that was set back, is not before what came at 39 s."""
    assert ClockPairs(BACK).place(wall_ms(38)) == Placed(at_ns=40 * S, slack_ns=6 * MS)
    assert ClockPairs(FORTH).place(wall_ms(60)) == Placed(at_ns=50 * S, slack_ns=6 * MS)
    assert ClockPairs(BACK).drift_ns == 2 * S + 10 * MS


@pytest.mark.parametrize("second", [29.2, 30.5])
def test_a_time_that_the_clock_passed_twice_may_be_either(second: float) -> None:
    """The clock showed it at `second`, was set back by 2 s at 31 s, and showed it again 2 s later."""
    placed = ClockPairs(BACK).place(wall_ms(second))
    assert placed.at_ns in (round(second * S), round((second + 2) * S))
    assert placed.slack_ns == 2 * S + 6 * MS


def test_a_time_just_before_a_step_between_two_readings_is_off_by_the_step() -> None:
    assert ClockPairs(FORTH).place(wall_ms(30.5)) == Placed(at_ns=int(30.5 * S), slack_ns=10 * S + 6 * MS)


def test_a_time_well_before_a_step_is_not_concerned() -> None:
    for readings in (BACK, FORTH):
        assert ClockPairs(readings).place(wall_ms(20)) == Placed(at_ns=20 * S, slack_ns=6 * MS)


def test_one_reading_places_a_time_and_does_not_say_how_well() -> None:
    assert ClockPairs(pairs(10)).place(wall_ms(12)) == Placed(at_ns=12 * S, slack_ns=-1)
    assert ClockPairs(pairs(10)).drift_ns == -1


def test_a_time_long_after_the_last_reading_has_no_known_slack() -> None:
    assert ClockPairs(STEADY).place(wall_ms(61)) == Placed(at_ns=61 * S, slack_ns=16 * MS)
    assert ClockPairs(STEADY).place(wall_ms(90)) == Placed(at_ns=90 * S, slack_ns=-1)
    assert ClockPairs(STEADY).place(wall_ms(-90)) == Placed(at_ns=-90 * S, slack_ns=-1)


def test_the_engines_clock_is_taken_where_it_answered_and_the_harnesss_where_it_never_did() -> None:
    silent = [ClockPair(at_ns=s * S, wall_ns=(700 + s) * S, engine_ns=-1) for s in (1, 3, 5)]
    assert ClockPairs([*STEADY, *silent]).place(wall_ms(3)).at_ns == 3 * S
    assert ClockPairs(silent).place(704_000) == Placed(at_ns=4 * S, slack_ns=1 * MS)


def test_the_order_of_the_readings_does_not_matter() -> None:
    assert ClockPairs(BACK[::-1]).place(wall_ms(38)) == Placed(at_ns=40 * S, slack_ns=6 * MS)
