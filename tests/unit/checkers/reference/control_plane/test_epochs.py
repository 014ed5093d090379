"""Epochs step as the protocol has it, and brokers know no others."""

from dataclasses import replace

import pytest
from fakes.history.control_plane import TOPIC, history, named, report, state

from checkers.history.rows import BrokerLine, Replica
from checkers.reference.control_plane.epochs import epoch_step
from checkers.reference.control_plane.rule_result import RuleResult

CREATED = state(10, 1, (0, 0), (1, 2, 3))
ELECTED = state(11, 2, (1, 1), (2, 3))
SHRUNK = state(12, 2, (1, 2), (2,))


def test_each_record_is_one_step():
    """Elections, changes of the ISR, an election of nobody, and of the same leader again."""
    nobody = state(13, -1, (2, 3), ())
    again = state(14, 2, (3, 4), (2,))
    bumped = state(15, 2, (4, 5), (2,))
    result = epoch_step(history(CREATED, ELECTED, SHRUNK, nobody, again, bumped))
    assert (named(result), result.examined) == ([], 6)


@pytest.mark.parametrize(
    ("row", "note"),
    [
        (state(13, 2, (1, 4), (2, 3)), "partition epoch 4 follows 2 (metadata offset 13)"),
        (state(13, 2, (1, 2), (2, 3)), "partition epoch 2 follows 2 (metadata offset 13)"),
        (state(13, 3, (3, 3), (3,)), "leader epoch 3 follows 1 (metadata offset 13)"),
        (state(13, 1, (0, 3), (1,)), "leader epoch 0 follows 1 (metadata offset 13)"),
        (
            state(13, 3, (1, 3), (3,)),
            "broker 3 leads after 2 under the same leader epoch (metadata offset 13)",
        ),
    ],
)
def test_a_step_that_is_none_is_found(row, note):
    """A record that is missing, or twice there; an epoch that skips or falls; another leader under it."""
    result = epoch_step(history(CREATED, ELECTED, SHRUNK, row))
    assert [anomaly.note for anomaly in result.anomalies] == [note]


def test_a_topic_made_anew_begins_with_epochs_of_0():
    """Its first state follows nothing."""
    assert named(epoch_step(history(CREATED, ELECTED, state(20, 3, (0, 0), (3, 1, 2))))) == []


def test_a_leader_that_was_never_elected_is_found():
    """Broker 3 reports that it leads under epoch 1, which is broker 2's; broker 1 under epoch 7."""
    rows = (CREATED, ELECTED, SHRUNK)
    result = epoch_step(history(*rows, report(1, 3, 1), report(2, 3, 1), report(3, 1, 7)))
    assert [anomaly.note for anomaly in result.anomalies] == [
        "broker 1 led under leader epoch 7, the metadata log has no such epoch (up to 1)",
        "broker 3 led under leader epoch 1, the metadata log has broker 2 there",
    ]
    assert named(result) == [(1, 7), (3, 1)]


def begins(node, epoch, kind="leader-start"):
    """A line of a broker's log."""
    return BrokerLine(topic=TOPIC, partition=0, at_ms=0, node=node, kind=kind, leader_epoch=epoch)


def test_a_broker_that_wrote_that_it_leads_under_the_epoch_of_another_is_found():
    """Broker 2 leads under epoch 1, dead or alive; of epoch 2 the metadata log was not read any more."""
    lines = (begins(2, 1), begins(3, 1, "follower-start"), begins(3, 2))
    assert named(epoch_step(with_lines(*lines))) == []
    result = epoch_step(with_lines(*lines, begins(3, 1)))
    assert [(each.producer, each.sequence) for each in result.anomalies] == [(3, 1)]
    assert result.anomalies[0].note == (
        "broker 3 led under leader epoch 1, the metadata log has broker 2 there"
    )


def with_lines(*lines):
    return replace(history(CREATED, ELECTED, SHRUNK), broker_lines=lines)


def test_a_deposed_leader_reports_its_own_epoch():
    """It led under epoch 0, and does not know better. What a sample does not name is left out."""
    rows = (CREATED, ELECTED, report(5, 1, 0), report(5, 2, 1), report(6, -1, -1), report(6, 3, -1))
    assert named(epoch_step(history(*rows))) == []


def test_epochs_before_the_log_begins_are_not_decided():
    """A log that begins with a snapshot knows the epoch of that time, and none before."""
    snapshot = state(-1, 2, (5, 9), (2, 3))
    assert named(epoch_step(history(snapshot, report(1, 1, 4), report(1, 2, 5)))) == []


def test_an_epoch_on_disk_under_which_nobody_led_is_found():
    """Epochs 0 and 1 had a leader, 2 had none, 3 was never given out."""
    nobody = state(13, -1, (2, 3), ())
    epochs = {"epochs": (0, 1, 2, 3), "epoch_starts": (0, 5, 6, 7)}
    replica = Replica(topic=TOPIC, partition=0, broker=3, log_end=9, **epochs)
    result = epoch_step(history(CREATED, ELECTED, SHRUNK, nobody, replica))
    assert [anomaly.note for anomaly in result.anomalies] == [
        "broker 3 has leader epoch 2 on disk, the metadata log has no leader there",
        "broker 3 has leader epoch 3 on disk, the metadata log has no such epoch (up to 2)",
    ]


def test_an_epoch_after_the_metadata_log_in_which_nothing_was_written_is_of_the_end_of_the_run():
    """The brokers are stopped when the metadata log was read, which elects leaders once more."""
    epochs = {"epochs": (0, 1, 2), "epoch_starts": (0, 5, 9)}
    replica = Replica(topic=TOPIC, partition=0, broker=3, log_end=9, **epochs)
    assert epoch_step(history(CREATED, ELECTED, replica)).anomalies == []
    written = replace(replica, log_end=10)
    assert len(epoch_step(history(CREATED, ELECTED, written)).anomalies) == 1


def test_without_a_metadata_log_nothing_is_decided():
    """Samples alone show no step."""
    assert epoch_step(history(report(1, 1, 0), report(2, 1, 9))) == RuleResult()
