"""What a leader had beyond its high watermark when it was replaced, from samples of different instants."""

from dataclasses import replace

from fakes.history.judged_run import log_end, ns, sampled

from checkers.history.rows import ReplicaOffset, Watermark
from checkers.verdict.metrics.metric import Measured
from checkers.verdict.metrics.unreplicated import unreplicated_at_election

NOT_SAMPLED = Measured(value=None, unknown="no high watermark was sampled after a log end of its leader")


def end(second, offset, *, of=1, epoch=5, on=0) -> ReplicaOffset:
    return replace(log_end(second, of, offset, epoch=epoch), partition=on)


def mark(second, offset, *, of=1, epoch=5, on=0, asked=None) -> Watermark:
    asked_ns = ns(second if asked is None else asked)
    return replace(sampled(second, offset, leader=of, epoch=epoch), partition=on, asked_ns=asked_ns)


def successor(on=0) -> Watermark:
    return mark(9, 100, of=2, epoch=6, on=on)


def test_the_last_log_end_counts_against_the_high_watermark_that_was_asked_for_next() -> None:
    ends = [end(1, 100), end(2, 190), end(3, 160)]
    marks = [mark(1.5, 100), mark(2.5, 100), mark(3.5, 110), successor()]
    assert unreplicated_at_election(marks, ends) == Measured(value=50.0, where="orders-0")


def test_a_leader_that_was_not_replaced_left_nothing_behind() -> None:
    assert unreplicated_at_election([mark(2, 100)], [end(1, 900)]) == Measured(value=0.0)
    again = mark(9, 100, of=1, epoch=6)
    assert unreplicated_at_election([mark(2, 100), again], [end(1, 900)]) == Measured(value=0.0)


def test_a_high_watermark_from_before_the_log_end_shows_nothing() -> None:
    """What was appended in between may have been replicated in between."""
    assert unreplicated_at_election([mark(1, 100), successor()], [end(2, 150)]) == NOT_SAMPLED
    marks = [mark(1, 100), mark(3, 150), successor()]
    assert unreplicated_at_election(marks, [end(2, 150)]) == Measured(value=0.0)


def test_a_question_that_was_under_way_when_the_log_end_came_was_not_asked_after_it() -> None:
    marks = [mark(3, 100, asked=1.5), mark(4, 140), successor()]
    assert unreplicated_at_election(marks, [end(2, 150)]) == Measured(value=10.0, where="orders-0")


def test_a_follower_and_a_leader_of_another_epoch_have_no_high_watermark_of_this_one() -> None:
    assert unreplicated_at_election([mark(2, 100), successor()], [end(1, 900, of=2)]) == NOT_SAMPLED
    assert unreplicated_at_election([mark(2, 100), successor()], [end(1, 900, epoch=4)]) == NOT_SAMPLED
    unknown = [mark(2, 100, epoch=-1), successor()]
    assert unreplicated_at_election(unknown, [end(1, 900, epoch=-1)]) == NOT_SAMPLED


def test_the_log_end_of_a_follower_is_no_claim_to_lead() -> None:
    """Broker 2 follows under epoch 6, which broker 1 leads as it led epoch 5."""
    marks = [mark(2, 100), mark(9, 900, epoch=6)]
    ends = [end(1, 900), end(8, 900, of=2, epoch=6), end(8.5, 900, epoch=6)]
    assert unreplicated_at_election(marks, ends) == Measured(value=0.0)


def test_each_partition_has_leaders_of_its_own_and_the_one_with_the_most_is_named() -> None:
    ends = [end(1, 100), end(1, 700, on=1), end(1, 320, on=2)]
    marks = [mark(2, 90), mark(2, 1, on=1), mark(2, 300, on=2), successor(), successor(on=2)]
    assert unreplicated_at_election(marks, ends) == Measured(value=20.0, where="orders-2")


def test_what_was_read_from_disks_and_offsets_that_nobody_knew_are_left_out() -> None:
    ends = [log_end(1, 1, 900, source="disk-down"), end(1, -1)]
    assert unreplicated_at_election([mark(2, 100), mark(2.1, -1), successor()], ends) == NOT_SAMPLED


def test_without_a_sample_it_is_not_known() -> None:
    assert unreplicated_at_election([], []) == NOT_SAMPLED
