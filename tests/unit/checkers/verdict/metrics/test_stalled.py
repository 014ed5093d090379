"""How long a high watermark stood still below what all in sync had, from samples of different instants."""

from dataclasses import replace

import pytest
from fakes.history.judged_run import led, log_end, ns, sampled, world

from checkers.history.metadata_log.settings import MIN_ISR
from checkers.history.rows import ConfigChange
from checkers.verdict.metrics.metric import Measured
from checkers.verdict.metrics.stalled import longest_stall

MADE = replace(led(0, 1, 5, (1, 2, 3)), log_offset=10)
PAIR = (1, 2)
BEYOND = [log_end(1.2, 1, 172), log_end(1.4, 2, 172)]
"""Both have 72 more than the high watermark of 100."""


def wanted(least, *, offset=-1, kind="reported") -> ConfigChange:
    """So many have to be in sync."""
    return ConfigChange(
        at_ms=-1, log_offset=offset, kind=kind, name="orders", key=MIN_ISR, value=least and str(least)
    )


def stall(samples, ends, *configs) -> Measured:
    """In a run where two have to be, if nothing else is said."""
    return longest_stall(world(MADE, *samples, *ends, *(configs or [wanted(2)])).context)


def stands(*seconds, isr=PAIR, **more):
    """Samples of the same high watermark."""
    return [sampled(second, 100, isr=isr, **more) for second in seconds]


def test_it_counts_from_when_the_last_one_in_sync_had_reported_more() -> None:
    samples = [*stands(1, 2, 5, 9), sampled(9.5, 172, isr=PAIR)]
    assert stall(samples, BEYOND) == Measured(value=7.6, where="orders-0")


def test_a_sample_counts_until_it_was_asked_for() -> None:
    late = replace(sampled(9, 100, isr=PAIR), asked_ns=ns(6))
    assert stall([*stands(1, 2), late], BEYOND) == Measured(value=4.6, where="orders-0")


def test_a_high_watermark_that_waits_for_one_in_sync_does_not_stall() -> None:
    short = [*BEYOND, log_end(1.3, 3, 100)]
    assert stall(stands(1, 9, isr=(1, 2, 3)), short) == Measured(value=0.0)
    assert stall(stands(1, 9, isr=(1, 2, 3)), BEYOND) == Measured(value=0.0)


def test_from_when_that_one_is_out_of_sync_it_does() -> None:
    samples = [*stands(1, 4, isr=(1, 2, 3)), *stands(5, 8)]
    assert stall(samples, BEYOND) == Measured(value=3.0, where="orders-0")


def test_each_rise_begins_anew() -> None:
    ends = [*BEYOND, log_end(5, 1, 300), log_end(5.5, 2, 300)]
    samples = [*stands(1, 3), *(sampled(second, 200, isr=PAIR) for second in (4, 6, 6.5))]
    assert stall(samples, ends) == Measured(value=1.6, where="orders-0")


@pytest.mark.parametrize(
    "other",
    [
        log_end(1.2, 2, 172, epoch=4),
        log_end(1.2, 2, 172, source="disk-down"),
        replace(log_end(1.2, 2, 172), partition=1),
        log_end(1.2, 2, -1),
    ],
    ids=["of the epoch before, which it may cut", "from a disk", "of another partition", "not known"],
)
def test_what_else_was_reported_shows_nothing(other) -> None:
    assert stall(stands(1, 9), [BEYOND[0], other]) == Measured(value=0.0)


def test_leaders_and_epochs_are_apart_and_the_partition_with_the_longest_is_named() -> None:
    samples = [
        *stands(1, 3),
        *(sampled(second, 100, leader=2, epoch=6, isr=PAIR) for second in (4, 9)),
        *(replace(sampled(second, 100, isr=PAIR), partition=1) for second in (1, 5)),
    ]
    ends = [*BEYOND, *(replace(each, partition=1) for each in BEYOND)]
    assert stall(sorted(samples, key=lambda each: each.at_ns), ends) == Measured(value=3.6, where="orders-1")


def test_it_has_to_stand_while_too_few_are_in_sync() -> None:
    assert stall(stands(1, 9), BEYOND, wanted(3)) == Measured(value=0.0)
    assert stall(stands(1, 9), BEYOND, wanted(9)) == Measured(value=0.0)
    assert stall(stands(1, 9, isr=(1, 2, 3)), [*BEYOND, log_end(1, 3, 172)], wanted(9)).value == 7.6


def test_the_strictest_value_that_a_topic_ever_had_counts() -> None:
    later = wanted(3, offset=20, kind="topic")
    assert stall(stands(1, 9), BEYOND, wanted(2), later) == Measured(value=0.0)
    assert stall(stands(1, 9), BEYOND, wanted(2), replace(later, log_offset=5)) == Measured(value=0.0)
    before = [wanted(3, offset=5, kind="topic"), wanted(2, offset=6, kind="topic")]
    assert stall(stands(1, 9), BEYOND, *before).value == 7.6


def test_where_nobody_knows_how_many_have_to_be_in_sync_it_is_not_known() -> None:
    unknown = Measured(value=None, unknown="min.insync.replicas of topic orders")
    assert stall(stands(1, 9), BEYOND, wanted(2), wanted(4, offset=20, kind="broker")) == unknown
    removed = replace(wanted("", offset=20, kind="topic"), removed=True)
    assert stall(stands(1, 9), BEYOND, wanted(2), removed) == unknown


def test_without_a_sample_that_names_who_is_in_sync_it_is_not_known() -> None:
    unknown = Measured(value=None, unknown="no leader was sampled with its in-sync replicas")
    assert stall([], BEYOND) == unknown
    assert stall([*stands(1, 9, isr=()), *stands(2, 8, leader=-1)], BEYOND) == unknown
