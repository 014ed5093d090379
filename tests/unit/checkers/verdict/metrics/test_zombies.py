"""How long a deposed leader still answered as leader, and what it wrote then, from samples of brokers."""

from dataclasses import replace

from fakes.history.judged_run import log_end, ns, sampled

from checkers.verdict.metrics.metric import Measured
from checkers.verdict.metrics.zombies import Zombies


def claim(second, leader, epoch, on=0, asked=None, high_watermark=5):
    sample = replace(sampled(second, high_watermark, leader=leader, epoch=epoch), partition=on)
    return replace(sample, asked_ns=ns(second if asked is None else asked))


def longest_zombie(samples) -> Measured:
    return Zombies(watermarks=samples, log_ends=()).longest()


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


BESIDE = (claim(1, 1, 4), claim(9, 2, 5), claim(10, 1, 4), claim(13, 1, 4), claim(14, 2, 5))
"""Broker 1 is a zombie from 9 s, when broker 2 answers first, to 13 s."""


def test_what_a_deposed_leader_appended_counts_from_its_first_measurement_beside_its_successor() -> None:
    ends = [
        log_end(8, 1, 100, epoch=4),
        log_end(10, 1, 140, epoch=4),
        log_end(11, 2, 900, epoch=5),
        log_end(13, 1, 170, epoch=4),
        log_end(20, 1, 900, epoch=5),
    ]
    assert Zombies(watermarks=BESIDE, log_ends=ends).appended() == Measured(value=30.0, where="orders-0")


def test_a_log_that_was_measured_once_beside_its_successor_grew_by_nothing_that_is_known() -> None:
    ends = [log_end(8, 1, 100, epoch=4), log_end(10, 1, 140, epoch=4), log_end(12, 1, 0, source="disk-down")]
    assert Zombies(watermarks=BESIDE, log_ends=ends).appended() == Measured(value=0.0)


def test_what_a_deposed_leader_committed_is_the_rise_of_its_own_high_watermark() -> None:
    def its(before, first, last) -> Measured:
        samples = [
            claim(1, 1, 4, high_watermark=before),
            claim(9, 2, 5, high_watermark=200),
            claim(10, 1, 4, high_watermark=first),
            claim(13, 1, 4, high_watermark=last),
            claim(14, 2, 5, high_watermark=900),
        ]
        return Zombies(watermarks=samples, log_ends=()).committed()

    assert its(50, 100, 130) == Measured(value=30.0, where="orders-0")
    assert its(50, 100, 100) == Measured(value=0.0)


def test_without_samples_nobody_knows_what_a_zombie_wrote() -> None:
    none = Zombies(watermarks=(), log_ends=())
    assert none.committed() == Measured(value=None, unknown="no broker was sampled as a leader")
    assert none.appended() == Measured(value=None, unknown="no log end of a replica was sampled")


def test_without_a_zombie_nothing_was_written_by_one() -> None:
    its = Zombies(watermarks=[claim(1, 1, 4), claim(9, 2, 5)], log_ends=[log_end(10, 1, 140, epoch=4)])
    assert (its.appended(), its.committed()) == (Measured(value=0.0), Measured(value=0.0))
