"""Which unclean shutdowns count, which name a loss has, and what lacks a sample: found by simulated runs."""

from dataclasses import replace

import pytest
from fakes.history.judged_run import (
    ALL_CUT,
    begins_to,
    cut,
    down,
    led,
    log_end,
    lost,
    ns,
    power_cut,
    sampled,
    wiped,
    world,
)

from checkers.anomalies import Anomalies
from checkers.contract.judge_contract import judge_contract
from checkers.contract.label import Label
from checkers.history.records.log_runs import LogRun
from checkers.history.rows import BrokerLine, NodeEvent

ALL = (1, 2, 3)
IN_SYNC_WITHOUT = ("violation", "in-sync replica elected without the data")


def label(anomaly, run) -> Label:
    """The label of one anomaly."""
    return judge_contract(Anomalies.of([anomaly]), run)[0]


def judged(anomaly, run) -> tuple[str, str]:
    """Its kind and its cause."""
    its = label(anomaly, run)
    return its.kind, its.cause


def one_after_another(rejoined):
    """Broker 2 loses its power at 4 s, broker 1, which leads, at 9 s, and leads again without the record.
    `rejoined`: what the metadata log says of broker 2 in between."""
    return world(
        led(0, 1, 5, ALL),
        down(4, 2, kind="power-loss", recovered=7),
        *power_cut(4, 2, before=30, after=0, mounted=6),
        *rejoined,
        down(9, 1, kind="power-loss", recovered=14),
        *power_cut(9, 1, before=30, after=0, mounted=13),
        led(11, -1, 6, (), last_known=(1,)),
        led(14, 1, 7, (1,)),
        LogRun(7, 0, 20),
    )


def test_a_broker_that_was_not_in_sync_again_counts_however_long_ago_it_shut_down():
    run = one_after_another([led(5, 1, 5, (1, 3)), led(5.5, 1, 5, (1,), elr=(3,))])
    its = label(lost(offset=7, sent=2, acked=3), run)
    assert (its.kind, its.cause) == ("permitted", "last known ELR elected without the data")
    assert "2 unclean shutdowns ≥ min.insync.replicas 2 before the ISR recovered: brokers 1, 2" in its.clause


def test_a_broker_that_was_in_sync_again_before_the_election_does_not_count():
    """Broker 2 has the record again when it is in sync at 7 s: then broker 1 alone has lost it."""
    run = one_after_another([led(5, 1, 5, (1, 3)), led(7, 1, 5, ALL)])
    its = label(lost(offset=7, sent=2, acked=3), run)
    assert (its.kind, its.cause) == IN_SYNC_WITHOUT
    assert "1 unclean shutdown < min.insync.replicas 2 before the ISR recovered: broker 1" in its.clause


def by_a_deposed_leader(*shrunk, cut_off, elr=True):
    """Broker 1 stands still from 3 s on and is deposed at 5 s, goes on at 8 s and acknowledges a record then:
    in its epoch, with those in sync whom it knew. At 9 s `cut_off` lose their power, and broker 3 leads
    without the record."""
    run = world(
        led(0, 1, 5, ALL),
        *shrunk,
        led(5, 3, 6, (3,), elr=(1,) if elr else ()),
        led(6, -1, 7, (), elr=(1, 3) if elr else (), last_known=(3,)),
        started(6, 3, 20),  # all that it had when it had followed broker 1 last
        begins_to("follow", 8.2, 1, 7),
        down(9, *cut_off, kind="power-loss", recovered=14),
        *(row for node in cut_off for row in power_cut(9, node, before=30, after=0, mounted=11)),
        led(12, -1, 7, (), last_known=(3,)),
        led(14, 3, 8, (3,)),
        LogRun(8, 0, 20),
        elr=elr,
    )
    return label(lost(offset=7, sent=7.5, acked=8.1), run)


@pytest.mark.parametrize("elr", [True, False], ids=["ELR", "no ELR"])
def test_who_was_in_sync_for_a_deposed_leader_when_its_epoch_ended_counts(elr):
    """By the controllers nobody is in sync at 8 s: with ELR two are eligible, without it nobody."""
    shrunk = led(4, 1, 5, (1, 3))
    its = by_a_deposed_leader(shrunk, cut_off=(1, 3), elr=elr)
    assert its.kind == "permitted"
    assert "2 unclean shutdowns ≥ min.insync.replicas 2 before the ISR recovered: brokers 1, 3" in its.clause
    alone = by_a_deposed_leader(shrunk, cut_off=(3,), elr=elr)
    assert (alone.kind, alone.cause) == IN_SYNC_WITHOUT
    assert "1 unclean shutdown < min.insync.replicas 2 before the ISR recovered: broker 3" in alone.clause


def test_whom_a_deposed_leader_may_have_taken_for_in_sync_still_decides_nothing():
    """The controllers took broker 2 out of the ISR at 4 s, when broker 1 stood still."""
    its = by_a_deposed_leader(led(4, 1, 5, (1, 3)), cut_off=(2, 3))
    assert its.kind == "undecided"
    assert its.clause.endswith("; not measured: whether broker 1 had learnt yet who was in sync")


def committed_with_the_eligible(acks, *, seen_at=8.2):
    """All stand still at 3 s, and at 5 s the controllers take 2 and 3 out of the ISR; broker 1, which goes on
    leading, acknowledges a record at 8.1 s. A sample above it is of `seen_at`; 2 and 3 are eligible until
    8.5 s. All lose their power at 9 s, and broker 1 is elected again."""
    run = world(
        led(0, 1, 5, ALL),
        sampled(2, 5),
        led(5, 1, 5, (1,), elr=(2, 3)),
        led(8.5, 1, 5, (1,)),
        sampled(seen_at, 9, isr=(1,)),
        down(9, *ALL, kind="power-loss", recovered=14),
        *(row for node in ALL for row in power_cut(9, node, before=30, after=0, mounted=11)),
        led(13, -1, 6, (), last_known=(1,)),
        led(14, 1, 7, (1,)),
        LogRun(7, 0, 20),
        acks=acks,
    )
    return label(lost(offset=7, sent=7.9, acked=8.1), run)


def test_the_eligible_count_of_what_was_committed_by_then():
    """An acknowledgement of acks=1 does not show that it was: a sample above it does."""
    counted = "3 unclean shutdowns ≥ min.insync.replicas 2 before the ISR recovered: brokers 1, 2, 3"
    assert committed_with_the_eligible("all").clause.startswith(counted)
    assert committed_with_the_eligible("1").clause.startswith(counted)
    its = committed_with_the_eligible("1", seen_at=8.7)
    assert (its.kind, its.cause) == IN_SYNC_WITHOUT
    assert "1 unclean shutdown < min.insync.replicas 2 before the ISR recovered: broker 1" in its.clause


def seen_when_too_few_were_in_sync(*first_end):
    """Broker 1, which leads, ends by `first_end` at 4 s; broker 3, in sync, is elected at 6 s. The first
    sample above offset 20 is its, at 7 s, when it is in sync alone. It loses its power at 9 s, and leads
    again without a record at 14 s."""
    run = world(
        led(0, 1, 5, (1, 3)),
        sampled(3, 20, isr=(1, 3)),
        *first_end,
        led(6, 3, 6, (3,), elr=(1,)),
        sampled(7, 24, leader=3, epoch=6, isr=(3,)),
        down(9, 3, kind="power-loss", recovered=14),
        *power_cut(9, 3, before=30, after=0, mounted=13),
        led(11, -1, 7, (), last_known=(3,)),
        led(14, 3, 8, (3,)),
        LogRun(8, 0, 20),
    )
    fall = lost("hw-monotone", offset=0, last=23, sent=None, acked=15, seen=7, producer=-1, sequence=-1)
    return label(replace(fall, acked_offset=-1, under_epoch=6), run)


def test_what_is_first_seen_when_too_few_are_in_sync_was_replicated_when_enough_were():
    """With ELR a high watermark does not advance below min.insync.replicas: broker 1 had all of it."""
    killed = down(4, 1, kind="kill", recovered=20)
    its = seen_when_too_few_were_in_sync(killed)
    assert (its.kind, its.cause) == ("permitted", "last known ELR elected without the data")
    assert "2 unclean shutdowns ≥ min.insync.replicas 2 before the ISR recovered: brokers 1, 3" in its.clause
    without_power = down(4, 1, kind="power-loss", recovered=20)
    its = seen_when_too_few_were_in_sync(without_power, *power_cut(4, 1, before=30, after=0, mounted=18))
    assert (its.kind, its.cause) == ("permitted", "power loss of all in-sync replicas")


def test_a_clean_shutdown_of_who_was_in_sync_then_does_not_count():
    its = seen_when_too_few_were_in_sync(down(4, 1, kind="stop", recovered=20))
    assert (its.kind, its.cause) == IN_SYNC_WITHOUT
    assert "1 unclean shutdown < min.insync.replicas 2 before the ISR recovered: broker 3" in its.clause


def alone_at_last(followers_reached):
    """Brokers 2 and 3 lose their power at 4 s, and are in the ISR until 6 s; broker 1 acknowledges offset 35
    with acks=1 at 4.1 s, and loses its power, alone in the ISR, at 9 s."""
    return world(
        led(0, 1, 5, ALL),
        sampled(3, 35),
        down(4, 2, 3, kind="power-loss", recovered=14),
        *(row for node in (2, 3) for row in power_cut(4, node, before=followers_reached, after=0, mounted=8)),
        led(6, 1, 5, (1,)),
        sampled(8, 60, isr=(1,)),
        down(9, 1, kind="power-loss", recovered=14),
        *power_cut(9, 1, before=60, after=0, mounted=13),
        led(11, -1, 6, (), last_known=(1,)),
        led(14, 1, 7, (1,)),
        LogRun(7, 0, 20),
        acks="1",
        min_isr=1,
    )


def test_a_broker_whose_log_was_measured_to_end_below_a_record_did_not_hold_it():
    record = lost(offset=35, sent=3.95, acked=4.1, seen=7)
    assert judged(record, alone_at_last(35)) == ("permitted", "ISR of one with min.isr 1")
    assert judged(record, alone_at_last(36)) == ("permitted", "power loss of all in-sync replicas")


def test_a_replica_may_become_the_last_one_standing_after_its_own_shutdown():
    """Without ELR: broker 2 loses its power at 4 s; before the controller knows, broker 1 stops and broker 2
    is elected. The controller waits for it alone, and it comes back without its log."""
    run = world(
        led(0, 1, 5, (1, 2)),
        down(4, 2, kind="power-loss", recovered=13),
        *power_cut(4, 2, before=30, after=0, mounted=11),
        led(5, 2, 6, (2,)),
        led(8, -1, 7, (2,)),
        led(12, 2, 8, (2,)),
        LogRun(8, 0, 20),
        elr=False,
    )
    assert judged(lost(offset=7, sent=2, acked=3), run) == ("permitted", "last replica standing")


UNSAMPLED = (
    led(0, 1, 5, ALL),
    sampled(2, 5),
    down(4, 1, recovered=25),
    led(5, 2, 6, (2,)),
    down(12, 2, recovered=25),
    led(16, 3, 7, (3,)),
    LogRun(5, 0, 4),
    LogRun(7, 5, 40),
)
"""Nobody samples a high watermark under epoch 6; then broker 3, not in sync, is elected."""


def test_an_unclean_election_of_what_nobody_saw_replicated_has_both_names():
    record = lost(offset=8, sent=8, acked=9)
    its = label(record, world(*UNSAMPLED, acks="1", unclean=True))
    assert its.kind == "permitted"
    assert "unclean election" in its.cause.split(" or ")
    assert "acks=1 unreplicated tail" in its.cause.split(" or ")


def test_what_was_perhaps_replicated_is_undecided_where_only_one_of_its_fates_is_permitted():
    its = label(lost(offset=8, sent=8, acked=9), world(*UNSAMPLED, acks="1", unclean=False))
    assert its.kind == "undecided"
    assert its.clause.startswith("not measured: samples of the high watermark under leader epoch 6; ")


def unsampled_until(reported):
    """Nobody samples a high watermark under epoch 6. Broker 3 is in sync; `reported`: when it last says that
    its log ends at 6. It is elected without offset 8, acknowledged at 9 s."""
    return world(
        led(0, 1, 5, ALL),
        sampled(2, 5),
        down(4, 1, recovered=25),
        led(5, 2, 6, (2, 3)),
        log_end(reported, 3, 6, epoch=6),
        down(12, 2, recovered=25),
        led(16, 3, 7, (3,)),
        LogRun(5, 0, 4),
        LogRun(6, 5, 5),
        LogRun(7, 6, 40),
        acks="1",
    )


def test_a_follower_that_reports_a_shorter_log_after_the_acknowledgement_shows_the_unreplicated_tail():
    record = lost(offset=8, sent=8, acked=9)
    assert judged(record, unsampled_until(9.1)) == ("permitted", "acks=1 unreplicated tail")
    assert label(record, unsampled_until(8.9)).kind == "undecided"


def test_lost_pages_excuse_no_acks_1_record_that_may_have_been_replicated():
    """Broker 1 loses its power and leads again; nobody sampled a high watermark under its epoch."""
    its = label(lost(offset=7, sent=2, acked=3), world(*ALL_CUT, acks="1", min_isr=4))
    assert its.kind == "undecided"
    assert its.clause.startswith("not measured: samples of the high watermark under leader epoch 5; ")


def sampled_too_early(reached):
    """The last sample under epoch 5, at 2.9 s, is not above offset 7, acknowledged with acks=1 at 3 s; all
    lose their power at 4 s, and the logs of the followers end at `reached`. Broker 2 is elected uncleanly."""
    return world(
        led(0, 1, 5, ALL),
        sampled(2.9, 5),
        down(4, *ALL, kind="power-loss", recovered=15),
        *power_cut(4, 1, before=9, after=0, mounted=8),
        *(row for node in (2, 3) for row in power_cut(4, node, before=reached, after=0, mounted=8)),
        led(9, -1, 6, ()),
        led(10, 2, 7, (2,)),
        LogRun(7, 0, 20),
        acks="1",
    )


def test_what_the_logs_of_all_in_sync_replicas_reached_may_have_been_replicated_after_the_last_sample():
    record = lost(offset=7, sent=2.95, acked=3)
    assert judged(record, sampled_too_early(7)) == ("permitted", "acks=1 unreplicated tail")
    assert judged(record, sampled_too_early(8)) == ("undecided", "missing evidence")


def started(epoch, node, offset) -> BrokerLine:
    """A leader's own line."""
    place = {"topic": "orders", "partition": 0, "at_ms": 0, "node": node}
    return BrokerLine(**place, kind="leader-start", leader_epoch=epoch, offset=offset)


TWICE = (
    led(0, 1, 5, ALL),
    sampled(3, 20),
    cut(4, healed=30),
    led(5, 2, 6, (2, 3)),
    *(row for node in (2, 3) for row in power_cut(7, node, before=20, after=0, mounted=9)),
    down(7, 2, 3, kind="power-loss", recovered=13),
    led(8, -1, 7, (), last_known=(2,)),
    led(12, 2, 8, (2,)),
    LogRun(8, 0, 20),
)
"""Nothing on any disk says where epoch 6 began: at or below offset 7, or was it epoch 8 that removed it?"""


def test_a_leaders_own_line_shows_where_its_epoch_begins():
    record = lost(offset=7, sent=2, acked=3)
    assert label(record, world(*TWICE)).kind == "undecided"
    assert label(record, world(*TWICE, started(6, 2, 20))).kind == "permitted"
    assert judged(record, world(*TWICE, started(6, 2, 5))) == IN_SYNC_WITHOUT


def test_a_line_of_another_broker_or_one_above_what_it_reported_later_shows_nothing():
    record = lost(offset=7, sent=2, acked=3)
    assert label(record, world(*TWICE, started(6, 3, 20))).kind == "undecided"
    later = log_end(5.5, 2, 20, epoch=6)
    assert label(record, world(*TWICE, later, started(6, 2, 21))).kind == "undecided"


def test_a_leaders_own_line_shows_that_it_begins_below_what_it_had_reported_as_a_follower():
    """Its log ended at 20, as it said 0.1 s before the election; it cut it, and wrote that it starts at 5.
    The power that goes later took what was gone by then."""
    record = lost(offset=7, sent=2, acked=3)
    measured = (log_end(4.9, 2, 20), log_end(5.5, 2, 20, epoch=6))
    assert label(record, world(*TWICE, *measured)).kind == "permitted"
    its = label(record, world(*TWICE, *measured, started(6, 2, 5)))
    assert (its.kind, its.cause, its.fate.start) == (*IN_SYNC_WITHOUT, 5)


def unclean_and_back(wanted, fell_at):
    """Broker 1 leads 24 records and is paused; broker 3, without any, is elected uncleanly at 8 s; then
    broker 1 uncleanly again, and its records are back. The high watermark was seen at 0 at `fell_at`."""
    run = world(
        led(0, 1, 5, (1, 2)),
        sampled(3, 24, isr=(1, 2)),
        led(6, 1, 5, (1,)),
        led(8, 3, 6, (3,)),
        led(14, 1, 7, (1,)),
        LogRun(5, 0, 26),
        LogRun(7, 27, 90),
        unclean=True,
        elr=False,
    )
    fall = lost(wanted, offset=0, last=23, sent=None, acked=fell_at, seen=3, producer=-1, sequence=-1)
    return judged(replace(fall, acked_offset=-1), run)


@pytest.mark.parametrize("wanted", ["hw-monotone", "early-read"])
def test_a_high_watermark_may_fall_by_an_unclean_election_and_rise_by_the_next(wanted):
    assert unclean_and_back(wanted, 9) == ("permitted", "unclean election")


@pytest.mark.parametrize("wanted", ["hw-monotone", "early-read"])
def test_a_high_watermark_that_fell_before_any_election_fell_by_none(wanted):
    """Nor may it have been read before: that a later loss is permitted excuses neither."""
    assert unclean_and_back(wanted, 5) == ("violation", "hole")


def cut_while_it_was_sent(sent):
    """Broker 3 loses its power at 4 s, its process ends by 4.2 s, and it leaves the ISR at 6 s; an acks=1
    record is acknowledged at 5 s. Brokers 1 and 2 lose their power at 9 s."""
    run = world(
        led(0, 1, 5, ALL),
        down(4, 3, kind="power-loss", recovered=14, ended=4.2),
        *power_cut(4, 3, before=7, after=0, mounted=6),
        led(6, 1, 5, (1, 2)),
        sampled(8, 30, isr=(1, 2)),
        down(9, 1, 2, kind="power-loss", recovered=14),
        *(row for node in (1, 2) for row in power_cut(9, node, before=30, after=0, mounted=13)),
        led(11, -1, 6, (), last_known=(1,)),
        led(14, 1, 7, (1,)),
        LogRun(7, 0, 20),
        acks="1",
    )
    return judged(lost(offset=7, sent=sent, acked=5), run)


def test_a_loss_has_both_names_where_a_shutdown_may_have_come_before_the_record():
    """Whether all of the in-sync replicas lost their power *with the record* is not known."""
    name = "power loss of all in-sync replicas"
    assert cut_while_it_was_sent(3.9) == ("permitted", name)
    assert cut_while_it_was_sent(4.1) == ("permitted", f"{name} or last known ELR elected without the data")


def restarted_in_turn(up_again):
    """Brokers 1, 2 and 3 are killed at 4 s, 14 s and 24 s, and back at `up_again` seconds. At 5 s broker 2 is
    elected, in sync, without offset 7; nobody measured what any of them held."""
    roll = replace(
        down(4, *ALL, kind="rolling-restart", recovered=30),
        down_ns=tuple(map(ns, (4.2, 14.2, 24.2))),
        up_ns=tuple(map(ns, up_again)),
    )
    return world(led(0, 1, 5, ALL), sampled(3, 20), roll, led(5, 2, 6, (2, 3)), LogRun(6, 5, 40))


def test_a_broker_whose_turn_in_a_restart_had_not_come_has_lost_nothing_yet():
    record = lost(offset=7, sent=2, acked=3)
    assert judged(record, restarted_in_turn((8, 18, 28))) == IN_SYNC_WITHOUT
    assert label(record, restarted_in_turn((28, 29, 30))).kind == "undecided"


def all_gone(*nodes, flush=0):
    """Brokers 1 and 2 lose their disks at 4 s; then broker 1, the last known leader, leads an empty log."""
    return world(
        led(0, 1, 5, (1, 2)),
        sampled(3, 30, isr=(1, 2)),
        down(4, *nodes, kind="disk-wipe", recovered=16),
        *(row for node in nodes for row in wiped(5, node, before=30, mounted=6)),
        led(8, -1, 6, (), last_known=(1,)),
        led(14, 1, 7, (1,)),
        LogRun(7, 0, 20),
        flush=flush,
    )


def test_disks_that_are_gone_take_what_was_flushed_too():
    """`flush.messages=1` forbids the same loss by a power cut."""
    cause = ("permitted", "disk loss among all in-sync replicas")
    record = lost(offset=7, sent=2, acked=3)
    assert judged(record, all_gone(1, 2)) == cause
    assert judged(record, all_gone(1, 2, flush=1)) == cause
    assert judged(record, world(*ALL_CUT, flush=1)) == IN_SYNC_WITHOUT


def test_one_disk_that_is_gone_excuses_no_loss():
    """Broker 2 keeps its own, and min.insync.replicas is 2."""
    its = label(lost(offset=7, sent=2, acked=3), all_gone(1))
    assert (its.kind, its.cause) == IN_SYNC_WITHOUT
    assert "1 unclean shutdown < min.insync.replicas 2 before the ISR recovered: broker 1" in its.clause


def full_disks(*ends):
    """The disks of brokers 1 and 2 are full from 4 s on; 1 halts at once, 2 at 14 s. At 6 s broker 2 is
    elected, in sync, without offset 7; nobody measured what either held. `ends`: what the watch saw."""
    full = replace(
        down(4, 1, 2, kind="disk-full", recovered=30), down_ns=(ns(4.2), ns(14.2)), up_ns=(ns(25), ns(25))
    )
    return world(led(0, 1, 5, ALL), sampled(3, 20), full, led(6, 2, 6, (2, 3)), LogRun(6, 5, 40), *ends)


def test_a_broker_that_had_not_halted_yet_has_lost_nothing_yet():
    saw = [
        NodeEvent(
            at_ns=ns(second),
            node=node,
            role="broker",
            event="exited",
            exit_code=1,
            planned=True,
            fault="disk-full-1",
        )
        for node, second in ((1, 4.2), (2, 14.2))
    ]
    record = lost(offset=7, sent=2, acked=3)
    assert judged(record, full_disks(*saw)) == IN_SYNC_WITHOUT
    assert label(record, full_disks()).kind == "undecided"
