"""A leader that was elected though it was not in sync, and had been when the record was written."""

from dataclasses import replace

import pytest
from fakes.history.judged_run import (
    begins_to,
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
from checkers.history.rows import BrokerLine

# All are killed at 4 s. Broker 1, which is alone in sync by then, does not come back before broker 2 is
# elected, whose log begins at 5.
KILLED = (
    led(0, 1, 5, (1, 2, 3)),
    sampled(3.5, 8),
    down(4, 1, 2, 3, recovered=12),
    led(5, 1, 5, (1,)),
    led(6, -1, 6, (1,)),
    led(13, 2, 7, (2,)),
    led(14, 2, 7, (1, 2)),
    LogRun(5, 0, 4),
    LogRun(7, 5, 50),
)
ALL = (1, 2, 3)
KEPT_IT = ("violation", "elected leader lost what it had")
UNCLEAN = ("permitted", "unclean election")
RECORD = lost(offset=7, sent=2.0, acked=3.0)


def label(run, record=RECORD) -> Label:
    return judge_contract(Anomalies.of([record]), run)[0]


def test_a_kill_takes_nothing_from_a_leader_in_sync_when_it_was_written_unclean_election_or_not():
    found = label(world(*KILLED, unclean=True))
    assert (found.kind, found.cause) == KEPT_IT
    assert found.clause == (
        "broker 2, not in sync, was elected at 13.00 s (epoch 7, its log begins at offset 5) without it, "
        "though it had been in sync when it was written, and nothing that was done to it took it"
    )


@pytest.mark.parametrize(
    "record",
    [lost(offset=7, sent=2.0, acked=5.5), lost(offset=7, sent=5.4, acked=5.5)],
    ids=["it left meanwhile", "it had left before"],
)
def test_who_was_out_of_sync_at_any_time_until_the_acknowledgement_may_never_have_had_it(record):
    found = label(world(*KILLED, unclean=True), record)
    assert (found.kind, found.cause) == UNCLEAN, found.clause


def test_what_only_its_leader_had_acknowledged_may_have_been_replicated_after_it_left():
    """With acks=1 the acknowledgement does not say when the high watermark came above it: a sample does."""
    below, above, late = sampled(3.5, 7), sampled(3.5, 8), sampled(5.5, 8, isr=(1,))
    rows = [row for row in KILLED if row != above]
    found = label(world(*rows, below, late, unclean=True, acks="1"), RECORD)
    assert (found.kind, found.cause) == UNCLEAN, found.clause
    found = label(world(*rows, above, unclean=True, acks="1"), RECORD)
    assert (found.kind, found.cause) == KEPT_IT, found.clause


def test_a_reader_that_was_given_it_shows_that_all_in_sync_had_it():
    seen = lost("hw-loss", offset=7, sent=2.0, acked=None, seen=3.0)
    found = label(world(*KILLED, unclean=True), seen)
    assert (found.kind, found.cause) == KEPT_IT


POWER_CUT = (down(4.5, 2, kind="power-loss", recovered=12), *power_cut(4.5, 2, before=8, after=5, mounted=11))
WIPED = (down(4.5, 2, kind="disk-wipe", recovered=12), *wiped(4.5, 2, before=8, mounted=11))
OFFLINE = (
    replace(down(4.5, 2, kind="log-dir-failure", recovered=12), replicas=("2/orders-0",), begin_ns=ns(4.6)),
)
FULL = (replace(OFFLINE[0], kind="disk-full", data_lost=()),)
ELSEWHERE = (replace(led(11, -1, 6, (1,)), replicas=(1, 3)),)


@pytest.mark.parametrize(
    ("what", "outcome"),
    [
        (POWER_CUT, UNCLEAN),
        (WIPED, UNCLEAN),
        (OFFLINE, UNCLEAN),
        (FULL, UNCLEAN),
        (ELSEWHERE, UNCLEAN),
        ((log_end(9, 2, 8, source="disk-down"),), KEPT_IT),
    ],
    ids=[
        "its power was cut",
        "its disk was replaced",
        "its directory failed",
        "its directory was full",
        "it was moved",
        "measured",
    ],
)
def test_it_may_have_lost_it_by_what_was_done_to_it(what, outcome):
    found = label(world(*KILLED, *what, unclean=True))
    assert (found.kind, found.cause) == outcome


def test_what_it_lost_no_later_leader_has_mended():
    """Broker 3, which may have had it still, leads after it, and then broker 1, whose power had been cut."""
    events = (
        *KILLED[:-2],
        log_end(13.5, 2, 5, epoch=7),
        down(4.5, 1, kind="power-loss", recovered=18),
        *power_cut(4.5, 1, before=8, after=5, mounted=11),
        led(20, -1, 8, (2,)),
        led(21, 3, 9, (3,)),
        led(25, -1, 10, (3,)),
        led(26, 1, 11, (1,)),
        LogRun(5, 0, 4),
        LogRun(11, 5, 50),
    )
    found = label(world(*events, unclean=True))
    assert (found.kind, found.cause) == KEPT_IT, found.clause


@pytest.mark.parametrize(
    ("in_sync", "kind"),
    [((1, 2), "permitted"), ((1, 2, 3), "undecided")],
    ids=["which never had it", "which had it, too"],
)
def test_it_may_have_cut_it_to_follow_another_between(in_sync, kind):
    """Broker 3 leads from 8 s until 11 s: where its log began then, nothing shows."""
    events = (
        led(0, 1, 5, in_sync),
        sampled(3.5, 8, isr=in_sync),
        down(4, 1, 2, 3, recovered=7),
        led(5, 1, 5, (1,)),
        led(6, -1, 6, (1,)),
        led(8, 3, 7, (3,)),
        begins_to("lead", 8, 3, 7),
        led(11, -1, 8, (3,)),
        led(13, 2, 9, (2,)),
        LogRun(5, 0, 4),
        LogRun(9, 5, 50),
    )
    found = label(world(*events, unclean=True))
    assert found.kind == kind, found.clause


def loaded(second, node, offset):
    """A broker that was started wrote how far the log reaches that it loaded."""
    at_ms = begins_to("lead", second, node, 0).at_ms
    return BrokerLine(topic="orders", partition=0, at_ms=at_ms, node=node, kind="loaded", offset=offset)


ON_DISK = log_end(11, 2, 8, source="disk-down")


def killed_behind(*evidence):
    """Broker 2 comes into the ISR after the acknowledgement; then all are killed, and it is elected."""
    return world(
        led(0, 1, 5, (1, 3)),
        led(3.3, 1, 5, ALL),
        sampled(3.5, 8),
        down(4, 1, 2, 3, recovered=12),
        led(5, 1, 5, (1,)),
        led(6, -1, 6, (1,)),
        *evidence,
        led(13, 2, 7, (2,)),
        led(14, 2, 7, (1, 2)),
        LogRun(5, 0, 4),
        LogRun(7, 5, 50),
        unclean=True,
    )


def test_what_its_disk_held_and_its_process_did_not_load_it_has_dropped():
    found = label(killed_behind(ON_DISK, loaded(12.5, 2, 5)))
    assert (found.kind, found.cause) == KEPT_IT
    assert found.clause == (
        "broker 2, not in sync, was elected at 13.00 s (epoch 7, its log begins at offset 5) without it: its "
        "disk held the log up to offset 8 when it was down, and its process loaded it up to 5"
    )


@pytest.mark.parametrize(
    "evidence",
    [(ON_DISK,), (loaded(12.5, 2, 5),), (ON_DISK, loaded(12.5, 2, 8)), (ON_DISK, loaded(3, 2, 5))],
    ids=["nothing loaded", "no disk read", "all of it", "of before"],
)
def test_where_that_is_not_shown_it_is_an_unclean_election(evidence):
    found = label(killed_behind(*evidence))
    assert (found.kind, found.cause) == UNCLEAN, found.clause


def given_back(*replicas):
    """Broker 1 leads, and acknowledges offset 7 with acks=1 at 3 s; the partition has these `replicas` from
    5 s to 8 s, and then broker 1 is elected uncleanly. Its log begins at 0."""
    moved = replace(led(5, 2, 6, (2,)), replicas=replicas)
    return world(
        led(0, 1, 5, (1, 2)),
        sampled(3.5, 5),
        moved,
        replace(led(7, -1, 7, ()), replicas=replicas),
        led(8, 1, 8, (1,)),
        replace(begins_to("lead", 5.1, 2, 6), offset=9),
        LogRun(8, 0, 50),
        acks="1",
        unclean=True,
    )


def test_a_leader_whose_replica_was_taken_away_begins_without_what_it_had_written():
    """A reassignment deletes it, and gives it an empty one back; what stays is there."""
    found = label(given_back(2, 3))
    assert (found.kind, found.cause) == ("permitted", "acks=1 unreplicated tail")
    assert label(given_back(1, 2)).kind == "violation"
