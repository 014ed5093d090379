"""A bounded rate is kept on the average, in bursts, and never made up for in a flood."""

from workloads.pace import Pace

MS = 1_000_000


def sent_in(pace: Pace, begin_ms: int, end_ms: int, step_ms: int = 1) -> int:
    return sum(pace.due(at * MS, most=1000) for at in range(begin_ms, end_ms, step_ms))


def test_as_fast_as_it_goes_is_always_all_that_may_be_sent() -> None:
    pace = Pace(None, 0)
    assert [pace.due(0, most=7), pace.due(0, most=9)] == [7, 9]
    assert pace.wait_s(0) == 0.0


def test_a_rate_is_kept_on_the_average() -> None:
    assert sent_in(Pace(2000, 0), 0, 10_001) in range(19_990, 20_001)
    assert sent_in(Pace(3, 0), 0, 10_000) in range(29, 31)


def test_sends_come_in_bursts_ten_times_a_second() -> None:
    pace = Pace(1000, 0)
    assert [pace.due(at * MS, most=1000) for at in range(100, 301, 50)] == [100, 0, 100, 0, 100]


def test_the_bursts_of_producers_that_began_at_different_times_come_together() -> None:
    paces = [Pace(1000, begin * MS) for begin in (0, 37, 91)]
    bursts = [[at for at in range(100, 1000) if pace.due(at * MS, most=1000)] for pace in paces]
    assert [each[1:] for each in bursts] == [list(range(200, 1000, 100))] * 3


def test_after_an_outage_at_most_a_fifth_of_a_second_is_made_up_for() -> None:
    pace = Pace(1000, 0)
    sent_in(pace, 0, 1000)
    assert sent_in(pace, 60_000, 60_010) == 200


def test_a_rate_below_one_a_second_sends_at_all() -> None:
    assert sent_in(Pace(0.5, 0), 0, 20_000, step_ms=10) in (9, 10)


def test_the_wait_ends_when_the_next_burst_is_due() -> None:
    pace = Pace(1000, 0)
    pace.due(40 * MS, most=1000)
    assert pace.wait_s(63 * MS) == 0.037
    assert pace.wait_s(105 * MS) == 0.0
