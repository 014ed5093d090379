"""How long a deposed leader still answered as leader, from samples of several brokers."""

from dataclasses import replace

from fakes.history.judged_run import ns, sampled

from checkers.verdict.metrics.metric import Measured
from checkers.verdict.metrics.zombies import longest_zombie


def claim(second, leader, epoch, on=0, asked=None):
    sample = replace(sampled(second, 5, leader=leader, epoch=epoch), partition=on)
    return replace(sample, asked_ns=ns(second if asked is None else asked))


def test_the_time_counts_from_the_first_answer_of_the_successor_to_the_last_question_of_the_deposed() -> None:
    samples = [claim(1, 1, 4), claim(9, 2, 5), claim(13, 1, 4, asked=12.5), claim(11, 2, 5), claim(14, 2, 5)]
    assert longest_zombie(samples) == Measured(value=3.5, where="orders-0")


def test_a_leader_that_was_not_heard_of_after_its_successor_was_no_zombie() -> None:
    assert longest_zombie([claim(1, 1, 4), claim(9.9, 1, 4), claim(10.2, 2, 5)]) == Measured(value=0.0)


def test_a_broker_that_leads_again_under_a_later_epoch_is_not_its_own_zombie() -> None:
    samples = [claim(1, 1, 4), claim(5, 1, 5), claim(5.1, 1, 4), claim(9, 2, 6)]
    assert longest_zombie(samples) == Measured(value=0.0)


def test_the_successor_is_the_next_epoch_of_another_broker_also_two_epochs_later() -> None:
    samples = [claim(1, 1, 4), claim(2, 1, 5), claim(6, 2, 6), claim(8, 1, 4)]
    assert longest_zombie(samples) == Measured(value=2.0, where="orders-0")


def test_each_partition_has_leaders_of_its_own() -> None:
    samples = [
        claim(1, 1, 4),
        claim(2, 2, 5, on=1),
        claim(9, 1, 4),
        claim(10, 3, 6, on=1),
        claim(11, 2, 5, on=1),
    ]
    assert longest_zombie(samples) == Measured(value=1.0, where="orders-1")


def test_samples_without_a_leader_show_nothing() -> None:
    unknown = Measured(value=None, unknown="no broker was sampled as a leader")
    assert longest_zombie([]) == unknown
    assert longest_zombie([claim(1, -1, -1)]) == unknown


def test_samples_of_a_version_before_they_had_the_time_of_the_question_count_by_their_answers() -> None:
    old = [
        replace(claim(second, leader, epoch), asked_ns=-1)
        for second, leader, epoch in ((9, 2, 5), (12, 1, 4))
    ]
    assert longest_zombie(old) == Measured(value=3.0, where="orders-0")
