"""What follows from a loss, what a retry does, and what no configuration permits."""

from dataclasses import replace

import pytest
from fakes.history.judged_run import (
    ALL_CUT,
    LEADER_KILLED,
    QUIET,
    down,
    led,
    lost,
    ns,
    proof,
    sampled,
    world,
)

from checkers.anomalies import Anomalies
from checkers.contract.judge_contract import judge_contract
from checkers.contract.label import Label
from checkers.history.records.log_runs import LogRun
from checkers.history.rows import ClientEvent
from checkers.history.tables import OPTIONAL


def label(anomaly, run, *others) -> Label:
    """The label of the first anomaly among all of them."""
    anomalies = Anomalies.of([anomaly, *others])
    return judge_contract(anomalies, run)[list(anomalies).index(anomaly)]


@pytest.mark.parametrize("wanted", ["content", "resurrected", "phantom", "offset-gap"])
def test_no_configuration_permits_these(wanted):
    for events in (ALL_CUT, LEADER_KILLED):
        anything_goes = world(*events, acks="0", unclean=True, min_isr=1, elr=False)
        assert label(lost(wanted), anything_goes) == Label("violation", f"no configuration permits {wanted}")


def test_only_an_answer_fixes_a_place_in_real_time():
    """Under acks=0 a send completes when it has left its client."""
    late = lost("real-time-order")
    for acks in ("1", "all"):
        assert label(late, world(*ALL_CUT, acks=acks, unclean=True, min_isr=1, elr=False)) == Label(
            "violation", "no configuration permits real-time-order"
        )
    assert label(late, world(*QUIET, acks="0")) == Label(
        "permitted", "acks=0: its completion shows only that it left the client", "acks=0"
    )


def trouble(second, **counts) -> ClientEvent:
    """What the client of producer 0 counted in the second before."""
    return ClientEvent(at_ns=ns(second), since_ns=ns(second - 1), producer=0, broker=1, **counts)


@pytest.mark.parametrize("wanted", ["duplicate", "producer-order"])
@pytest.mark.parametrize(
    "event",
    [trouble(3, disconnects=1), trouble(3, timeouts=1), trouble(3, retries=1), led(2.5, 2, 6, (2, 3))],
)
def test_without_idempotence_a_retry_may_double_and_reorder_where_one_was_possible(wanted, event):
    run = world(*QUIET, event, acks="all", idempotence=False)
    assert label(lost(wanted), run) == Label(
        "permitted", "idempotence off: a retry may write a record again, or behind a later one", "retry"
    )
    assert label(lost(wanted), replace(run, producers=world(*QUIET).producers)).kind == "violation"


@pytest.mark.parametrize("wanted", ["duplicate", "producer-order"])
def test_without_idempotence_and_without_a_reason_to_retry_it_is_a_violation(wanted):
    """A client sends again after a time-out, a disconnect or a leader change, and for nothing else."""
    for events in ((), (trouble(30, retries=9),), (trouble(3),)):
        run = world(*QUIET, *events, acks="1")
        assert label(lost(wanted), run).clause == (
            "idempotence off, but its client had no reason to send it again: no time-out, no disconnect, "
            "no leader change"
        )


def test_whether_a_retry_was_possible_is_undecided_where_nobody_recorded_it():
    run = world(*QUIET, acks="1", collected=frozenset(OPTIONAL) - {"client_events"})
    assert label(lost("duplicate"), run).kind == "undecided"


def test_a_retrys_second_copy_may_lie_behind_later_records():
    """Real-time order is excused for the copy, at its very place, and for nothing else."""
    late, retried = lost("real-time-order", offset=9), trouble(3, retries=1)
    assert label(late, world(*QUIET, retried, acks="1"), lost("duplicate", offset=9)).permitted
    assert label(late, world(*QUIET, retried, acks="1"), lost("duplicate", offset=8)).kind == "violation"
    assert label(late, world(*QUIET, retried, acks="all"), lost("duplicate", offset=9)).kind == "violation"


def test_an_idempotent_record_under_two_producer_epochs_was_sent_again_by_its_client():
    """librdkafka does so after a short delivery.timeout.ms; a broker writes one epoch's record once."""
    copy = replace(lost("duplicate", offset=9), acked_offset=3)
    resent = world(*QUIET, batches=[(0, 70, 0), (5, 70, 1)])
    assert label(copy, resent) == Label(
        "violation",
        "re-sent under a new producer epoch (client): its two copies are of different producer epochs",
        "re-sent under a new producer epoch (client)",
    )
    twice = world(*QUIET, batches=[(0, 70, 0), (5, 70, 0)])
    assert label(copy, twice) == Label("violation", "idempotence: each record once, in order")


def test_an_earlier_attempts_copy_may_outlive_the_acknowledged_one_without_idempotence():
    """Only where the acknowledged copy was permitted to go."""
    assert label(lost("ack-offset", acked=2.9), world(*LEADER_KILLED, acks="1")).permitted
    assert label(lost("ack-offset", acked=2.9), world(*QUIET, acks="1")).kind == "violation"
    assert (
        label(lost("ack-offset", acked=2.9), world(*ALL_CUT)).clause == "idempotence: a record has one place"
    )


BROUGHT_BACK = (
    led(0, 2, 5, (1, 2, 3)),
    sampled(2.9, 6, leader=2),
    led(10, 1, 6, (1,)),
    sampled(11, 20, leader=1, epoch=6, isr=(1,)),
    down(12, 1, recovered=30),
    led(16, 2, 7, (2,)),
    LogRun(5, 0, 11),
    LogRun(7, 12, 900),
    proof(901),
)
"""Broker 2 led, and had an attempt in a tail that nobody followed; broker 1 acknowledged the next one."""


def moved(*, to, offset=7, acked=10.5):
    """A record that was sent at 4 s, and acknowledged at an offset; in the log it is elsewhere."""
    return replace(lost("ack-offset", offset=offset, sent=4, acked=acked), acked_offset=to)


def test_an_unclean_election_may_bring_back_an_earlier_attempt_of_an_idempotent_producer_too():
    found = label(moved(to=9), world(*BROUGHT_BACK, min_isr=1, unclean=True))
    assert (found.kind, found.cause) == ("permitted", "unclean election")
    forbidden = label(moved(to=9), world(*BROUGHT_BACK, min_isr=1))
    assert forbidden.clause == "idempotence: a record has one place"


@pytest.mark.parametrize("to", [5, 12], ids=["where its leader wrote it", "of a later epoch"])
def test_an_unclean_election_brings_back_only_what_is_of_an_older_epoch(to):
    """Broker 2 has acknowledged it at offset 7, under epoch 5, which ends at offset 6 now."""
    run = world(
        led(0, 2, 5, (1, 2, 3)),
        led(3, 2, 5, (2,)),
        led(8, 1, 6, (1,)),
        LogRun(5, 0, 5),
        LogRun(6, 6, 900),
        min_isr=1,
        unclean=True,
    )
    its = label(moved(to=to, acked=4.5), run)
    assert (its.kind, its.cause) == ("violation", "moved")


def test_where_the_acknowledged_attempt_may_be_of_either_leader_nothing_is_decided():
    """By broker 1 it may be, and what broker 2 had before is brought back; or broker 2 gave it two places."""
    run = world(*BROUGHT_BACK, min_isr=1, unclean=True)
    its = label(moved(to=9, offset=13), run)
    assert its.kind == "undecided"
    assert "unclean election: broker 2, not in sync, was elected at 16.00 s" in its.clause
    assert "idempotence: a record has one place" in its.clause


def test_readers_may_disagree_only_where_every_loss_is_permitted():
    disagreed = lost("same-for-all", producer=-1, sequence=-1, sent=None, acked=None)
    loss = lost("hw-loss")
    assert label(disagreed, world(*ALL_CUT), loss).permitted
    assert label(disagreed, world(*LEADER_KILLED), loss).kind == "violation"
    assert label(disagreed, world(*ALL_CUT), lost("hw-loss", offset=6)).kind == "violation"
    other = lost("hw-loss", sequence=2, sent=11, acked=12)
    assert label(disagreed, world(*ALL_CUT), loss, other).kind == "violation"
    assert label(disagreed, world(*ALL_CUT)).kind == "violation"


def stepped(offset, *, before, since, at):
    """A reader was given `before` at one second, and `offset` at a later one."""
    anomaly = lost("monotone-read", offset=offset, sent=since, acked=at)
    return replace(anomaly, acked_offset=before)


def test_a_reader_may_step_back_only_over_a_permitted_truncation_between_its_two_reads():
    """Broker 1 was elected at 10 s without the records from offset 2 on."""
    loss = lost("hw-loss", offset=7)
    assert label(stepped(3, before=8, since=3.9, at=11), world(*ALL_CUT), loss).permitted
    assert label(stepped(3, before=8, since=20, at=30), world(*ALL_CUT), loss).kind == "violation"
    assert label(stepped(3, before=8, since=3.9, at=11), world(*ALL_CUT)).kind == "violation"
    assert label(stepped(3, before=8, since=3.9, at=11), world(*LEADER_KILLED), loss).kind == "violation"


def test_no_truncation_permits_a_reader_to_skip_records_that_exist():
    loss = lost("hw-loss", offset=7)
    assert label(stepped(8, before=3, since=3.9, at=11), world(*ALL_CUT), loss).kind == "violation"
