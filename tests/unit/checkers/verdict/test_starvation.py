"""A bound on time that is missed while the machine starved is nobody's failure; otherwise it is Kafka's."""

import pytest

from checkers.history.columnar import columns_of
from checkers.history.rows import Pressure, TopicPartition
from checkers.verdict.exposure.gaps import Gap
from checkers.verdict.starvation import NAMES, Starvation, between, missed

S = 1_000_000_000
ORDERS = TopicPartition("orders", 0)


def row(second: float, *, span: float = 1.0, busy: float = 0.5, **counted: float) -> Pressure:
    """What one second counted, in seconds; -1: the kernel does not count it."""
    seconds = {"stall": 0.0, "steal": 0.0, "late": 0.0, "busy": busy} | counted
    ns = {f"{name}_ns": -1 if each == -1 else int(each * S) for name, each in seconds.items()}
    return Pressure(at_ns=int(second * S), span_ns=int(span * S), **ns)


def minute(**counted: float) -> list[Pressure]:
    """A minute of which every second counted the same."""
    return [row(second, **counted) for second in range(1, 61)]


def gap(begin: float, end: float) -> Gap:
    return Gap(tp=ORDERS, from_ns=int(begin * S), to_ns=int(end * S))


def under_5_s(value: float) -> bool:
    return value <= 5


def lost_s(pressure: list[Pressure], begin: float, end: float) -> float:
    return between(columns_of(pressure, NAMES), int(begin * S), int(end * S)).lost_ns / S


@pytest.mark.parametrize(
    ("counted", "by_the_cluster"),
    [
        ({"stall": 0.6}, False),
        ({"stall": 0.1}, True),
        ({}, True),
        ({"steal": 0.3}, False),
        ({"stall": 0.2, "steal": 0.2}, False),
        ({"late": 0.4}, False),
        ({"late": 0.1, "stall": 0.1}, True),
        ({"stall": -1, "busy": 0.95}, False),
        ({"stall": -1, "busy": 0.5}, True),
        ({"stall": -1, "busy": -1, "steal": -1}, False),
    ],
)
def test_6_7_s_against_5_s_are_the_clusters_only_if_the_machine_does_not_explain_1_7_s(
    counted: dict[str, float], by_the_cluster: bool
) -> None:
    found = missed([gap(10, 16.7)], under_5_s, minute(**counted))
    assert found is not None
    assert found.by_the_cluster is by_the_cluster


def test_the_figures_are_told() -> None:
    found = missed([gap(10, 16)], under_5_s, minute(stall=0.5, late=0.25))
    assert found is not None
    assert found.starvation.in_words == (
        "tasks waited for a processor for 3.00 s of that time (50%), a hypervisor took 0.00 s, "
        "the harness's own loops woke 1.50 s late"
    )


def test_a_bound_that_holds_is_not_missed() -> None:
    assert missed([gap(10, 14)], under_5_s, minute()) is None
    assert missed([], under_5_s, minute()) is None


def test_the_gap_that_the_machine_does_not_explain_decides_though_another_is_longer() -> None:
    pressure = [row(second, stall=0.9 if second <= 30 else 0.0) for second in range(1, 61)]
    found = missed([gap(10, 20), gap(40, 46)], under_5_s, pressure)
    assert found is not None
    assert (found.gap, found.by_the_cluster) == (gap(40, 46), True)


def test_stall_outside_of_the_gap_explains_nothing() -> None:
    pressure = [row(second, stall=1.0 if second < 10 or second > 18 else 0.0) for second in range(1, 61)]
    found = missed([gap(10, 16.7)], under_5_s, pressure)
    assert found is not None
    assert found.by_the_cluster


def test_time_without_a_row_may_all_be_lost() -> None:
    assert lost_s([], 10, 16) == 6
    assert lost_s([row(12), row(13)], 10, 16) == 4
    found = missed([gap(10, 16)], under_5_s, [])
    assert found is not None
    assert not found.by_the_cluster
    assert found.starvation.in_words == "whether the machine starved then was not recorded"


def test_a_row_in_part_inside_loses_no_more_than_that_part() -> None:
    assert lost_s([row(10.5, stall=0.3), row(11.5, stall=0.3)], 10, 11.5) == 0.6
    assert lost_s([row(20, span=20, stall=12.0)], 10, 12) == 2


def test_a_counter_that_lags_loses_nothing_of_what_it_counts_later() -> None:
    """Seen on a busy machine: 0.86 s in one second, 1.13 s in the one before."""
    assert lost_s([row(11, stall=0.75), row(12, stall=1.25), row(13)], 10, 13) == 2
    assert lost_s([row(11, stall=1.25), row(12, stall=1.25)], 10, 12) == 2


def test_what_is_counted_twice_is_lost_once() -> None:
    """A loop that wakes late has waited for a processor."""
    assert lost_s([row(11, stall=0.5, late=0.5)], 10, 11) == 0.5
    assert lost_s([row(11, stall=0.8, steal=0.8, late=0.9)], 10, 11) == 1.0


def test_a_row_of_a_loop_that_woke_after_3_s_covers_them() -> None:
    assert between(columns_of([row(13, span=3.1, stall=2.5, late=3.0)], NAMES), 10 * S, 13 * S) == Starvation(
        span_ns=3 * S, lost_ns=3 * S, stall_ns=int(2.5 * S), steal_ns=0, late_ns=3 * S, unknown_ns=0
    )
