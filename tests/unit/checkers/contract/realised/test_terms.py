"""Settings that change while a run goes on: a loss is judged by each value that may have been in force.

One unclean shutdown, a power cut of leader 1 at 9 s, takes what was acknowledged: with min.insync.replicas=2
a violation, with 1 permitted.
"""

from dataclasses import replace

import pytest
from fakes.history.judged_run import (
    ALL_CUT,
    changed,
    checkpoint,
    down,
    feature,
    led,
    log_end,
    lost,
    names_release,
    ns,
    power_cut,
    sampled,
    world,
)

from checkers.anomalies import Anomalies
from checkers.contract.judge_contract import judge_contract
from checkers.contract.realised.terms import Terms, TopicPromise
from checkers.history.metadata_log.settings import UNCLEAN
from checkers.history.records.log_runs import LogRun
from checkers.history.rows import Fault

FLUSH = "flush.messages"
ALL = (1, 2, 3)
CUT = (
    led(0, 1, 5, ALL),
    down(9, 1, kind="power-loss", recovered=14),
    *power_cut(9, 1, before=30, after=0, mounted=13),
    led(11, -1, 6, (), last_known=(1,)),
    led(14, 1, 7, (1,)),
    LogRun(7, 0, 20),
)


def alone(second):
    """The same, but that leader 1 is alone in sync from a time on."""
    return (CUT[0], led(second, 1, 5, (1,)), *CUT[1:])


EARLY, LATE = lost(offset=7, sent=2, acked=3), lost(offset=8, sent=7, acked=8, sequence=2)


def config(
    second, healed, *, seen=None, recovered=None, target="topic orders: min.insync.replicas=1"
) -> Fault:
    """The fault that has changed it, and when every broker was seen to know the new value, and the old."""
    return replace(
        down(second, kind="config"),
        target=target,
        effect_ns=ns(seen),
        proven=seen is not None,
        end_ns=ns(healed),
        heal_ns=ns(healed),
        recovered_ns=ns(recovered),
        recovered=recovered is not None,
    )


def labels(*anomalies, run):
    """Kinds and causes."""
    return [(label.kind, label.cause) for label in judge_contract(Anomalies.of(anomalies), run)]


VIOLATION = ("violation", "in-sync replica elected without the data")
PERMITTED = ("permitted", "last known ELR elected without the data")
UNDECIDED = ("undecided", "missing evidence")


def test_without_a_change_the_settings_of_the_topic_count():
    assert labels(EARLY, run=world(*CUT)) == [VIOLATION]
    assert labels(EARLY, run=world(*CUT, min_isr=1)) == [PERMITTED]


def test_a_weaker_value_in_its_time_leaves_a_loss_undecided():
    """From 4 s to 6 s one replica was enough: neither value alone decides, and the label names both."""
    run = world(*alone(5), changed(4, "1"), changed(6, "2", 60), config(4, 6, seen=4.2, recovered=6.3))
    assert labels(EARLY, run=run) == [UNDECIDED]
    (label,) = judge_contract(Anomalies.of([EARLY]), run)
    assert "1 unclean shutdown < min.insync.replicas 2" in label.clause
    assert "1 unclean shutdown ≥ min.insync.replicas 1" in label.clause


LOWERED = (changed(4, "1"), config(4, 16, seen=4.2))


@pytest.mark.parametrize(
    ("second", "expected"),
    [(3.2, UNDECIDED), (6, UNDECIDED), (8.5, ("permitted", "ISR of one with min.isr 1"))],
    ids=["alone before", "alone before all knew it", "alone when all knew it"],
)
def test_what_all_had_is_judged_by_what_was_in_force_when_they_were_too_few(second, expected):
    """It was acknowledged at 3 s, when two had to be in sync; from 4 s on one was enough, as all knew at
    7.2 s."""
    assert labels(EARLY, run=world(*alone(second), *LOWERED)) == [expected]


def test_a_weaker_value_while_enough_were_in_sync_does_not_count():
    """From 4 s to 6 s; all three were in sync until 11 s."""
    run = world(*CUT, changed(4, "1"), changed(6, "2", 60), config(4, 6, seen=4.2, recovered=6.3))
    assert labels(EARLY, run=run) == [VIOLATION]


def test_what_was_in_flight_when_they_became_too_few_is_judged_by_all_values_since_its_send():
    """At 8.5 s."""
    in_flight = lost(offset=7, sent=6.5, acked=8.6)
    assert labels(in_flight, run=world(*alone(8.5), *LOWERED)) == [UNDECIDED]


def test_what_one_leader_alone_had_acknowledged_was_committed_by_nobody():
    """acks=1: the high watermark is above it only at 8.7 s, when one replica is in sync."""
    run = world(*alone(8.5), *LOWERED, sampled(5, 5), sampled(8.7, 9, isr=(1,)), acks="1")
    assert labels(EARLY, run=run) == [UNDECIDED]


def test_who_was_in_sync_with_a_leader_that_lacked_it_does_not_count():
    """Broker 2 was elected uncleanly, with a log to offset 5 since its power was cut; broker 3 was in sync
    with it; then broker 1 led again, which had followed nobody."""
    between = (
        *(down(4.6, 2, kind="power-loss", recovered=5.9), *power_cut(4.6, 2, before=9, after=5, mounted=5.5)),
        *(led(4.5, 1, 5, (1,)), led(6, 2, 6, (2,)), led(6.5, 2, 6, (2, 3)), led(8.6, 1, 7, (1,))),
        *(checkpoint(2, (5, 0), (6, 5)), checkpoint(1, (5, 0), (7, 12))),
    )
    after = (led(11, -1, 8, (), last_known=(1,)), led(14, 1, 9, (1,)), LogRun(9, 0, 20))
    run = world(CUT[0], *between, *CUT[1:4], *after, *LOWERED, unclean=True)
    assert labels(EARLY, run=run) == [UNDECIDED]


def test_who_is_in_sync_with_the_next_leader_does_not_count():
    """Leader 1 is alone from 8.5 s on, one is enough from 9.2 s on, and at 14 s all are in sync."""
    lowered = (changed(9.2, "1"), config(9.2, 16, seen=9.4))
    run = world(*alone(8.5)[:-2], led(14, 1, 7, ALL), LogRun(7, 0, 20), *lowered)
    assert labels(EARLY, run=run) == [UNDECIDED]


def test_a_weaker_value_that_every_broker_had_left_before_does_not_count():
    """The healing was seen at 1.6 s; the record of 7 s is judged by the strict value alone, that of 2 s by
    both. Records of one block are told apart."""
    run = world(
        *alone(1), changed(0.5, "1"), changed(1.5, "2", 60), config(0.5, 1.5, seen=0.7, recovered=1.6)
    )
    assert labels(EARLY, LATE, run=run) == [UNDECIDED, VIOLATION]


@pytest.mark.parametrize(
    "fault",
    [
        config(0.5, 1.5, seen=0.7),
        config(0.5, 1.5, seen=0.7, recovered=1.6, target="topic audit: min.insync.replicas=1"),
        config(0.5, 1.5, seen=0.7, recovered=1.6, target="topic orders: flush.messages=1"),
        replace(config(0.5, 1.5, seen=0.7, recovered=1.6), kind="kill"),
        config(4.5, 5.5, seen=4.7, recovered=5.6),
    ],
    ids=["not recovered", "another topic", "another setting", "another kind", "at another time"],
)
def test_what_nobody_has_seen_every_broker_leave_may_go_on(fault):
    """A leader that is cut off goes by the old value, however late it is."""
    run = world(*CUT, changed(0.5, "1"), changed(1.5, "2", 60), fault)
    assert labels(LATE, run=run) == [UNDECIDED]


def test_more_replicas_in_sync_than_there_are_count_as_all_of_them():
    """5 of 3 were asked for when it was made, and again when the fault was healed."""
    run = world(
        *ALL_CUT,
        changed(0.5, "2"),
        changed(1.5, "5", 60),
        config(0.5, 1.5, seen=0.7, recovered=1.6),
        min_isr=3,
    )
    assert labels(EARLY, run=run) == [("permitted", "power loss of all in-sync replicas")]


def test_a_stricter_value_counts_when_every_broker_knows_it():
    """From one to two replicas at 1 s, seen at 1.2 s."""
    stricter = config(1, 15, seen=1.2, target="brokers: min.insync.replicas=2")
    run = world(*alone(1), changed(1, "2"), stricter, min_isr=1)
    assert labels(EARLY, LATE, run=run) == [UNDECIDED, VIOLATION]
    unseen = world(*alone(1), changed(1, "2"), replace(stricter, proven=False, effect_ns=-1), min_isr=1)
    assert labels(LATE, run=unseen) == [UNDECIDED]


def test_a_change_after_the_election_does_not_count():
    """At 17 s; the record was lost at 14 s."""
    assert labels(EARLY, run=world(*CUT, changed(17, "1"))) == [VIOLATION]


def test_values_that_agree_decide():
    """Three replicas or two: one unclean shutdown is too few for both."""
    assert labels(EARLY, run=world(*CUT, changed(4, "3"))) == [VIOLATION]


def test_what_changes_nothing_or_another_topic_does_not_count():
    """The same value once more, a row of the report, another topic, another resource's setting."""
    rows = (
        changed(4, "2"),
        replace(changed(4, "1"), kind="reported", log_offset=-1),
        changed(4, "1", name="audit"),
        changed(4, "1", key="num.io.threads", kind="broker", name="2"),
    )
    assert labels(EARLY, run=world(*CUT, *rows)) == [VIOLATION]


def test_what_it_was_made_with_is_no_change():
    """The records that come with its creation."""
    made = replace(led(0, 1, 0, ALL), log_offset=60, partition_epoch=0)
    run = world(made, *CUT, changed(0, "1", 50, kind="cluster", name=""), changed(0, "2", 55))
    assert labels(EARLY, run=run) == [VIOLATION]


def test_a_value_that_is_not_known_decides_nothing():
    """The topic's own setting is removed: the default that counts then is in no log."""
    run = world(*CUT, changed(4, "2"), changed(5, None, 55))
    assert labels(EARLY, run=run) == [UNDECIDED]


def test_a_flush_before_each_acknowledgement_for_a_while():
    """It forbids what a power cut of all would permit: undecided, where it was so in part."""
    flushed = world(*CUT, changed(4, "1", key=FLUSH), min_isr=1)
    assert labels(EARLY, run=flushed) == [UNDECIDED]
    assert labels(EARLY, run=world(*CUT, min_isr=1, flush=1)) == [VIOLATION]


HEADLESS = (
    led(0, 1, 5, ALL),
    sampled(3, 5),
    led(2, 1, 5, (1,)),
    down(4, 1, recovered=12),
    led(6, -1, 6, (1,)),
    LogRun(5, 0, 4),
    LogRun(7, 5, 50),
)
"""And broker 2, which was not in sync, is elected by record 100 at 7 s."""
ELECTED = replace(led(7, 2, 7, (2,)), log_offset=100)


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ([changed(7, "true", 99, key=UNCLEAN)], ("permitted", "unclean election")),
        ([changed(7, "true", 101, key=UNCLEAN)], ("violation", "unclean election")),
        (
            [changed(5, "true", 98, key=UNCLEAN), changed(7, "false", 99, key=UNCLEAN)],
            ("violation", "unclean election"),
        ),
        ([changed(5, "true", 98, key=UNCLEAN, kind="broker", name="1")], UNDECIDED),
    ],
)
def test_an_unclean_election_goes_by_what_the_controller_knew(rows, expected):
    """To the record: it writes both into one log."""
    assert labels(lost(offset=7, acked=3.5), run=world(*HEADLESS, ELECTED, *rows)) == [expected]


@pytest.mark.parametrize(
    ("lines", "kind"),
    [
        ([(101, 0, "3.8.1"), (101, 5, "4.0.0"), (102, 0, "3.8.1")], "permitted"),
        ([(101, 0, "3.8.1"), (101, 9, "4.0.0"), (102, 0, "4.0.0")], "violation"),
        ([(102, 0, "3.8.1"), (103, 0, "4.0.0")], "permitted"),
        ([(102, 0, "3.8.1"), (103, 0, "3.8.1")], "violation"),
        ([], "permitted"),
    ],
)
def test_an_unclean_election_goes_by_the_release_of_the_controller_that_decided_it(lines, kind):
    """Along a rolling upgrade: that of its process at that time; of one that names none, by all nodes."""
    named = [names_release(second, node, release) for node, second, release in lines]
    elected = replace(ELECTED, controller=101)
    allowed = world(*HEADLESS, elected, *named, unclean=True)
    assert labels(lost(offset=7, acked=3.5), run=allowed) == [(kind, "unclean election")]


def terms(run, since, *, name="orders"):
    """Whether ELR was on, as far as anybody can say, from a time until the election at 14 s."""
    election = run.timeline.elections(EARLY.tp)[-1]
    found = run.terms.of(name, TopicPromise(min_isr=2), ns(since), election)
    assert all(isinstance(each, Terms) for each in found)
    return {each.elr for each in found}


def test_elr_is_on_from_the_record_that_turns_it_on():
    """It is the controllers' alone, so nobody has to learn of it."""
    switched = world(*CUT, feature(4, None), feature(6, "1", 60))
    assert [terms(switched, since) for since in (2, 6.5, 8)] == [{True, False}, {True, False}, {True}]
    assert terms(world(*CUT, elr=False), 2) == {False}
    assert terms(world(*CUT, elr=True), 2) == {True}
    assert terms(world(*CUT, feature(-1, "1", -1), elr=True), 2) == {True}


def test_the_last_replica_standing_while_elr_was_off_for_a_while():
    """Without ELR the only replica in sync may come back emptier; with it, the other was eligible."""
    standing = (
        led(0, 1, 5, (1, 2)),
        led(5, 1, 5, (1,)),
        down(9, 1, kind="power-loss", recovered=14),
        *power_cut(9, 1, before=30, after=0, mounted=13),
        led(11, -1, 6, (1,)),
        led(14, 1, 7, (1,)),
        LogRun(7, 0, 20),
    )
    off, on = ("permitted", "last replica standing"), VIOLATION
    assert labels(EARLY, run=world(*standing, elr=False)) == [off]
    assert labels(EARLY, run=world(*standing, elr=True)) == [on]
    assert labels(EARLY, run=world(*standing, feature(4, None), feature(6, "1", 60))) == [UNDECIDED]
    assert labels(EARLY, run=world(*standing, feature(0, "1", 10), feature(16, None, 60))) == [on]


def test_what_was_below_a_high_watermark_early_is_judged_by_what_was_in_force_later():
    """It fell from 8 to 2; ELR was turned off at 3 s, and leader 1 was alone in sync from 5.5 s on. Offset 2
    was below it at 1 s; offset 7, which was below it when it was alone, was not there at 4.5 s."""
    fell = (
        led(0, 1, 5, (1, 2)),
        led(5.5, 1, 5, (1,)),
        down(9, 1, kind="power-loss", recovered=14),
        *power_cut(9, 1, before=30, after=0, mounted=13),
        led(11, -1, 6, (1,)),
        led(14, 1, 7, (1,)),
        LogRun(7, 0, 20),
        *(sampled(1, 5), sampled(5.4, 8), log_end(4.5, 1, 7), feature(-1, "1", 10), feature(3, None, 60)),
    )
    whole = lost("hw-monotone", offset=2, last=7, acked=14.5, seen=5.4)
    lost_by = labels(replace(whole, under_epoch=5, invoked_ns=-1), run=world(*fell))
    assert lost_by == [("permitted", "last replica standing")]
