"""Brokers that are hit again: who had a record again in between, who never led, and whom the controllers
passed over. Broker lines give where an epoch begins; all times are seconds."""

from dataclasses import replace

import pytest
from fakes.history.judged_run import (
    down,
    led,
    log_end,
    lost,
    ns,
    power_cut,
    proof,
    registered,
    sampled,
    world,
)

from checkers.anomalies import Anomalies
from checkers.contract.judge_contract import judge_contract
from checkers.contract.label import Label
from checkers.history.records.log_runs import LogRun
from checkers.history.rows import BrokerLine, NodeEvent

ALL = (1, 2, 3)
RECORD = lost(offset=7, sent=2.9, acked=3.0)
IN_SYNC_WITHOUT = ("violation", "in-sync replica elected without the data")
LAST_KNOWN = ("permitted", "last known ELR elected without the data")


def label(run, record=RECORD) -> Label:
    return judge_contract(Anomalies.of([record]), run)[0]


def begins(epoch, node, offset) -> BrokerLine:
    """A broker wrote where the log of its epoch begins."""
    return BrokerLine(
        topic="orders",
        partition=0,
        at_ms=0,
        node=node,
        kind="leader-start",
        leader_epoch=epoch,
        offset=offset,
    )


def up(fault, second):
    """The fault, whose processes ran again at a time."""
    return replace(fault, up_ns=(ns(second),) * len(fault.down))


# Broker 1 loses its pages, and broker 2 lets it into the ISR again at 10 s. The others are killed then.


@pytest.mark.parametrize("elr", [True, False])
def test_an_old_power_cut_is_no_excuse_for_one_that_was_let_into_the_isr_again(elr):
    run = world(
        led(0, 2, 5, ALL),
        sampled(3.5, 20, leader=2),
        down(4, 1, kind="power-loss", recovered=10),
        *power_cut(4, 1, before=30, after=2, mounted=6),
        registered(8, 1, 77),
        led(5, 2, 5, (2, 3)),
        led(10, 2, 5, ALL),
        down(10.5, 2, 3, recovered=40),
        led(14, 1, 6, (1,)),
        begins(6, 1, 2),
        LogRun(5, 0, 1),
        LogRun(6, 2, 900),
        proof(901),
        elr=elr,
    )
    its = label(run)
    assert (its.kind, its.cause) == IN_SYNC_WITHOUT
    assert "though it was in sync, and had it" in its.clause


# Broker 2 is killed, broker 3 stopped in order and eligible, broker 1 loses its pages and is elected.


def eligible_is_passed_over(*broker_3, elr=(1, 3)):
    return world(
        led(0, 1, 5, ALL),
        sampled(3.5, 20),
        down(4, 2, recovered=60),
        led(5, 1, 5, (1, 3)),
        *broker_3,
        led(6.1, 1, 5, (1,), elr=(3,)),
        down(8, 1, kind="power-loss", recovered=20),
        *power_cut(8, 1, before=30, after=2, mounted=9),
        led(11, -1, 6, (), elr=elr),
        led(14, 1, 7, (1,)),
        begins(7, 1, 2),
        LogRun(5, 0, 1),
        LogRun(7, 2, 900),
        proof(901),
    )


def test_an_eligible_broker_that_was_stopped_in_order_may_not_be_passed_over():
    its = label(eligible_is_passed_over(down(6, 3, kind="stop", recovered=50)))
    assert (its.kind, its.cause) == IN_SYNC_WITHOUT
    assert its.clause == (
        "broker 1, of the ELR, was elected at 14.00 s (epoch 7, its log begins at offset 2) without it, past "
        "broker 3: eligible, and not shut down uncleanly"
    )


def test_one_that_was_killed_is_eligible_no_more():
    its = label(eligible_is_passed_over(down(6, 3, recovered=50)))
    assert its.kind == "permitted"


def test_one_that_the_controllers_have_forgotten_is_none_to_pass_over():
    """By what the metadata log says: they had only broker 1 to choose, whatever broker 3 has."""
    its = label(eligible_is_passed_over(down(6, 3, kind="stop", recovered=50), elr=(1,)))
    assert its.kind == "permitted"


# Brokers 1 and 3 lose their pages, and so does broker 2, which leads; meanwhile 1 and 3 are cut off again.


def cut_again(*again):
    return world(
        led(0, 1, 5, ALL),
        sampled(3.5, 20),
        up(down(4, 1, 3, kind="power-loss", recovered=25, ended=4.1), 6.5),
        *power_cut(4, 1, before=20, after=0, mounted=6),
        *power_cut(4, 3, before=20, after=0, mounted=6),
        led(7.8, 2, 6, (2, 3)),
        led(8, 2, 6, (2,), elr=(3,)),
        led(8.2, 2, 6, (2,)),
        down(8.3, 2, kind="power-loss", recovered=25),
        *power_cut(8.3, 2, before=20, after=0, mounted=14),
        *again,
        led(12, -1, 7, (), elr=(2,), last_known=(2,)),
        led(15, -1, 7, (), last_known=(2,)),
        led(15.5, 2, 8, (2,)),
        begins(6, 2, 20),
        begins(8, 2, 0),
        led(17, 2, 8, ALL),
        LogRun(8, 0, 900),
        proof(901),
    )


AGAIN = (
    replace(down(9.5, 1, 3, kind="power-loss", recovered=25, ended=9.6), name="second"),
    *power_cut(9.5, 1, before=0, after=0, mounted=10.5),
    *power_cut(9.5, 3, before=0, after=0, mounted=10.5),
)


@pytest.mark.parametrize("again", [(), AGAIN], ids=["once", "again"])
def test_a_second_power_cut_does_not_take_back_the_first(again):
    its = label(cut_again(*again))
    assert its.kind == "permitted"
    assert (
        "3 unclean shutdowns ≥ min.insync.replicas 2 before the ISR recovered: brokers 1, 2, 3" in its.clause
    )


def test_how_far_a_log_reached_is_measured_at_the_begin_of_its_outage():
    """The first outage, if its end is not known, lasts over the second."""
    run = cut_again(*AGAIN)
    faults = [replace(each, up_ns=(-1, -1)) if each.down == (1, 3) else each for each in run.context.faults]
    run = replace(run, context=replace(run.context, faults=tuple(faults)))
    assert label(run).kind == "permitted"


# Broker 3 has lost its pages when it is killed, elected before the controllers miss it, and elected again.


def elected_dead(*dead, min_isr=2):
    return world(
        led(0, 1, 5, (1, 3)),
        sampled(3.5, 20, isr=(1, 3)),
        up(down(4, 1, recovered=60), 50),
        led(6, 3, 6, (3,), elr=(1,)),
        up(down(7, 3, kind="power-loss", recovered=40), 9),
        *power_cut(7, 3, before=20, after=0, mounted=8.5),
        registered(9.5, 3, 70),
        led(9.5, -1, 7, (), elr=(1,), last_known=(3,)),
        registered(14, 1, 80),
        led(14, -1, 7, (), last_known=(3,)),
        *dead,
        led(24, 3, 10, (3,)),
        registered(23.5, 3, 90),
        begins(6, 3, 20),
        begins(10, 3, 0),
        LogRun(10, 0, 900),
        proof(901),
        min_isr=min_isr,
    )


KILLED_AGAIN = (
    replace(up(down(12, 3, recovered=40), 22), name="kill-again", index=3),
    log_end(20, 3, 0, source="disk-down"),
    led(14.1, 3, 8, (3,)),
    led(16, -1, 9, (), elr=(3,), last_known=(3,)),
    led(23.5, -1, 9, (), last_known=(3,)),
)


@pytest.mark.parametrize("dead", [(), KILLED_AGAIN], ids=["not", "dead"])
def test_one_that_was_elected_dead_is_not_in_sync_again(dead):
    its = label(elected_dead(*dead))
    assert (its.kind, its.cause) == LAST_KNOWN
    assert "2 unclean shutdowns ≥ min.insync.replicas 2 before the ISR recovered: brokers 1, 3" in its.clause


def test_one_that_wrote_that_it_leads_has_led():
    """Then it was in sync, with what it had: broker 3 alone has lost anything since."""
    its = label(elected_dead(*KILLED_AGAIN, begins(8, 3, 0)))
    assert its.fate.removed_by.leader_epoch == 8


# Brokers 1 and 3 have the record and are killed. Broker 2, behind and dead as well, is elected uncleanly,
# comes back, and is elected again: it alone is in the ISR.


def elected_uncleanly_dead(**more):
    return world(
        led(0, 3, 5, (1, 3)),
        sampled(3.5, 20, leader=3, isr=(1, 3)),
        down(4, 1, 3, recovered=40),
        up(down(6, 2, recovered=12, ended=6), 9),
        led(8, 2, 6, (2,)),
        led(10, -1, 7, (2,)),
        registered(10.1, 2, 99),
        led(10.5, 2, 8, (2,)),
        begins(8, 2, 3),
        log_end(8.5, 2, 3, source="disk-down"),
        LogRun(5, 0, 2),
        LogRun(8, 3, 900),
        proof(901),
        elr=False,
        **more,
    )


def test_an_unclean_election_of_a_dead_broker_is_what_makes_it_the_leader_when_it_is_back():
    its = label(elected_uncleanly_dead(unclean=True))
    assert (its.kind, its.cause) == ("permitted", "unclean election")
    assert its.clause == (
        "unclean election: broker 2, not in sync, was elected at 8.00 s (epoch 6, its log begins at offset 3)"
    )
    forbidden = label(elected_uncleanly_dead())
    assert (forbidden.kind, forbidden.cause) == ("violation", "unclean election")


# acks=1: broker 1 leads, broker 2 after it; broker 3 is elected, in sync, and lacks what both had.


def two_leaders_had_it(*middle):
    return world(
        led(0, 1, 5, ALL),
        sampled(2.9, 7),
        down(4, 1, recovered=30),
        led(5, 2, 6, (2, 3)),
        *middle,
        sampled(5.5, 7, leader=2, epoch=6, isr=(2, 3)),
        down(9.5, 2, recovered=30),
        led(10, 3, 7, (3,)),
        begins(7, 3, 5),
        sampled(10.5, 300, leader=3, epoch=7, isr=(3,)),
        LogRun(5, 0, 4),
        LogRun(7, 5, 900),
        proof(901),
        acks="1",
        min_isr=1,
    )


SEEN_LATER = sampled(9, 20, leader=2, epoch=6, isr=(2, 3))
TAIL = ("permitted", "acks=1 unreplicated tail")


@pytest.mark.parametrize(
    ("middle", "ruled"),
    [
        ((begins(6, 2, 12), SEEN_LATER), IN_SYNC_WITHOUT),
        ((begins(6, 2, 12),), TAIL),  # nobody saw it below a high watermark
        ((begins(6, 2, 7), SEEN_LATER), TAIL),  # another record is at its offset then
    ],
    ids=["seen", "not seen", "another one"],
)
def test_a_high_watermark_under_a_later_epoch_shows_what_its_leader_had(middle, ruled):
    its = label(two_leaders_had_it(*middle))
    assert (its.kind, its.cause) == ruled


def test_an_epoch_that_nobody_led_shows_nothing_of_who_had_it():
    """Broker 2, dead, is elected in between; broker 3 has it, and then broker 2, back in sync, has not."""
    run = world(
        led(0, 1, 5, ALL),
        sampled(2.9, 7),
        down(4, 1, recovered=60),
        down(4, 2, recovered=19),
        log_end(15, 2, 5, source="disk-down"),
        registered(18, 2, 77),
        led(8, 2, 6, (2, 3)),
        led(8.3, 3, 7, (3,)),
        begins(7, 3, 12),
        sampled(9, 20, leader=3, epoch=7, isr=(3,)),
        led(19.5, 3, 7, (2, 3)),
        led(20, 2, 8, (2, 3)),
        begins(8, 2, 5),
        LogRun(5, 0, 4),
        LogRun(8, 5, 900),
        proof(901),
        acks="1",
        min_isr=1,
    )
    its = label(run, lost(offset=7, sent=2.95, acked=3.0))
    assert (its.kind, its.cause) == IN_SYNC_WITHOUT


def test_who_led_before_may_have_a_tail_of_its_own_at_its_offset():
    """Broker 2 had led, and never followed broker 1: what it has at offset 7 is of its own epoch."""
    run = world(
        led(0, 2, 4, ALL),
        sampled(2.0, 6, leader=2, epoch=4),
        led(2.8, 1, 5, ALL),
        begins(5, 1, 6),
        sampled(3.2, 6, epoch=5),
        down(3.5, 1, recovered=60),
        led(7.5, 2, 6, (2, 3)),
        begins(6, 2, 12),
        sampled(8.5, 12, leader=2, epoch=6, isr=(2, 3)),
        led(9, 3, 7, (2, 3)),
        begins(7, 3, 12),
        sampled(10, 300, leader=3, epoch=7, isr=(2, 3)),
        LogRun(4, 0, 11),
        LogRun(7, 12, 900),
        proof(901),
        acks="1",
        min_isr=1,
    )
    its = label(run, lost(offset=7, sent=2.95, acked=3.0))
    assert (its.kind, its.cause) == TAIL


CRASH = NodeEvent(role="broker", at_ns=ns(21), node=2, event="exited", planned=False, exit_code=137)
STARTED = NodeEvent(role="broker", at_ns=ns(40), node=2, event="started", planned=False)
HIT_BEFORE = (down(5, 2, recovered=15), led(8, 1, 2, (1, 3)), registered(14, 2, 33))


@pytest.mark.parametrize("before", [(), HIT_BEFORE], ids=["never hit", "hit before"])
def test_a_crash_counts_whatever_fault_had_hit_the_broker_before(before):
    run = world(
        led(0, 2, 1, ALL),
        *before,
        led(16, 1, 5, (1, 2)),
        sampled(20.2, 20, isr=(1, 2)),
        CRASH,
        STARTED,
        down(21.5, 1, kind="power-loss", recovered=60),
        *power_cut(21.5, 1, before=30, after=2, mounted=30),
        led(25, 1, 5, (1,), elr=(2,)),
        led(25.6, -1, 6, (), elr=(1, 2), last_known=(1,)),
        registered(41, 2, 70),
        led(41, -1, 6, (), elr=(1,), last_known=(1,)),
        registered(62, 1, 90),
        led(62, -1, 6, (), last_known=(1,)),
        led(63, 1, 7, (1,)),
        begins(5, 1, 3),
        begins(7, 1, 2),
        LogRun(1, 0, 1),
        LogRun(7, 2, 900),
        proof(901),
    )
    its = label(run, lost(offset=7, sent=20.05, acked=20.1))
    assert its.kind == "permitted"
    assert "2 unclean shutdowns ≥ min.insync.replicas 2 before the ISR recovered: brokers 1, 2" in its.clause


def test_the_end_of_a_reassignment_is_no_unclean_election():
    """It takes broker 1, which led, off the replicas, and broker 3 has just come into the ISR: in sync."""

    def moved(second, leader, epoch, isr, replicas):
        return replace(led(second, leader, epoch, isr), replicas=replicas)

    run = world(
        moved(0, 1, 5, (1, 2), (1, 2)),
        sampled(3.5, 20, isr=(1, 2)),
        moved(5, 1, 5, (1, 2), ALL),
        moved(8, 3, 6, (2, 3), (2, 3)),
        begins(6, 3, 2),
        LogRun(5, 0, 1),
        LogRun(6, 2, 900),
        proof(901),
        unclean=True,
    )
    its = label(run)
    assert (its.kind, its.cause) == IN_SYNC_WITHOUT


def test_the_last_of_a_run_of_unknown_offsets_has_the_date_and_the_epoch_of_its_own_sample():
    """Offsets 5 and 6 were there under epoch 5; 20 only under epoch 6, whose log begins at 7."""
    run = world(
        led(0, 1, 5, ALL),
        sampled(3, 7),
        down(4, 1, recovered=30),
        led(5, 2, 6, (2, 3)),
        begins(6, 2, 7),
        sampled(5.3, 21, leader=2, epoch=6, isr=(2, 3)),
        down(6, 2, 3, kind="power-loss", recovered=25),
        *power_cut(6, 2, before=21, after=5, mounted=12),
        *power_cut(6, 3, before=21, after=5, mounted=12),
        led(7, -1, 7, (2,)),
        led(14, 2, 8, (2,)),
        begins(8, 2, 5),
        LogRun(5, 0, 4),
        LogRun(8, 5, 5),
        proof(6),
        elr=False,
    )
    nameless = lost("hw-loss", offset=5, last=20, sent=None, acked=None, producer=-1, sequence=-1)
    its = label(run, nameless)
    assert its.kind == "permitted"
    assert {fate.removed_by.leader_epoch for fate in (its.fate, *its.others)} == {8}


# Broker 1 stops: broker 3 leads, and is killed; broker 2 is elected uncleanly, with nothing. Broker 1 follows
# it until its process has ended. Broker 2 had led when the record was sent, too.


@pytest.mark.parametrize(
    ("ended", "ruled"),
    [(9, ("undecided", "missing evidence")), (5.05, IN_SYNC_WITHOUT)],
    ids=["followed", "not"],
)
def test_a_broker_that_stops_may_cut_its_log_before_its_process_ends(ended, ruled):
    run = world(
        led(0, 2, 4, ALL),
        led(2.5, 1, 5, ALL),
        begins(5, 1, 6),
        sampled(2.4, 5, leader=2, epoch=4),
        led(4, 1, 5, (1, 3)),
        down(5, 1, kind="stop", ended=ended, recovered=20),
        led(5.2, 3, 6, (3,)),
        begins(6, 3, 9),
        down(6, 3, recovered=20),
        led(8, 2, 7, (2,)),
        begins(7, 2, 0),
        log_end(10, 1, 0, source="disk-down"),
        LogRun(7, 0, 900),
        proof(901),
        unclean=True,
    )
    its = label(run, lost(offset=7, sent=2.0, acked=3.0))
    assert (its.kind, its.cause) == ruled, its.clause


# Broker 1 stops with what it had, and is elected uncleanly in the end: 40 to 45 are of its own epoch, and
# broker 3, which led meanwhile, began at 40.


@pytest.mark.parametrize(
    ("first", "ruled"), [(46, ("permitted", "unclean election")), (40, ("undecided", "missing evidence"))]
)
def test_what_a_broker_kept_of_its_own_epoch_it_has_not_cut(first, ruled):
    run = world(
        led(0, 1, 5, ALL),
        led(3, 3, 6, (3,)),
        begins(6, 3, 40),
        sampled(2.6, 35, leader=1, epoch=5),
        down(2.9, 1, kind="stop", ended=4, recovered=20),
        log_end(10, 1, first, source="disk-down"),
        down(6, 3, kind="disk-wipe", recovered=30),
        led(11, 1, 7, (1,)),
        begins(7, 1, first),
        LogRun(5, 0, first - 1),
        LogRun(7, first, 900),
        proof(901),
        unclean=True,
    )
    its = label(run, lost(offset=75, sent=2.7, acked=3.2, wanted="acked-loss"))
    assert (its.kind, its.cause) == ruled, its.clause
