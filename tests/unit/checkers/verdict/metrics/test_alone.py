"""What a leader committed while nobody else was in sync, from samples of its high watermark."""

from dataclasses import replace

from fakes.history.judged_run import sampled

from checkers.verdict.metrics.alone import committed_alone
from checkers.verdict.metrics.metric import Measured

ALONE = (1,)


def test_the_rise_counts_from_the_first_sample_that_names_the_leader_alone() -> None:
    samples = [
        sampled(1, 100),
        sampled(2, 150, isr=ALONE),
        sampled(3, 190, isr=ALONE),
        sampled(4, 240, isr=ALONE),
        sampled(5, 900),
    ]
    assert committed_alone(samples) == Measured(value=90.0, where="orders-0")


def test_a_leader_that_refuses_writes_while_it_is_alone_commits_nothing() -> None:
    samples = [sampled(1, 100), sampled(2, 150, isr=ALONE), sampled(9, 150, isr=ALONE)]
    assert committed_alone(samples) == Measured(value=0.0)


def test_what_was_committed_while_others_were_in_sync_again_is_left_out() -> None:
    samples = [
        sampled(1, 100, isr=ALONE),
        sampled(2, 500),
        sampled(3, 900, isr=ALONE),
        sampled(4, 930, isr=ALONE),
    ]
    assert committed_alone(samples) == Measured(value=30.0, where="orders-0")


def test_leaders_epochs_and_partitions_are_apart_and_the_one_with_the_most_is_named() -> None:
    samples = [
        sampled(1, 100, isr=ALONE),
        replace(sampled(1, 10, isr=ALONE), partition=1),
        sampled(2, 700, isr=ALONE, epoch=6),
        sampled(2, 900, leader=2, isr=(2,)),
        replace(sampled(3, 15, isr=ALONE), partition=1),
    ]
    assert committed_alone(samples) == Measured(value=5.0, where="orders-1")


def test_an_in_sync_replica_that_is_not_the_leader_is_no_leader_alone() -> None:
    samples = [sampled(1, 100, isr=(2,)), sampled(2, 300, isr=(2,))]
    assert committed_alone(samples) == Measured(value=0.0)


def test_without_a_sample_of_a_leader_it_is_not_known() -> None:
    unknown = Measured(value=None, unknown="no broker was sampled as a leader")
    assert committed_alone([]) == unknown
    assert committed_alone([sampled(1, 100, leader=-1, isr=ALONE), sampled(2, -1, isr=ALONE)]) == unknown
