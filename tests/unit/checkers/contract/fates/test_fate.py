"""The fate of a lost record: who removed it, why the elected leader lacked it, and what the contract says."""

from dataclasses import replace
from functools import partial

import pytest
from fakes.history.judged_run import (
    ALL_CUT,
    ALL_POWERED_OFF,
    LEADER_KILLED,
    QUIET,
    begins_to,
    checkpoint,
    cut,
    down,
    led,
    log_end,
    lost,
    names_release,
    ns,
    power_cut,
    proof,
    registered,
    sampled,
    wiped,
    world,
)

from checkers.anomalies import Anomalies
from checkers.contract.fates.fate import Reason
from checkers.contract.judge_contract import judge_contract
from checkers.contract.label import Label
from checkers.contract.realised.settings import ProducerPromise
from checkers.history.records.log_runs import LogRun
from checkers.history.rows import Fault, NodeEvent, Watermark


def label(anomaly, run, *others) -> Label:
    """The label of the first anomaly among all of them."""
    labels = judge_contract(Anomalies.of([anomaly, *others]), run)
    return labels[0]


def verdict(anomaly, run, *others) -> tuple[str, str]:
    """Its kind and its cause."""
    found = label(anomaly, run, *others)
    return found.kind, found.cause


def test_acks_1_permits_the_unreplicated_tail_of_a_dead_leader():
    found = label(lost(offset=7, acked=3.9), world(*LEADER_KILLED, acks="1"))
    assert found == Label(
        "permitted",
        "acks=1: broker 2 was elected at 7.00 s (epoch 6, its log begins at offset 5), "
        "before it was replicated",
        "acks=1 unreplicated tail",
    )
    assert found.fate.reason is Reason.UNREPLICATED
    assert (found.fate.appended.leader, found.fate.removed_by.leader, found.fate.start) == (1, 2, 5)


def test_a_broker_that_answered_as_the_leader_of_anothers_epoch_may_have_appended():
    """Broker 2 was elected for epoch 6, and broker 3 answered that it leads it, too: one of two things became
    of what was acknowledged then, and only one is permitted."""
    record = lost(offset=7, sent=3.9, acked=7.2)
    assert verdict(record, world(*LEADER_KILLED, acks="1")) == ("permitted", "acks=1 unreplicated tail")
    usurped = label(record, world(*LEADER_KILLED, sampled(7.1, 5, leader=3, epoch=6), acks="1"))
    assert usurped.kind == "undecided"
    assert "acks=1: broker 2 was elected at 7.00 s" in usurped.clause
    assert "it was taken from the middle of the log" in usurped.clause


def test_acks_1_does_not_permit_the_loss_of_what_was_below_the_high_watermark_of_its_epoch():
    run = world(*LEADER_KILLED, sampled(3.95, 9), acks="1")
    assert verdict(lost(offset=7, acked=3.9), run) == (
        "violation",
        "in-sync replica elected without the data",
    )


def test_acks_1_without_any_sample_of_its_epoch_is_undecided():
    events = [event for event in LEADER_KILLED if not isinstance(event, Watermark)]
    found = label(lost(offset=7, acked=3.9), world(*events, acks="1"))
    assert found.kind == "undecided"
    assert found.clause.startswith("not measured: samples of the high watermark under leader epoch 5; ")


def asked(*events):
    """The samples as they were asked for: at once."""
    return [replace(each, asked_ns=each.at_ns) if isinstance(each, Watermark) else each for each in events]


def test_acks_1_is_undecided_where_nobody_looked_before_the_end_of_its_leader():
    """Broker 1 is killed at 4 s, and was last asked at 2.8 s: the high watermark may have passed offset 7.
    Asked at 3.5 s it had not; nor if a follower's own log was short after the acknowledgement."""
    record = lost(offset=7, acked=3.9)
    found = label(record, world(*asked(*LEADER_KILLED), acks="1"))
    assert found.kind == "undecided"
    assert "the evidence allows both" in found.clause
    for seen in (sampled(3.5, 5), log_end(3.95, 2, 6)):
        run = world(*asked(*LEADER_KILLED, seen), acks="1")
        assert verdict(record, run) == ("permitted", "acks=1 unreplicated tail")


def test_a_leader_that_stands_still_until_its_epoch_is_over_commits_nothing_more():
    """Broker 1 is paused from 3.5 s until 9 s, and was last asked at 2.8 s; broker 2 is elected at 7 s."""
    events = [event for event in LEADER_KILLED if not isinstance(event, Fault)]
    pause = Fault(index=0, name="pause", kind="pause", nodes=(1,), inject_ns=ns(3.5), end_ns=ns(9))
    record = lost(offset=7, acked=3.4)
    unseen = label(record, world(*asked(*events), replace(pause, end_ns=ns(6)), acks="1"))
    assert unseen.kind == "undecided"
    assert verdict(record, world(*asked(*events), pause, acks="1")) == (
        "permitted",
        "acks=1 unreplicated tail",
    )


def test_an_epoch_that_begins_behind_the_record_did_not_remove_it():
    """Its leader had the record; nobody later lacks it either."""
    run = world(
        led(0, 1, 5, (1, 2, 3)),
        sampled(3, 5),
        led(7, 2, 6, (2, 3)),
        LogRun(5, 0, 3),
        LogRun(6, 20, 90),
        acks="1",
    )
    assert verdict(lost(offset=7, acked=3.9), run) == ("violation", "hole")


def test_the_first_election_that_begins_below_the_record_removed_it():
    """Broker 2 had the record, broker 3 had not."""
    run = world(
        led(0, 1, 5, (1, 2, 3)),
        led(5, 2, 6, (2, 3)),
        led(8, 3, 7, (3, 1)),
        checkpoint(3, (5, 0), (7, 4)),
        log_end(4.9, 2, 9),
        LogRun(5, 0, 3),
        LogRun(7, 4, 90),
    )
    fate = label(lost(offset=7, acked=3.0), run).fate
    assert (fate.removed_by.leader_epoch, fate.removed_by.leader, fate.start) == (7, 3, 4)


@pytest.mark.parametrize(
    "runs",
    [
        (LogRun(5, 0, 6), LogRun(6, 7, 7), LogRun(5, 8, 12)),
        (LogRun(5, 0, 6), LogRun(5, 8, 12), LogRun(6, 13, 20)),
    ],
    ids=["replaced", "missing"],
)
def test_a_record_taken_from_the_middle_of_the_log_is_a_violation_whatever_happened_later(runs):
    """Younger records of its own epoch survive: no truncation does that."""
    run = world(*ALL_POWERED_OFF, sampled(3, 5), *runs)
    found = label(lost(offset=7, acked=3.9), run)
    assert (found.kind, found.cause) == ("violation", "hole")
    assert "from the middle of the log" in found.clause


def of_two_leaders(acks, behind):
    """Broker 1 leads epoch 6 from offset 7 on, where brokers 2 and 3 have what epoch 5 has written. It
    acknowledges offset 7 at 5 s, and is killed; broker 2 is elected, whose epoch 7 begins at offset 8."""
    return world(
        led(0, 3, 5, (1, 2, 3)),
        sampled(3, 5, leader=3),
        led(4, 1, 6, (1, 2)),
        sampled(4.8, 6, epoch=6, isr=(1, 2)),
        down(6, 1, recovered=20),
        led(8, 2, 7, (2,)),
        LogRun(5, 0, 7),
        *behind,
        acks=acks,
    )


@pytest.mark.parametrize(
    ("acks", "behind", "wanted"),
    [
        ("1", [LogRun(7, 8, 40)], ("permitted", "acks=1 unreplicated tail")),
        ("1", [], ("permitted", "acks=1 unreplicated tail")),
        ("all", [LogRun(7, 8, 40)], ("violation", "in-sync replica elected without the data")),
        ("1", [LogRun(6, 8, 9), LogRun(7, 10, 40)], ("violation", "hole")),
    ],
    ids=["acks=1", "the last one", "acks=all", "more of its epoch survives"],
)
def test_what_an_older_epoch_has_written_may_come_back_in_its_place(acks, behind, wanted):
    assert verdict(lost(offset=7, sent=4.9, acked=5), of_two_leaders(acks, behind)) == wanted


@pytest.mark.parametrize("wanted", ["acked-loss", "hw-loss", "read-uncommitted"])
def test_the_unsynced_pages_of_as_many_as_min_isr_may_go_together(wanted):
    found = label(lost(wanted, offset=7, acked=3.9), world(*ALL_CUT))
    assert found == Label(
        "permitted",
        "3 unclean shutdowns ≥ min.insync.replicas 2 before the ISR recovered: brokers 1, 2, 3; "
        "broker 1 was elected at 10.00 s (epoch 7, its log begins at offset 2)",
        "power loss of all in-sync replicas",
    )


def test_what_the_disk_still_held_after_the_cut_was_not_lost_by_it():
    """Its elected leader had it when its disk was mounted again."""
    kept = [replace(e, log_end=20) if getattr(e, "source", "") == "after-power-loss" else e for e in ALL_CUT]
    assert verdict(lost(offset=7, acked=3.9), world(*kept)) == (
        "violation",
        "in-sync replica elected without the data",
    )


def test_a_power_cut_whose_log_ends_nobody_measured_is_undecided():
    run = world(*ALL_POWERED_OFF, LogRun(5, 0, 1), LogRun(7, 2, 50))
    found = label(lost(offset=7, acked=3.9), run)
    assert found.kind == "undecided"
    assert found.clause.endswith("not measured: how far the log of broker 1 reached after its power cut")


def test_flush_messages_1_permits_no_loss_of_pages():
    assert label(lost(offset=7, acked=3.9), world(*ALL_CUT, flush=1)).kind == "violation"


@pytest.mark.parametrize("acks", ["0", "1"])
def test_what_was_replicated_every_replica_had_flushed_whatever_its_producer_waited_for(acks):
    """The high watermark was above it: its followers fetch on only once they have flushed."""
    replicated = (*ALL_CUT, sampled(3.2, 9))
    read = lost("read-uncommitted", offset=7, sent=3, acked=3.5, seen=3.6)
    assert verdict(read, world(*replicated, acks=acks)) == (
        "permitted",
        "power loss of all in-sync replicas",
    )
    found = label(read, world(*replicated, acks=acks, flush=1))
    assert (found.kind, found.cause) == ("violation", "in-sync replica elected without the data")
    assert found.clause == (
        "flush.messages=1: broker 1 had flushed it; broker 1 was elected at 10.00 s (epoch 7, its log begins "
        "at offset 2) without it"
    )


def unreplicated(elected, reached, *, kind="power-loss", flush=1):
    """Broker 1 leads, all lose their power at 4 s, and broker `elected` leads again. `reached`: how far the
    log of each broker did before."""
    gone = wiped if kind == "disk-wipe" else partial(power_cut, after=2)
    return world(
        led(0, 1, 5, (1, 2, 3)),
        sampled(3.9, 5),
        down(4, 1, 2, 3, kind=kind, recovered=15),
        *(row for node, end in reached.items() for row in gone(4, node, before=end, mounted=9)),
        led(8, -1, 6, (elected,)),
        led(10, elected, 7, (elected,)),
        LogRun(7, 0 if kind == "disk-wipe" else 2, 50),
        acks="1",
        flush=flush,
    )


def test_what_is_not_replicated_its_leader_alone_is_known_to_have_flushed():
    """Broker 2 may lose its power in the middle of its append; broker 1 has acknowledged, and so was done."""
    record, tail = lost(offset=7, sent=3, acked=3.5), ("permitted", "acks=1 unreplicated tail")
    without_it = ("violation", "in-sync replica elected without the data")
    assert verdict(record, unreplicated(1, {1: 30, 2: 30, 3: 5})) == without_it
    assert verdict(record, unreplicated(1, {1: 30, 2: 30, 3: 5}, flush=0)) == tail
    assert verdict(record, unreplicated(2, {1: 30, 2: 30, 3: 5})) == tail
    assert verdict(record, unreplicated(2, {1: 30, 2: 5, 3: 5})) == tail


def test_a_disk_that_is_gone_takes_what_its_leader_had_flushed():
    run = unreplicated(1, {1: 30, 2: 5, 3: 5}, kind="disk-wipe")
    assert verdict(lost(offset=7, sent=3, acked=3.5), run) == ("permitted", "acks=1 unreplicated tail")


def test_what_was_written_after_the_cut_is_not_permitted_by_it():
    run = world(*ALL_CUT, led(20, 2, 8, (2, 3)), LogRun(8, 60, 70))
    assert label(lost(offset=55, sent=15.9, acked=16), run).kind == "violation"


def test_an_elected_leader_that_was_in_sync_throughout_may_not_lack_a_record():
    """Two others were killed, as many as min.insync.replicas; broker 3 was not."""
    run = world(
        led(0, 1, 5, (1, 2, 3)),
        sampled(3, 5),
        down(4, 1, 2, recovered=15),
        led(8, 3, 6, (3,)),
        LogRun(5, 0, 4),
        LogRun(6, 5, 50),
    )
    assert label(lost(offset=7, acked=3.9), run) == Label(
        "violation",
        "broker 3 was elected at 8.00 s (epoch 6, its log begins at offset 5) without it, though it was "
        "in sync, and had it",
        "in-sync replica elected without the data",
    )


LAST_ONE_POWERED_OFF = (
    led(0, 1, 5, (1, 2)),
    down(4, 2, kind="stop", recovered=16),
    led(4, 1, 5, (1,)),
    down(5, 1, kind="power-loss", recovered=17),
    *power_cut(5, 1, before=30, after=2, mounted=13),
    led(8, -1, 6, (1,)),
    led(14, 1, 7, (1,)),
    led(16, 1, 7, (1, 2)),
    LogRun(5, 0, 1),
    LogRun(7, 2, 50),
)


def test_without_elr_the_last_in_sync_replica_may_come_back_emptier():
    anomaly = lost(offset=7, acked=3.5)
    assert verdict(anomaly, world(*LAST_ONE_POWERED_OFF, elr=False)) == ("permitted", "last replica standing")
    assert label(anomaly, world(*LAST_ONE_POWERED_OFF, elr=True)).kind == "violation"


def test_min_isr_1_permits_the_power_loss_of_an_isr_of_one():
    run = world(*LAST_ONE_POWERED_OFF, min_isr=1)
    assert verdict(lost(offset=7, acked=3.5), run) == ("permitted", "ISR of one with min.isr 1")


def test_the_last_known_elr_may_be_elected_without_its_pages_when_min_isr_shut_down_uncleanly():
    """Broker 2 was killed and kept everything, broker 1 lost its pages and was the last to lead."""
    run = world(
        led(0, 1, 5, (1, 2)),
        down(4, 2, recovered=18),
        led(4.5, 1, 5, (1,), elr=(2,)),
        down(5, 1, kind="power-loss", recovered=17),
        *power_cut(5, 1, before=30, after=2, mounted=13),
        led(8, -1, 6, (), elr=(1, 2)),
        led(13, -1, 6, (), elr=(1,), last_known=(1,)),
        led(14, -1, 6, (), last_known=(1,)),
        led(15, 1, 7, (1,)),
        LogRun(5, 0, 1),
        LogRun(7, 2, 50),
    )
    found = label(lost(offset=7, acked=3.0), run)
    assert (found.kind, found.cause) == ("permitted", "last known ELR elected without the data")
    assert "broker 1, last known of the ELR, was elected at 15.00 s" in found.clause


def test_the_last_known_leader_may_be_elected_in_the_append_that_empties_the_elr():
    """Broker 3, the last one eligible, registers after its power cut; that removes it and elects broker 1."""
    events = [
        led(0, 1, 5, (1, 2, 3)),
        *(down(5, node, kind="power-loss", recovered=17) for node in (1, 2, 3)),
        *power_cut(5, 1, before=30, after=2, mounted=11),
        *power_cut(5, 2, before=30, after=2, mounted=11),
        *power_cut(5, 3, before=30, after=2, mounted=11),
        led(8, -1, 6, (), elr=(1, 3), last_known=(1,)),
        led(13, -1, 6, (), elr=(3,), last_known=(1,)),
        led(15, 1, 7, (1,)),
        LogRun(5, 0, 1),
        LogRun(7, 2, 50),
    ]
    wanted = ("permitted", "power loss of all in-sync replicas")
    assert verdict(lost(offset=7, acked=3.5), world(*events, registered(15, 3))) == wanted
    assert verdict(lost(offset=7, acked=3.5), world(*events, registered(15, 2)))[1] == "unclean election"


UNCLEAN = (
    led(0, 1, 5, (1, 2, 3)),
    sampled(3, 5),
    led(2, 1, 5, (1,)),
    down(4, 1, recovered=12),
    led(6, -1, 6, (1,)),
    led(7, 2, 7, (2,)),
    led(12, 2, 7, (1, 2)),
    LogRun(5, 0, 4),
    LogRun(7, 5, 50),
)


def test_an_unclean_election_is_permitted_only_where_the_topic_allows_it():
    assert verdict(lost(offset=7, acked=3.5), world(*UNCLEAN, unclean=True)) == (
        "permitted",
        "unclean election",
    )
    assert verdict(lost(offset=7, acked=3.5), world(*UNCLEAN)) == ("violation", "unclean election")


def test_an_unclean_election_that_was_asked_for_is_permitted():
    """At 6.9 s, seen at 7.1 s: it is the reason for the one at 7 s. One that was not seen may be."""
    asked = replace(down(6.9, kind="unclean-election"), target="topic orders", effect_ns=ns(7.1))
    its = label(lost(offset=7, acked=3.5), world(*UNCLEAN, asked))
    assert (its.kind, its.cause) == ("permitted", "unclean election")
    assert its.clause.endswith(
        "was elected at 7.00 s (epoch 7, its log begins at offset 5), as it was asked for"
    )
    unseen = replace(asked, proven=False, effect_ns=-1)
    assert verdict(lost(offset=7, acked=3.5), world(*UNCLEAN, unseen)) == ("undecided", "missing evidence")
    elsewhere = replace(asked, target="topic audit")
    assert verdict(lost(offset=7, acked=3.5), world(*UNCLEAN, elsewhere))[0] == "violation"


@pytest.mark.parametrize(
    ("release", "kind"), [("3.6.2", "violation"), ("3.8.1", "violation"), ("3.9.0", "permitted")]
)
def test_controllers_before_3_9_elect_uncleanly_only_when_asked(release, kind):
    """Whatever the topic says: they do not read unclean.leader.election.enable (KAFKA-12670)."""
    old = world(*UNCLEAN, names_release(0, 101, release), unclean=True)
    its = label(lost(offset=7, acked=3.5), old)
    assert (its.kind, its.cause) == (kind, "unclean election")
    why = ", and before Kafka 3.9 controllers do that only when asked"
    assert its.clause.endswith(why) is (kind == "violation")
    asked = replace(down(6.9, kind="unclean-election"), target="topic orders", effect_ns=ns(7.1))
    assert (
        verdict(
            lost(offset=7, acked=3.5),
            replace(old, context=replace(old.context, faults=[*old.context.faults, asked])),
        )[0]
        == "permitted"
    )


ZOMBIE = (
    led(0, 1, 5, (1, 2, 3)),
    sampled(5, 5),
    cut(3),
    led(6, 2, 6, (2, 3)),
    led(20, 2, 6, (1, 2, 3)),
    LogRun(5, 0, 4),
    LogRun(6, 5, 90),
)


def test_an_ack_of_a_deposed_leader_is_credited_to_it():
    """Broker 1 knew nothing of broker 2's election at 6 s until it was in sync again at 20 s."""
    found = label(lost(offset=40, sent=15, acked=15.1), world(*ZOMBIE, acks="1"))
    assert (found.kind, found.cause) == ("permitted", "deposed leader")
    assert (found.fate.appended.leader, found.fate.appended.epoch) == (1, 5)


def test_a_deposed_leader_acknowledges_nothing_once_it_is_in_sync_again():
    run = world(*ZOMBIE, acks="1")
    assert verdict(lost(offset=100, sent=25, acked=25.1), run) == ("violation", "hole")


def test_a_leader_that_was_replaced_as_planned_may_acknowledge_until_it_learns_of_it():
    """Broker 1 stays in sync. It wrote 2 s after the election that it follows, and had appended until then
    what its successor, which led from offset 5 on, had not got."""
    run = world(
        led(0, 1, 5, (1, 2, 3)),
        sampled(5, 5),
        led(6, 2, 6, (1, 2, 3)),
        begins_to("follow", 8, 1, 6),
        LogRun(5, 0, 4),
        LogRun(6, 5, 90),
        acks="1",
    )
    assert verdict(lost(offset=7, sent=7.5, acked=7.6), run) == ("permitted", "deposed leader")
    assert verdict(lost(offset=7, sent=9.5, acked=9.6), run) == ("violation", "hole")


ELECTED_AGAIN = (
    led(0, 1, 5, (1, 2, 3)),
    sampled(5, 5),
    led(6, 2, 6, (1, 2, 3)),
    led(8, 1, 7, (1, 2, 3)),
    led(10, 3, 8, (1, 2, 3)),
    checkpoint(1, (5, 0), (6, 5), (7, 12)),
    LogRun(5, 0, 4),
)
"""Broker 1 led, broker 2 from offset 5 on, broker 1 again from 12 on, then broker 3."""


@pytest.mark.parametrize(
    ("more", "wanted"),
    [
        ((checkpoint(3, (5, 0), (8, 5)),), [6, 8]),
        ((checkpoint(3, (5, 0), (8, 5)), log_end(7.5, 1, 5, epoch=6)), [6]),  # it had cut its log meanwhile
        ((LogRun(6, 5, 11), LogRun(7, 12, 20)), [6]),  # it has what broker 2 had appended
    ],
)
def test_a_leader_that_is_elected_again_may_have_still_what_the_one_between_had_not(more, wanted):
    its = label(lost(offset=7, sent=4, acked=4.1), world(*ELECTED_AGAIN, *more, acks="1"))
    assert (its.kind, its.cause) == ("permitted", "acks=1 unreplicated tail")
    assert [fate.removed_by.leader_epoch for fate in (its.fate, *its.others)] == wanted


def test_a_deposed_leader_acknowledges_nothing_after_its_death():
    """It was killed at 8 s and rejoined at 58 s; the loss is at 50 s."""
    run = world(
        led(0, 1, 5, (1, 2, 3)),
        sampled(5, 5),
        led(6, 2, 6, (2, 3)),
        down(8, 1, recovered=58),
        led(58, 2, 6, (1, 2, 3)),
        LogRun(5, 0, 4),
        LogRun(6, 5, 90),
        acks="1",
    )
    assert verdict(lost(offset=100, sent=50, acked=50.1), run) == ("violation", "hole")
    assert verdict(lost(offset=40, sent=7, acked=7.1), run) == ("permitted", "deposed leader")


def test_a_leader_that_stops_cleanly_may_acknowledge_until_its_process_has_ended():
    """Its successor's election is in the metadata log before it has ended."""
    run = world(
        led(0, 1, 5, (1, 2, 3)),
        sampled(5, 5),
        down(5.5, 1, kind="stop", ended=7, recovered=20),
        led(6, 2, 6, (2, 3)),
        led(20, 2, 6, (1, 2, 3)),
        LogRun(5, 0, 4),
        LogRun(6, 5, 90),
        acks="1",
    )
    assert label(lost(offset=40, sent=6.005, acked=6.01), run).kind == "permitted"
    assert verdict(lost(offset=100, sent=9.5, acked=9.6), run) == ("violation", "hole")


def test_an_epoch_bump_of_the_same_leader_long_after_the_loss_explains_nothing():
    run = world(
        led(0, 1, 5, (1, 2, 3)),
        sampled(1.5, 5),
        led(600, 1, 6, (1, 2, 3)),
        LogRun(5, 0, 6),
        proof(7),
        acks="1",
    )
    assert verdict(lost(offset=7, sent=1.9, acked=2), run) == (
        "violation",
        "in-sync replica elected without the data",
    )


def test_what_was_written_over_is_dated_by_a_sample_of_no_later_epoch_than_that_under_which_it_was_there():
    """Broker 2 had shown what it wrote itself at offset 7 before anybody heard again of broker 1, which had
    been cut off, and had ten records when its epoch ended."""
    run = world(
        *(led(0, 1, 5, (1, 2, 3)), cut(5, 9), led(7, 2, 6, (2, 3))),
        *(sampled(2, 3), sampled(7.5, 9, leader=2, epoch=6), sampled(8, 10)),
        *(LogRun(5, 0, 4), LogRun(6, 5, 9000)),
    )
    gone = lost("hw-loss", offset=7, last=9, sent=None, acked=None, producer=-1, sequence=-1)
    found = label(replace(gone, under_epoch=5), run)
    assert (found.kind, found.cause) == ("violation", "in-sync replica elected without the data")
    assert (found.fate.appended.epoch, found.fate.removed_by.leader_epoch) == (5, 6)


def test_a_nameless_loss_is_dated_by_the_first_sample_above_it():
    """The sample is of 60 s; a fault at 4 s is no cause of what was there later."""
    run = world(*ALL_CUT, sampled(60, 70, leader=1, epoch=7))
    anomaly = replace(
        lost("hw-loss", offset=51, sent=None, acked=None, producer=-1, sequence=-1), last_offset=69
    )
    assert verdict(anomaly, run) == ("violation", "hole")


def test_an_ack_without_offset_is_the_clients_fault_only_if_nobody_ever_read_the_record():
    anomaly = lost(offset=-1, acked=3.9)
    assert verdict(anomaly, world(*ALL_CUT)) == ("violation", "acknowledged without being written (client)")
    read = lost("read-uncommitted", offset=7, acked=None, seen=3.95)
    assert verdict(anomaly, world(*ALL_CUT), read) == ("permitted", "power loss of all in-sync replicas")


def test_a_node_that_never_left_the_isr_is_out_until_its_recovery_and_not_until_a_later_cut():
    """Broker 1 was killed at 4 s and back at 13 s; the cut at 100 s is another matter."""
    run = world(
        led(0, 1, 5, (1, 2, 3)),
        sampled(3, 5),
        down(4, 1, recovered=13),
        led(100, 2, 6, (2, 3)),
        led(110, 2, 6, (1, 2, 3)),
        down(102, 2, kind="power-loss", recovered=115),
        *power_cut(102, 2, before=30, after=2, mounted=114),
        led(112, 2, 7, (2,)),
        log_end(99, 2, 20),
        LogRun(5, 0, 1),
        LogRun(7, 2, 50),
    )
    found = label(lost(offset=7, acked=3.9), run)
    assert (found.kind, "1 unclean shutdown <" in found.clause) == ("violation", True)


def test_a_node_that_dies_by_itself_counts_as_an_unclean_shutdown():
    died = NodeEvent(at_ns=ns(8), node=1, role="broker", event="exited", exit_code=137, planned=False)
    run = world(
        led(0, 1, 5, (1, 2, 3)),
        sampled(5, 5),
        led(6, 2, 6, (2, 3)),
        died,
        LogRun(5, 0, 4),
        LogRun(6, 5, 90),
        acks="1",
    )
    assert verdict(lost(offset=100, sent=50, acked=50.1), run) == ("violation", "hole")


def test_a_topic_or_partition_of_which_nothing_is_known_is_undecided():
    unlisted = replace(lost(), topic="payments")
    assert label(unlisted, world(*LEADER_KILLED)) == Label(
        "undecided", "the settings of topic payments are not known", "missing evidence"
    )
    assert label(lost(partition=3), world(*LEADER_KILLED)).clause == "who led orders-3 is not known"


def test_acks_0_promises_nothing_to_its_producer():
    for offset in (7, -1):
        found = label(lost(offset=offset), world(*LEADER_KILLED, acks="0"))
        assert (found.kind, found.clause) == ("permitted", "acks=0: nothing was promised")


def test_the_label_of_a_class_is_that_of_each_of_its_anomalies():
    """Labels are made once for a class; asked alone, each anomaly gets the same."""
    anomalies = [
        lost(of, offset=offset, sent=sent, acked=sent + 0.1, seen=seen)
        for of in ("acked-loss", "hw-loss")
        for offset in (0, 1, 2, 4, 5, 7, 29, 30, 50, 51)
        for sent in (0.5, 3.4, 3.8, 3.9, 4.2, 9.9, 10, 13.9, 14.5, 30)
        for seen in (None, sent + 0.2)
    ]
    for acks in ("1", "all"):
        run = world(*ALL_CUT, sampled(3, 5), sampled(3.5, 8), sampled(11, 9, epoch=7), acks=acks)
        together = judge_contract(Anomalies.of(anomalies), run)
        assert len(together.classes) > 3
        for anomaly, its in zip(Anomalies.of(anomalies), together, strict=True):
            assert label(anomaly, run) == its, anomaly


@pytest.mark.parametrize("acks", ["1", "all"])
def test_a_loss_without_any_election_is_a_violation(acks):
    assert label(lost(), world(*QUIET, sampled(2, 5), acks=acks)) == Label(
        "violation", "no election since it was written begins at or below its offset", "hole"
    )


def test_acks_1_does_not_permit_the_loss_of_what_the_new_leader_acknowledged():
    run = world(*LEADER_KILLED, acks="1")
    assert verdict(lost(sent=9, acked=9.1), run) == ("violation", "hole")


@pytest.mark.parametrize("wanted", ["acked-loss", "hw-loss"])
def test_acks_all_survives_the_kill_of_a_leader(wanted):
    assert verdict(lost(wanted, acked=3.9), world(*LEADER_KILLED)) == (
        "violation",
        "in-sync replica elected without the data",
    )


def test_what_a_reader_was_given_is_promised_whatever_its_producer_asked_for():
    seen = lost("read-uncommitted", acked=3.9, seen=3.95)
    assert label(seen, world(*LEADER_KILLED, acks="1")).kind == "violation"
    assert label(seen, world(*LEADER_KILLED, acks="0")).kind == "violation"


def test_an_ack_of_a_deposed_leader_does_not_witness_that_its_record_was_below_the_high_watermark():
    """Ack and samples may be of two leaders. A reader's witness leaves no such doubt, nor does acks=all."""
    run = world(*ZOMBIE, sampled(18, 80, leader=2, epoch=6), acks="1")
    exposed = lost("hw-loss", offset=40, sent=15, acked=15.1)
    assert verdict(exposed, run) == ("permitted", "deposed leader")
    assert label(replace(exposed, seen_ns=ns(15.2)), run).kind == "violation"
    assert label(exposed, world(*ZOMBIE, acks="all")).kind == "violation"


def test_what_was_acked_while_the_nodes_were_being_shut_down_was_there_before():
    """Pausing three nodes takes a second or two."""
    slow = [event for event in ALL_CUT if not isinstance(event, Fault)]
    slow.append(down(4, 1, 2, 3, kind="power-loss", ended=6, recovered=15))
    assert label(lost(offset=7, sent=5.8, acked=5.9), world(*slow)).permitted
    assert label(lost(offset=7, sent=8.5, acked=8.6), world(*slow)).kind == "violation"


def test_an_info_record_that_was_read_is_placed_by_when_it_was_read_or_sent():
    assert label(lost("hw-loss", acked=None), world(*ALL_CUT)).permitted
    assert label(lost("hw-loss", acked=None, seen=3.5), world(*ALL_CUT)).permitted
    assert (
        label(lost("hw-loss", offset=60, sent=13, acked=None, seen=13.5), world(*ALL_CUT)).kind == "violation"
    )


MOVED_JUST_THEN = (
    led(0, 2, 4, (1, 2, 3)),
    led(3.5, 1, 5, (1, 2, 3)),
    checkpoint(1, (4, 0), (5, 7), (7, 2)),
    *ALL_CUT[1:-2],
    LogRun(4, 0, 1),
    LogRun(7, 2, 50),
)
"""Broker 2 led epoch 4 until 3.5 s, then broker 1, whose epoch 5 begins at offset 7; later all lost their
pages."""


@pytest.mark.parametrize("wanted", ["acked-loss", "hw-loss"])
def test_the_epoch_under_which_readers_were_given_a_record_shows_that_no_election_before_it_removed_it(
    wanted,
):
    """It was sent just before broker 1 was elected: broker 2 may have written it, and broker 1 lacked it."""
    record, run = lost(wanted, offset=7, sent=3.4, acked=3.6), world(*MOVED_JUST_THEN)
    assert label(record, run).kind == "undecided"
    read = replace(lost("read-uncommitted", offset=7, sent=3.4, acked=3.6, seen=3.7), under_epoch=5)
    assert (
        verdict(record, run, read)
        == verdict(read, run)
        == ("permitted", "power loss of all in-sync replicas")
    )
    for other in (replace(read, offset=8), replace(read, sequence=2)):
        assert label(record, run, other).kind == "undecided"
    assert label(record, run, replace(read, under_epoch=4)).kind == "violation"
    twice = replace(read, under_epoch=4, note="another checksum")
    assert label(record, run, read, twice).kind == "undecided"


def test_the_epoch_of_a_sample_shows_that_no_election_before_it_removed_what_was_below_it():
    fell = lost("hw-monotone", offset=2, last=29, sent=None, acked=11, producer=-1, sequence=-1, seen=3.9)
    run = world(*MOVED_JUST_THEN, sampled(3.4, 25, leader=2, epoch=4), sampled(3.9, 30, epoch=5))
    assert label(replace(fell, under_epoch=5), run).permitted


def test_the_epoch_of_a_sample_shows_the_same_of_what_nobody_knows():
    """Without it broker 2 may have written offset 8 under epoch 4, which broker 1 lacked."""
    nameless = lost("hw-loss", offset=8, sent=None, acked=None, producer=-1, sequence=-1)
    run = world(*MOVED_JUST_THEN, sampled(3.45, 8, leader=2, epoch=4), sampled(3.6, 30, epoch=5))
    assert verdict(nameless, run) == ("permitted", "power loss of all in-sync replicas")


def test_only_those_who_held_the_record_count_as_unclean_shutdowns():
    """Broker 1 was out of the ISR when it was acknowledged, so only one holder lost its pages."""
    run = world(
        led(0, 2, 5, (2, 3)),
        down(4, 1, 2, kind="power-loss", recovered=9),
        *power_cut(4, 1, before=3, after=2, mounted=8),
        *power_cut(4, 2, before=30, after=2, mounted=8),
        led(8.5, 2, 6, (2,)),
        LogRun(5, 0, 1),
        LogRun(6, 2, 50),
    )
    found = label(lost(offset=7), run)
    assert (found.kind, "1 unclean shutdown < min.insync.replicas 2" in found.clause) == ("violation", True)


def test_an_election_from_the_eligible_replicas_is_clean():
    """KIP-966: the ISR is empty, the ELR is not; the eligible replica lost nothing."""
    run = world(
        led(0, 1, 5, (1, 2)),
        led(3.5, 1, 5, (1,), (2,)),
        down(4, 1),
        led(6, -1, 6, (), (1, 2)),
        led(9, 2, 7, (2,), (1,)),
        LogRun(5, 0, 4),
        LogRun(7, 5, 50),
        unclean=True,
    )
    found = label(lost(offset=7), run)
    assert (found.kind, found.fate.removed_by.kind) == ("violation", "ELR")


def test_an_elected_leader_that_was_down_all_the_time_removed_nothing():
    """The controller elects a dead broker before it notices: that epoch never had a log."""
    run = world(
        led(0, 1, 5, (1, 2, 3)),
        down(4, 1, 2, 3, kind="power-loss", recovered=15),
        *(row for node in (1, 2, 3) for row in power_cut(4, node, before=30, after=2, mounted=9)),
        led(7, 2, 6, (2, 3)),
        led(8, -1, 7, (), last_known=(2,)),
        led(16, 2, 8, (2,)),
        LogRun(5, 0, 1),
        LogRun(8, 2, 50),
    )
    assert label(lost(offset=7), run).fate.removed_by.leader_epoch == 8


def test_each_producer_has_its_own_promise():
    """The same place and time, two promises; a producer that nobody lists gets the strictest."""
    run = world(*LEADER_KILLED)
    mixed = replace(
        run,
        producers={
            0: ProducerPromise(acks="1", idempotence=False),
            1: ProducerPromise(acks="all", idempotence=True),
        },
    )
    labels = judge_contract(Anomalies.of([lost(producer=0), lost(producer=1), lost(producer=7)]), mixed)
    assert [each.kind for each in labels] == ["permitted", "violation", "violation"]


def test_without_a_metadata_log_the_samples_show_who_led_and_not_who_was_eligible():
    rows = (
        sampled(1, 3),
        sampled(2.8, 5),
        sampled(8, 5, leader=2, epoch=6, isr=(2, 3)),
        sampled(9, 5),
        sampled(13, 9, leader=2, epoch=6),
        LogRun(5, 0, 4),
        LogRun(6, 5, 50),
    )
    run = world(*rows, down(4, 1), acks="1")
    assert [(e.leader, e.deposed, e.kind) for e in run.timeline.elections(("orders", 0))] == [
        (2, 1, "not known")
    ]
    assert verdict(lost(), run) == ("permitted", "acks=1 unreplicated tail")
    assert label(lost(), world(*rows, down(4, 1))).kind == "undecided"


def test_a_final_log_without_leader_epochs_decides_nothing():
    found = label(lost(offset=7), world(*ALL_POWERED_OFF, LogRun(-1, 0, 50)))
    assert (found.kind, found.clause) == (
        "undecided",
        "not measured: the leader epochs of the records behind it",
    )
