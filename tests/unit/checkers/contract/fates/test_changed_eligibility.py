"""Settings that change who is eligible: whom the controller has forgotten, and who never had the record."""

from dataclasses import replace

import pytest
from fakes.history.judged_run import changed, down, feature, led, lost, ns, power_cut, sampled, world

from checkers.anomalies import Anomalies
from checkers.contract.judge_contract import judge_contract
from checkers.history.records.log_runs import LogRun

ALL = (1, 2, 3)
ACKED = lost(offset=7, sent=2, acked=3)
VIOLATION = ("violation", "in-sync replica elected without the data")
FORGOTTEN = ("permitted", "eligible replicas forgotten")
REMOVED = ("permitted", "replica removed by a reassignment")
LAST_STANDING = ("permitted", "last replica standing")
UNDECIDED = ("undecided", "missing evidence")


def at(offset, row):
    """A row of the metadata log, with its place in it."""
    return replace(row, log_offset=offset)


def judged(anomaly, *events, **settings):
    """The kind and the cause of the label."""
    (label,) = judge_contract(Anomalies.of([anomaly]), world(*events, **settings))
    return label.kind, label.cause


MADE = at(10, replace(led(0, 1, 5, ALL), partition_epoch=0))
CUT = (
    MADE,
    at(40, led(5, 1, 5, (1,), elr=(2, 3))),
    down(9, 1, kind="power-loss", recovered=14),
    *power_cut(9, 1, before=30, after=0, mounted=13),
    at(60, led(11, -1, 6, (), last_known=(1,))),
    at(70, led(14, 1, 7, (1,))),
    LogRun(7, 0, 20),
)
"""Leader 1, alone in sync since 5 s, loses its power at 9 s: one unclean shutdown of two."""
EMPTIED = at(52, led(7, 1, 5, (1,)))


@pytest.mark.parametrize("value", ["3", "2"])
def test_one_power_cut_may_take_what_another_value_has_left_on_one_replica(value):
    assert judged(ACKED, *CUT) == VIOLATION
    assert judged(ACKED, *CUT, EMPTIED, changed(7, value, 51)) == FORGOTTEN


def test_the_default_of_all_topics_empties_the_elr_as_well():
    default = changed(7, "3", 51, kind="cluster", name="")
    assert judged(ACKED, *CUT, EMPTIED, default) == FORGOTTEN


def test_an_elr_that_is_emptied_without_a_change_of_the_setting_permits_nothing():
    assert judged(ACKED, *CUT, EMPTIED) == VIOLATION
    assert judged(ACKED, *CUT, EMPTIED, changed(4, "3", 30)) == VIOLATION


def test_who_came_into_the_isr_after_that_has_it_and_counts():
    back = (at(54, led(7.5, 1, 5, (1, 2))), at(56, led(8.5, 1, 5, (1,), elr=(2,))))
    assert judged(ACKED, *CUT, EMPTIED, changed(7, "3", 51), *back) == VIOLATION


def test_nobody_was_kept_while_elr_was_off():
    off_and_on = (feature(4, None, 30), feature(8, "1", 54))
    nobody = at(40, led(5, 1, 5, (1,)))
    run = (MADE, nobody, *CUT[2:])
    assert judged(ACKED, *run, feature(-1, "1", 2), *off_and_on) == LAST_STANDING
    assert judged(ACKED, *run, feature(-1, "1", 2)) == VIOLATION


RAISED = (
    MADE,
    changed(4, "2", 50),
    at(60, led(5, 1, 5, (1,), elr=(2, 3))),
    sampled(5.6, 9),
    down(9, 1, recovered=14),
    at(70, led(12, 2, 6, (2,), elr=(3,))),
    LogRun(5, 0, 4),
    LogRun(6, 5, 20),
)
"""Two have to be in sync from 4 s on; leader 1 is alone from 5 s on, is killed at 9 s, and 2 is elected."""


def known(seen):
    """The fault that has changed it, which saw every broker know it."""
    fault = down(3.9, kind="config")
    return replace(
        fault, target="topic orders: min.insync.replicas=2", proven=True, effect_ns=ns(seen), end_ns=ns(16)
    )


@pytest.mark.parametrize(
    ("acked", "seen", "expected"),
    [
        (5.5, 4.2, UNDECIDED),
        (8.6, 4.2, VIOLATION),
        (3.0, 4.2, VIOLATION),
        (8.6, 8.0, UNDECIDED),
    ],
    ids=["alone, before all knew", "alone, when all knew", "when all were in sync", "known late"],
)
def test_what_a_leader_may_have_committed_alone_by_an_older_value_no_eligible_one_must_have(
    acked, seen, expected
):
    anomaly = lost(offset=7, sent=acked - 0.1, acked=acked)
    assert judged(anomaly, *RAISED, known(seen), min_isr=1) == expected


def test_a_setting_may_end_between_an_election_and_what_its_deposed_leader_has_appended():
    """Leader 1 does not hear until 14 s that 2 was elected at 7 s; what it appends then is gone by that."""
    run = (
        MADE,
        changed(1, "1", 20),
        at(60, led(7, 2, 6, (2, 3))),
        changed(8.5, "2", 65),
        at(70, led(14, 2, 6, ALL)),
        sampled(13.2, 5),
        sampled(13.9, 5),
        LogRun(5, 0, 4),
        LogRun(6, 5, 20),
    )
    lowered = replace(
        down(0.9, kind="config"),
        target="topic orders: min.insync.replicas=1",
        proven=True,
        effect_ns=ns(1.2),
        end_ns=ns(8.4),
        recovered=True,
        recovered_ns=ns(8.6),
    )
    anomaly = lost(offset=7, sent=13.5, acked=13.6)
    assert judged(anomaly, *run, lowered, acks="1") == ("permitted", "deposed leader")


def given(offset, row, *replicas):
    """A row of the metadata log in which the partition has these replicas."""
    return at(offset, replace(row, replicas=replicas))


def moved_away(*states, elr=(), more=()):
    """Broker 3 is stopped, and the partition is given the replicas 1 and 3: 2, in sync, is none any more.
    Leader 1 loses its power at 9 s, and leads again without the record. `states`: what follows the move."""
    return judged(
        ACKED,
        MADE,
        down(4, 3, kind="stop", recovered=30),
        at(40, led(4.5, 1, 5, (1, 2))),
        given(50, led(6, 1, 5, (1,), elr=elr), 1, 3),
        *states,
        down(9, 1, kind="power-loss", recovered=14),
        *power_cut(9, 1, before=30, after=0, mounted=13),
        given(60, led(11, -1, 6, (), last_known=(1,)), 1, 3),
        given(70, led(14, 1, 7, (1,)), 1, 3),
        LogRun(7, 0, 20),
        *more,
    )


def test_one_power_cut_may_take_what_a_reassignment_has_left_on_one_replica():
    assert moved_away() == REMOVED
    assert moved_away(at(45, led(5, 1, 5, (1,), elr=(2,)))) == REMOVED


def test_a_reassignment_excuses_nobody_else_who_had_it():
    """Broker 3 is in sync, or eligible, after it; or the one that was taken away was neither."""
    assert moved_away(given(55, led(8, 1, 5, (1, 3)), 1, 3)) == VIOLATION
    assert moved_away(elr=(3,)) == VIOLATION
    assert moved_away(at(45, led(5, 1, 5, (1,)))) == VIOLATION
