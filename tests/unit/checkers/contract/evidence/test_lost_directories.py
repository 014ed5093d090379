"""A broker that loses a log directory and goes on: what that permits of the replicas there, and of others."""

from dataclasses import replace

import pytest
from fakes.history.judged_run import down, led, log_end, lost, lost_directory, ns, registered, sampled, world

from checkers.anomalies import Anomalies
from checkers.contract.evidence.partition_evidence import partition_evidence
from checkers.contract.judge_contract import judge_contract
from checkers.contract.label import Label
from checkers.history.records.log_runs import LogRun
from checkers.history.rows import TopicPartition

ALL = (1, 2, 3)
TP = TopicPartition("orders", 0)
IN_SYNC_WITHOUT = ("violation", "in-sync replica elected without the data")


def label(anomaly, run) -> Label:
    """The label of one anomaly."""
    return judge_contract(Anomalies.of([anomaly]), run)[0]


def judged(anomaly, run) -> tuple[str, str]:
    """Its kind and its cause."""
    its = label(anomaly, run)
    return its.kind, its.cause


def alone(fault, *, ended=5.5, after=4, **settings):
    """Broker 1 is the last in sync, loses its directory at 5 s, and the partition has no leader from `ended`
    on. It is restarted at 12 s, its log was measured to end at `after` then, and it leads again at 14 s, from
    offset 4 on."""
    return world(
        led(0, 1, 5, (1, 2)),
        led(3, 1, 5, (1,)),
        fault,
        led(ended, -1, 6, (1,)),
        log_end(12.5, 1, after, source="disk-down"),
        led(14, 1, 7, (1,)),
        led(15, 1, 7, (1, 2)),
        LogRun(5, 0, 3),
        LogRun(7, 4, 50),
        **settings,
    )


FAILED = lost_directory(5, 1, restarted=12, recovered=16)


def test_a_lone_leader_that_loses_its_directory_may_come_back_with_a_shorter_log():
    """With min.insync.replicas 1 the one copy is all that was promised."""
    its = label(lost(offset=7, sent=3.5, acked=4), alone(FAILED, min_isr=1))
    assert (its.kind, its.cause) == ("permitted", "ISR of one with min.isr 1")
    assert "1 unclean shutdown ≥ min.insync.replicas 1 before the ISR recovered: broker 1" in its.clause


def test_one_directory_that_is_lost_excuses_no_loss_with_two_in_sync_replicas():
    """What was acknowledged at 2.5 s was on broker 2 as well, which nobody has shut down."""
    its = label(lost(offset=7, sent=2, acked=2.5), alone(FAILED))
    assert (its.kind, its.cause) == IN_SYNC_WITHOUT
    assert "1 unclean shutdown < min.insync.replicas 2 before the ISR recovered: broker 1" in its.clause


def test_without_elr_the_last_in_sync_replica_may_come_back_emptier():
    cause = judged(lost(offset=7, sent=2, acked=2.5), alone(FAILED, elr=False))
    assert cause == ("permitted", "last replica standing")


def test_what_the_directory_still_held_was_not_lost_with_it():
    """The log that came back reached beyond the record."""
    run = alone(FAILED, after=20, min_isr=1)
    assert judged(lost(offset=7, sent=3.5, acked=4), run) == IN_SYNC_WITHOUT


def test_flush_messages_1_permits_no_loss_by_a_directory_that_fails():
    assert judged(lost(offset=7, sent=2, acked=2.5), alone(FAILED, elr=False, flush=1))[0] == "violation"


def test_the_replicas_in_the_other_directory_of_the_broker_lose_nothing():
    """Its restart is an unclean shutdown to the controllers, but the kernel has all that it wrote."""
    other = lost_directory(5, 1, restarted=12, recovered=16, partition=1)
    assert judged(lost(offset=7, sent=3.5, acked=4), alone(other, ended=12.2, min_isr=1)) == IN_SYNC_WITHOUT


def test_a_directory_that_failed_excuses_no_replica_that_is_not_named():
    """As where nobody knows which replicas lay in it: its broker ended only for the restart."""
    unnamed = replace(FAILED, replicas=())
    assert judged(lost(offset=7, sent=3.5, acked=4), alone(unnamed, ended=12.2, min_isr=1)) == IN_SYNC_WITHOUT
    (found,) = outages(unnamed)
    assert (found.offline, found.unclean, found.data_lost) == (False, True, False)


def test_a_full_directory_takes_nothing_that_was_written():
    full = lost_directory(5, 1, restarted=12, recovered=16, kind="disk-full")
    assert judged(lost(offset=7, sent=3.5, acked=4), alone(full, min_isr=1)) == IN_SYNC_WITHOUT


def test_a_log_that_nobody_measured_is_undecided():
    run = world(
        led(0, 1, 5, (1,)),
        FAILED,
        led(5.5, -1, 6, (1,)),
        led(14, 1, 7, (1,)),
        LogRun(7, 4, 50),
        min_isr=1,
    )
    its = label(lost(offset=7, sent=3.5, acked=4), run)
    assert its.kind == "undecided"
    assert its.clause.endswith("how far the log of broker 1 reached after its log directory was lost")


def test_the_directories_of_as_many_as_min_isr_may_go_together():
    """Brokers 1 and 2 lose theirs at 5 s, and are all that is in sync."""
    run = world(
        led(0, 1, 5, (1, 2)),
        sampled(4.5, 20, isr=(1, 2)),
        lost_directory(5, 1, 2, restarted=12, recovered=20),
        led(5.6, -1, 6, (), last_known=(1,)),
        *(log_end(12.5, node, 4, source="disk-down") for node in (1, 2)),
        led(14, 1, 7, (1,)),
        led(16, 1, 7, ALL),
        LogRun(5, 0, 3),
        LogRun(7, 4, 50),
    )
    its = label(lost(offset=7, sent=3.5, acked=4), run)
    assert (its.kind, its.cause) == ("permitted", "power loss of all in-sync replicas")
    assert "2 unclean shutdowns ≥ min.insync.replicas 2 before the ISR recovered: brokers 1, 2" in its.clause


def test_a_directory_counts_beside_the_power_of_another_broker():
    run = world(
        led(0, 1, 5, (1, 2)),
        sampled(4.5, 20, isr=(1, 2)),
        lost_directory(5, 1, restarted=12, recovered=20),
        down(4.8, 2, recovered=20),
        led(5.6, -1, 6, (), last_known=(1,)),
        log_end(12.5, 1, 4, source="disk-down"),
        led(14, 1, 7, (1,)),
        LogRun(5, 0, 3),
        LogRun(7, 4, 50),
    )
    its = label(lost(offset=7, sent=3.5, acked=4), run)
    assert (its.kind, its.cause) == ("permitted", "last known ELR elected without the data")


def test_a_broker_that_was_elected_while_its_directory_was_gone_never_led():
    """The controller did not know it yet. Broker 2, elected next, removes what broker 3 had acknowledged."""
    run = world(
        led(0, 3, 5, ALL),
        lost_directory(5, 1, restarted=12, recovered=16),
        led(5.2, 1, 6, (1, 2)),
        led(5.6, 2, 7, (2,)),
        registered(13.5, 1, 60),
        led(15, 2, 7, ALL),
        sampled(4.5, 5, leader=3),
        LogRun(5, 0, 6),
        LogRun(7, 7, 50),
        acks="1",
    )
    election = label(lost(offset=7, sent=4.9, acked=5), run).fate.removed_by
    assert (election.leader, election.leader_epoch) == (2, 7)


def outages(fault, *more):
    """What became of the replica of broker 1."""
    run = world(led(0, 1, 5, ALL), fault, led(5.6, 2, 6, (2, 3)), led(15, 2, 6, ALL), *more)
    return [each for each in partition_evidence(run, TP).outages if each.node == 1]


def test_the_replica_is_gone_from_the_failure_until_the_broker_has_started_and_is_in_sync():
    (found,) = outages(FAILED, log_end(12.5, 1, 4, source="disk-down"), registered(13.5, 1, 60))
    assert (found.since_ns, found.up_ns, found.leads_ns, found.until_ns) == (ns(5), ns(13), ns(13.5), ns(15))
    assert (found.offline, found.unclean, found.data_lost, found.wiped) == (True, True, True, False)
    assert (found.before, found.after, found.reached) == (None, 4, None)


@pytest.mark.parametrize("kind", ["log-dir-failure", "disk-full"])
def test_only_a_directory_that_fails_takes_what_was_unsynced(kind):
    (found,) = outages(lost_directory(5, 1, restarted=12, recovered=16, kind=kind))
    assert (found.unclean, found.data_lost) == (True, kind == "log-dir-failure")


def test_the_replicas_in_other_directories_are_gone_only_for_the_restart():
    (found,) = outages(lost_directory(5, 1, restarted=12, recovered=16, partition=1))
    assert (found.since_ns, found.up_ns) == (ns(11.8), ns(13))
    assert (found.offline, found.unclean, found.data_lost) == (False, True, False)


def test_a_wiped_directory_takes_the_replicas_there_and_no_others():
    """The others are down with their broker for as long."""
    wipe = replace(down(5, 1, kind="disk-wipe", recovered=12), replicas=("1/orders-0",))
    (found,) = outages(wipe)
    assert (found.offline, found.unclean, found.data_lost, found.wiped) == (False, True, True, True)
    (other,) = outages(replace(wipe, replicas=("1/orders-1",)))
    assert (other.unclean, other.data_lost, other.wiped) == (True, False, False)
