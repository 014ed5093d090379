"""Readers are given nothing above the high watermark: counterexample and near misses.

Times are seconds. Broker 1 leads under epoch 0; broker 2 is elected at 9 s, epoch 1.
"""

from random import Random

import pytest
from fakes.history.control_plane import clocks, given, history, report, state

from checkers.history.rows import ClockPair
from checkers.reference.control_plane.early_read import early_read, read_limits
from checkers.reference.control_plane.rule_result import NOT_COLLECTED, RuleResult

STATES = [state(10, 1, (0, 0), (1, 2, 3), ms=0), state(11, 2, (1, 1), (2, 3), ms=9_000)]


def ruled(*rows, states=STATES, pairs=None, missing=()) -> RuleResult:
    """What the rule finds among the reads of `rows`."""
    made = history(*rows, list(states), clocks() if pairs is None else pairs, missing=missing)
    return early_read(made, made.reads, {read.tp for read in made.reads})


def found(result) -> tuple[list[tuple[int, int]], int, int]:
    """First and last offset of each anomaly, how many samples were examined, how many are undecided."""
    return (
        [(anomaly.offset, anomaly.last_offset) for anomaly in result.anomalies],
        result.examined,
        result.undecided,
    )


def sampled(asked_s, high_watermark, *, leader=1, epoch=0):
    """A sample that was answered after 0.1 s."""
    return report(asked_s + 0.1, leader, epoch, high_watermark=high_watermark, asked_s=asked_s)


def test_a_read_that_the_leader_had_not_exposed_when_it_was_asked_later_is_found():
    """Offset 41 was read at 5 s; at 5.2 s the leader is asked, and answers 40."""
    result = ruled(given(40, 4.9), given(41, 5), sampled(5.2, 40), sampled(5.5, 60))
    assert found(result) == ([(40, 41)], 2, 0)
    (anomaly,) = result.anomalies
    assert (anomaly.seen_ns, anomaly.completed_ns) == (5_000_000_000, 5_300_000_000)
    assert (anomaly.producer, anomaly.sequence) == (-1, -1)
    assert anomaly.note == "a reader had offset 41 when the leader of epoch 0 was asked, and it answered 40"


def test_a_read_just_below_the_high_watermark_is_right():
    """The high watermark is the offset behind the last one that readers may have."""
    assert found(ruled(given(41, 5), sampled(5.2, 42))) == ([], 1, 0)


def test_a_sample_that_was_asked_before_the_read_says_nothing():
    """Its answer came after the read, but it may have been measured before; also at just that time."""
    assert found(ruled(given(41, 5), sampled(4.95, 40))) == ([], 1, 0)
    assert found(ruled(given(41, 5), sampled(5, 40))) == ([], 1, 0)


def test_a_sample_of_which_nobody_knows_when_it_was_asked_says_nothing():
    """As in histories of schema 1.3 and before."""
    assert found(ruled(given(41, 5), report(5.2, 1, 0, high_watermark=40))) == ([], 0, 0)


def test_what_a_deposed_leader_answers_says_nothing_of_reads_after_its_epoch():
    """Broker 2 exposed offset 41 at 10 s; broker 1 does not know that yet, and answers 40 at 10.2 s."""
    assert found(ruled(given(41, 10), sampled(10.2, 40))) == ([], 1, 0)


def test_what_a_deposed_leader_answers_counts_for_reads_before_the_next_epoch():
    """Nobody but broker 1 could give out offset 41 at 5 s."""
    assert found(ruled(given(41, 5), sampled(10.2, 40))) == ([(40, 41)], 1, 0)


def test_the_slack_of_the_clocks_is_allowed_for():
    """Clocks that agree to half a second: at 8.6 s the next epoch may have begun."""
    pairs = clocks(error_ns=500_000_000)
    assert found(ruled(given(41, 8.6), sampled(10.2, 40), pairs=pairs)) == ([], 1, 0)
    assert found(ruled(given(41, 8.4), sampled(10.2, 40), pairs=pairs)) == ([(40, 41)], 1, 0)


def test_a_new_leader_may_not_answer_below_what_its_predecessor_exposed():
    """A new leader hides its high watermark until it has passed the start of its epoch."""
    result = ruled(given(41, 5), sampled(10, 40, leader=2, epoch=1))
    assert found(result) == ([(40, 41)], 1, 0)


def test_what_an_earlier_sample_had_exposed_was_read_rightly():
    """It was 42 at 4.5 s, so offset 41 was exposed; that it is 40 at 5.2 s is a fall, and another property.
    Of an unknown time of its question, a sample shows that, too."""
    assert found(ruled(given(41, 5), sampled(4.5, 42), sampled(5.2, 40))) == ([], 2, 0)
    assert found(ruled(given(41, 5), report(4.6, 1, 0, high_watermark=42), sampled(5.2, 40))) == ([], 1, 0)
    assert found(ruled(given(43, 5), sampled(4.5, 42), sampled(5.2, 40))) == ([(42, 43)], 2, 0)


def test_one_anomaly_for_a_run_of_samples_that_lie_below():
    """41 was read, and 40, 40, 41 are answered; then it is passed, and 50 is read before 45 is answered."""
    below = [sampled(5.2, 40), sampled(5.4, 40), sampled(5.6, 41)]
    later = [sampled(5.8, 45), sampled(6.2, 45), sampled(6.4, 60)]
    assert found(ruled(given(41, 5), given(50, 6), *below, *later)) == ([(40, 41), (45, 50)], 6, 0)


def test_each_epoch_has_its_own_runs():
    """Both a deposed leader and its successor lie below."""
    samples = [sampled(10, 40), sampled(10.1, 40, leader=2, epoch=1), sampled(10.2, 40)]
    assert found(ruled(given(41, 5), *samples)) == ([(40, 41), (40, 41)], 3, 0)


def test_the_greatest_offset_counts_whoever_read_it_and_in_whatever_order():
    """Reader 1 is ahead of reader 0, and the rows are not by time."""
    reads = [given(30, 5, epoch=2), given(43, 4, reader=1, epoch=0), given(20, 3, epoch=1)]
    (anomaly,) = ruled(*reads, sampled(3.5, 30), sampled(5.2, 40)).anomalies
    assert (anomaly.offset, anomaly.last_offset) == (40, 43)
    assert (anomaly.seen_ns, anomaly.under_epoch) == (4_000_000_000, 0)  # when offset 43 was read


def test_the_partitions_are_apart():
    """Of partition 1 there is no timeline: its samples are undecided."""
    other = report(5.3, 1, 0, high_watermark=40, asked_s=5.2, on=1)
    assert found(ruled(given(41, 5, on=1), given(39, 5), sampled(5.2, 40), other)) == ([], 1, 1)


def test_without_its_evidence_it_is_not_decided():
    """No readings of the clocks, one reading only, or no metadata log."""
    rows = (given(41, 5), sampled(5.2, 40))
    assert ruled(*rows, missing=("clocks",)) is NOT_COLLECTED
    assert ruled(*rows, pairs=[ClockPair(at_ns=1, wall_ns=2, engine_ns=2, error_ns=0)]) is NOT_COLLECTED
    assert ruled(*rows, states=[]) is NOT_COLLECTED


@pytest.mark.parametrize("seed", range(20))
def test_what_was_exposed_is_the_greatest_of_the_samples_before_under_no_later_epoch(seed):
    """Epochs come in any order: a leader that was deposed answers, too."""
    rng = Random(seed)
    states = [state(10 + epoch, 1, (epoch, epoch), (1, 2, 3), ms=epoch) for epoch in range(4)]
    rows = [(at, rng.randrange(4), rng.randrange(50)) for at in range(30)]
    samples = [sampled(at, high_watermark, epoch=epoch) for at, epoch, high_watermark in rows]
    (limits,) = read_limits(history(*samples, states, clocks())).of.values()
    exposed = {limit.answered_ns: limit.exposed for limit in limits}
    for number, (at, epoch, _) in enumerate(rows):
        before = [high for _, of, high in rows[: number + 1] if of <= epoch]
        assert exposed[round((at + 0.1) * 1e9)] == max(before)
