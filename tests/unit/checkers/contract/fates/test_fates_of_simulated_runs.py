"""What simulated runs showed that the contract judged wrongly: each the smallest one, by hand."""

from dataclasses import replace

import pytest
from fakes.history.judged_run import (
    checkpoint,
    cut,
    down,
    led,
    log_end,
    lost,
    power_cut,
    registered,
    sampled,
    world,
)

from checkers.anomalies import Anomalies
from checkers.contract.judge_contract import judge_contract
from checkers.contract.label import Label
from checkers.history.records.log_runs import LogRun

ALL = (1, 2, 3)


def label(anomaly, run) -> Label:
    """The label of one anomaly."""
    return judge_contract(Anomalies.of([anomaly]), run)[0]


def removed_by(its: Label) -> tuple[int, int]:
    """The leader and the epoch of the election that removed a record."""
    election = its.fate.removed_by
    return election.leader, election.leader_epoch


def test_a_broker_that_starts_leads_nothing_before_it_has_registered_again():
    """All lose their power at 4 s. At 8 s the controller, which knows of nothing yet, elects broker 2 and has
    it fenced a moment later; its new process runs since 7.5 s and registers at 8.5 s."""
    run = world(
        led(0, 1, 5, ALL),
        registered(0, 2, 10),
        down(4, 1, 2, 3, kind="power-loss", recovered=7.5),
        *(row for node in ALL for row in power_cut(4, node, before=30, after=0, mounted=7)),
        led(8, 2, 6, (2,)),
        led(8.2, -1, 7, (2,)),
        registered(8.5, 2, 60),
        led(9, 3, 8, (3,)),
        led(10, 3, 8, ALL),
        LogRun(8, 0, 20),
        unclean=True,
    )
    assert removed_by(label(lost(offset=7, sent=2, acked=3), run)) == (3, 8)


def test_the_last_known_leader_may_be_elected_by_the_record_that_empties_the_elr():
    """Broker 2 registers anew after an unclean shutdown, which takes it out of the ELR: nobody is left there,
    and the same record elects broker 3. No unclean election: KIP-966's last known leader."""
    run = world(
        led(0, 1, 5, ALL),
        down(4, 1, 2, 3, kind="power-loss", recovered=20),
        *(row for node in ALL for row in power_cut(4, node, before=30, after=0, mounted=7)),
        led(8, -1, 6, (), elr=(2,), last_known=(3,)),
        registered(9, 2, 60),
        led(9, 3, 7, (3,)),
        led(12, 3, 7, ALL),
        LogRun(7, 0, 20),
    )
    its = label(lost(offset=7, sent=2, acked=3), run)
    assert (its.kind, its.cause) == ("permitted", "power loss of all in-sync replicas")
    still_there = world(
        led(0, 1, 5, (1, 2)),
        registered(0, 2, 10),
        led(8, -1, 6, (), elr=(2,), last_known=(3,)),
        registered(9, 2, 10),  # a record of the process that was there before
        led(9, 3, 7, (3,)),
        LogRun(7, 0, 20),
    )
    assert label(lost(offset=7, sent=2, acked=3), still_there) == Label(
        "violation",
        "unclean election: broker 3, not in sync, was elected at 9.00 s (epoch 7, its log begins at offset "
        "0), and unclean.leader.election.enable is false",
        "unclean election",
    )


def two_gone(*more):
    """ISR [1, 3]: broker 3 is killed at 2.1 s, broker 1 loses its power and its pages at 4.6 s; broker 1
    leads again. A sample of 4.4 s has a high watermark of 26."""
    return world(
        led(0, 1, 5, (1, 3)),
        sampled(4.4, 26, isr=(1, 3)),
        down(2.1, 3, recovered=9),
        down(4.6, 1, kind="power-loss", recovered=9),
        *power_cut(4.6, 1, before=27, after=0, mounted=8),
        led(7, -1, 6, (), last_known=(1,)),
        led(9, 1, 7, (1,)),
        led(9.5, 1, 7, ALL),
        LogRun(7, 0, 13),
        *more,
    )


def test_what_a_sample_shows_was_there_before_the_sample():
    """At 2.0 s the leader's log ended at 20, so what was below a high watermark of 26 at 4.4 s was appended
    since 2.0 s: broker 3, killed at 2.1 s, may have had it. Not if it ended at 20 still at 4.3 s (the clocks
    agree to a second)."""
    fall = lost("hw-loss", offset=20, last=25, sent=None, acked=None, producer=-1, sequence=-1)
    its = label(fall, two_gone(log_end(2.0, 1, 20), log_end(4.4, 1, 27)))
    assert (its.kind, its.cause) == ("permitted", "last known ELR elected without the data")
    its = label(fall, two_gone(log_end(2.0, 1, 20), log_end(4.3, 1, 20), log_end(4.4, 1, 27)))
    assert (its.kind, its.cause) == ("violation", "in-sync replica elected without the data")


def test_who_came_into_the_isr_after_a_record_was_written_held_it_too():
    """Written at 3 s under ISR [1, 2], while 2 is dead; broker 3 joins at 4 s. Brokers 1 and 3 lose their
    power at 6 s: two unclean shutdowns of replicas that had it."""
    run = world(
        led(0, 1, 5, (1, 2)),
        down(1, 2, recovered=30),
        led(4, 1, 5, (1, 2, 3)),
        led(4.5, 1, 5, (1, 3)),
        sampled(5, 8),
        down(6, 1, 3, kind="power-loss", recovered=12),
        *(row for node in (1, 3) for row in power_cut(6, node, before=8, after=4, mounted=9)),
        led(9, -1, 6, (), last_known=(3,)),
        led(10, 3, 7, (3,)),
        led(12, 3, 7, ALL),
        LogRun(5, 0, 3),
        LogRun(7, 4, 20),
        acks="1",
    )
    its = label(lost(offset=7, sent=2.9, acked=3), run)
    assert its.kind == "permitted"
    assert "2 unclean shutdowns ≥ min.insync.replicas 2" in its.clause


ZOMBIE = (
    led(0, 1, 5, ALL),
    cut(5, edges=("1->101", "1->2", "2->1", "1->3", "3->1"), healed=20),
    led(8, 2, 6, (2, 3)),
    down(12, 2, recovered=20),
    led(15, 3, 7, (3,)),
    sampled(4, 5),
    sampled(9.5, 6, leader=2, epoch=6, isr=(2, 3)),
    LogRun(5, 0, 5),
    LogRun(6, 6, 8),
    LogRun(7, 9, 40),
)
"""Broker 1 is cut off at 5 s and runs on; broker 2 is elected at 8 s, its log begins at 6; then broker 3."""


def test_where_two_leaders_may_have_written_it_both_fates_are_named():
    """Acknowledged at 9 s, when 1 took itself for the leader and 2 led: nothing shows which of them."""
    its = label(lost(offset=9, sent=8.9, acked=9), world(*ZOMBIE, acks="1"))
    assert (its.kind, its.cause) == ("permitted", "acks=1 unreplicated tail or deposed leader")
    assert " / or: " in its.clause


def test_a_leader_whose_log_did_not_reach_it_had_not_written_it():
    """As before, a second later; at 10.5 s broker 2 reports a log that ends at 7: nothing was at offset 9."""
    either = label(lost(offset=9, sent=9.9, acked=10), world(*ZOMBIE, acks="1"))
    assert either.cause == "acks=1 unreplicated tail or deposed leader"
    run = world(*ZOMBIE, log_end(10.5, 2, 7, epoch=6), acks="1")
    its = label(lost(offset=9, sent=9.9, acked=10), run)
    assert (its.kind, its.cause) == ("permitted", "deposed leader")
    assert removed_by(its) == (2, 6)


def test_a_process_that_was_started_anew_is_no_zombie_of_the_one_before():
    """Broker 1 leads, is killed at 2 s, started at 6 s, deposed at 7 s, and registers at 8 s. What is
    acknowledged at 9.5 s at an offset that holds another record of epoch 6, nobody can have taken away."""
    run = world(
        led(0, 1, 5, ALL),
        sampled(1, 5),
        down(2, 1, recovered=6),
        led(7, 2, 6, (2, 3)),
        registered(8, 1, 60),
        led(12, 2, 6, ALL),
        sampled(9, 6, leader=2, epoch=6, isr=(2, 3)),
        LogRun(5, 0, 4),
        LogRun(6, 5, 40),
        acks="1",
    )
    its = label(lost(offset=9, sent=9.4, acked=9.5), run)
    assert (its.kind, its.cause) == ("violation", "hole")


def killed_without(last):
    """All three are killed at 4 s; the log of broker 2, read from its disk, ends before offset `last`. Broker
    2, the last known leader, is elected and begins its epoch there."""
    return world(
        led(0, 2, 5, ALL),
        sampled(3.5, 30, leader=2),
        down(4, 1, 2, 3, kind="kill", recovered=8),
        log_end(7, 1, 30, source="disk-down"),
        log_end(7, 2, last, source="disk-down"),
        log_end(7, 3, 30, source="disk-down"),
        led(6, -1, 6, (), last_known=(2,)),
        led(9, 2, 7, (2,)),
        led(12, 2, 7, ALL),
        LogRun(5, 0, last - 1),
        LogRun(7, last, 40),
    )


def test_a_kill_takes_nothing_from_a_log():
    """However many replicas were killed: the kernel has what they wrote, so what the disk lacks afterwards
    the broker had dropped before, though it was in sync."""
    its = label(lost(offset=7, sent=2, acked=3), killed_without(7))
    assert its.kind == "violation"
    assert its.clause.endswith("without it, though it was the last in sync, and had it")


NOBODY_FOLLOWED = (
    led(0, 2, 5, ALL),
    sampled(3, 5, leader=2),
    sampled(7.9, 5, leader=2),
    led(8, 3, 6, (1, 3)),
    log_end(9, 1, 9, epoch=6),
    led(10, 1, 7, (1,)),
    sampled(10.5, 9, leader=1, epoch=7, isr=(1,)),
    down(14, 1, 3, kind="power-loss", recovered=19),
    *(row for node in (1, 3) for row in power_cut(14, node, before=20, after=0, mounted=18)),
    led(17, -1, 8, (1,)),
    led(19, 1, 9, (1,)),
    led(20, 1, 9, ALL),
    checkpoint(2, (5, 0), (6, 5), (7, 9), (9, 0)),
    LogRun(9, 0, 3),
)
"""Broker 3 stands still, and has 5 of the 9 records of epoch 5 when it is elected at 8 s. Nobody follows it
until broker 1, which has all 9, is elected at 10 s. At 14 s all who are in sync lose their power."""


def of_epoch_5(wanted, *, acked=None, seen=None, more=(), **asked):
    """The label of offset 7, which broker 2 wrote under epoch 5 at 6 s."""
    run = world(*NOBODY_FOLLOWED, *more, min_isr=1, elr=False, **asked)
    return label(replace(lost(wanted, offset=7, sent=6, acked=acked, seen=seen), under_epoch=5), run)


@pytest.mark.parametrize("wanted", ["hw-loss", "read-uncommitted"])
@pytest.mark.parametrize("acks", ["all", "1"])
def test_what_a_leader_lacked_that_nobody_followed_the_next_one_may_have_shown(wanted, acks):
    """A reader is given offset 7 at 12 s: by broker 1, which lost it with the power of all, or by broker 2
    long before, and then broker 3 was elected from the ISR without it."""
    its = of_epoch_5(wanted, seen=12, acks=acks)
    assert its.kind == "undecided"
    assert {fate.removed_by.leader_epoch for fate in (its.fate, *its.others)} == {6, 9}


def test_an_acknowledgement_may_be_of_a_later_leader_too():
    """To a producer that sent it again: one that is not idempotent would have got another place."""
    assert of_epoch_5("acked-loss", acked=12).kind == "undecided"
    its = of_epoch_5("acked-loss", acked=12, idempotence=False)
    assert (its.kind, removed_by(its)) == ("violation", (3, 6))
    its = of_epoch_5("acked-loss", acked=7, acks="1")
    assert (its.kind, removed_by(its)) == ("permitted", (3, 6))


@pytest.mark.parametrize("seen", [7.5, 8.5])
def test_what_was_shown_before_a_later_leader_was_elected_had_to_stay(seen):
    """A second before, for the clocks agree to a second."""
    its = of_epoch_5("read-uncommitted", seen=seen)
    assert (its.kind, removed_by(its)) == ("violation", (3, 6))


def test_a_later_leader_that_had_cut_its_log_showed_nothing():
    """At 9.5 s broker 1 has followed broker 3 to the end of its log, at 5."""
    its = of_epoch_5("read-uncommitted", seen=12, more=[log_end(9.5, 1, 5, epoch=6)])
    assert (its.kind, removed_by(its)) == ("violation", (3, 6))


def test_a_later_leader_that_was_down_all_the_time_showed_nothing():
    its = of_epoch_5("read-uncommitted", seen=12, more=[down(9.5, 1, recovered=17)])
    assert (its.kind, removed_by(its)) == ("violation", (3, 6))


def test_a_later_leader_explains_nothing_that_no_election_has_removed():
    """The final log has another record of epoch 5 in its place: no leader had both, whoever showed it."""
    run = world(
        led(0, 2, 5, ALL),
        led(8, 1, 6, ALL),
        down(14, 1, 2, 3, kind="power-loss", recovered=19),
        *(row for node in ALL for row in power_cut(14, node, before=20, after=5, mounted=18)),
        led(17, -1, 8, (1,)),
        led(19, 1, 9, (1,)),
        checkpoint(2, (5, 0), (6, 9)),
        LogRun(5, 0, 8),
        LogRun(9, 9, 20),
    )
    read = replace(lost("read-uncommitted", offset=7, sent=6, acked=None, seen=12), under_epoch=5)
    its = label(read, run)
    assert its.kind == "undecided"
    assert "it was taken from the middle of the log" in its.clause


def test_the_least_log_end_of_a_later_leader_tells_two_records_apart():
    """It had cut its log to 7, and followed broker 3 to 9 since. Judged together, each gets its own label."""
    cut_and_grown = (log_end(9.2, 1, 7, epoch=6), log_end(9.5, 1, 9, epoch=6))
    run = world(*NOBODY_FOLLOWED, *cut_and_grown, min_isr=1, elr=False)
    reads = [replace(lost("hw-loss", offset=at, sent=6, acked=None, seen=12), under_epoch=5) for at in (6, 7)]
    assert [its.kind for its in judge_contract(Anomalies.of(reads), run)] == ["undecided", "violation"]
