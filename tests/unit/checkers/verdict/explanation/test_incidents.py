"""Which anomalies are one event, also where some are about a run of offsets and others about one of them."""

from dataclasses import replace

import numpy as np
import pytest
from fakes.history.judged_run import LEADER_KILLED, QUIET, lost, world

from checkers.anomalies import Anomalies, Anomaly
from checkers.contract.label import Label, Labels
from checkers.properties import Property
from checkers.verdict.explanation.findings import MOST_RANGES, group

BROKEN, ALLOWED, UNCLEAR = (
    Label("violation", "it was promised"),
    Label("permitted", "nothing was promised"),
    Label("undecided", "nobody knows"),
)


def hole(wanted, first, last, partition=0) -> Anomaly:
    """A run of offsets without a record."""
    nameless = lost(
        wanted, offset=first, producer=-1, sequence=-1, sent=None, acked=None, partition=partition
    )
    return replace(nameless, last_offset=last)


def grouped(*labelled, events=QUIET):
    """The findings of anomalies that each come with a label."""
    anomalies = Anomalies.of(anomaly for anomaly, _ in labelled)
    label_of = {anomaly.key(): label for anomaly, label in labelled}
    classes = tuple(dict.fromkeys(label for _, label in labelled))
    of = tuple(
        np.array([classes.index(label_of[block.at(row).key()]) for row in range(len(block))])
        for block in anomalies.blocks
    )
    labels = Labels(classes=classes, of=of)
    return group(anomalies, labels, world(*events).timeline)


def summary(finding):
    return finding.label.kind, finding.ranges, {each.value: n for each, n in finding.counts.items()}


def test_a_hole_is_one_anomaly_and_all_of_its_offsets_count():
    (finding,) = grouped((hole("offset-gap", 5, 14), BROKEN))
    assert (finding.first_offset, finding.last_offset, finding.records) == (5, 14, 10)
    assert summary(finding) == ("violation", ((5, 14),), {"offset-gap": 10})


def test_a_record_within_a_hole_belongs_to_the_hole():
    """The acknowledged offset 6 and the hole around it have one cause."""
    (finding,) = grouped((hole("hw-loss", 4, 9), BROKEN), (lost(offset=6), BROKEN))
    assert finding.records == 6
    assert summary(finding) == ("violation", ((4, 9),), {"acked-loss": 1, "hw-loss": 6})
    assert [a.property for a in finding.first] == [Property.HW_LOSS]


def test_within_a_hole_each_offset_has_the_gravest_label_of_what_is_said_about_it():
    """Offset 6 was promised, its neighbours were not."""
    broken, allowed = grouped((hole("hw-loss", 4, 9), ALLOWED), (lost(offset=6), BROKEN))
    assert summary(broken) == ("violation", ((6, 6),), {"acked-loss": 1, "hw-loss": 1})
    assert summary(allowed) == ("permitted", ((4, 5), (7, 9)), {"hw-loss": 5})


def test_two_holes_that_overlap_are_counted_each_for_its_property():
    (finding,) = grouped((hole("hw-loss", 4, 9), BROKEN), (hole("offset-gap", 8, 12), BROKEN))
    assert finding.records == 9
    assert summary(finding) == ("violation", ((4, 12),), {"hw-loss": 6, "offset-gap": 5})


def test_what_is_undecided_comes_after_violations_and_before_what_is_permitted():
    labels = (ALLOWED, UNCLEAR, BROKEN)
    findings = grouped(*((lost(offset=at * 50_000), label) for at, label in enumerate(labels)))
    assert [finding.label.kind for finding in findings] == ["violation", "undecided", "permitted"]


def test_the_first_ranges_of_a_scattered_loss_are_listed_and_all_are_counted():
    (finding,) = grouped(*((lost(offset=2 * n, sequence=n), BROKEN) for n in range(50)))
    assert (finding.records, finding.ranges_total, len(finding.ranges)) == (50, 50, MOST_RANGES)
    assert finding.ranges[:2] == ((0, 0), (2, 2))


def test_records_without_an_offset_have_no_ranges():
    (finding,) = grouped((lost(offset=-1), BROKEN), (lost("unknown-offset-ack", offset=-1), BROKEN))
    assert (finding.records, finding.ranges, finding.ranges_total) == (1, (), 0)
    assert finding.counts == {Property.ACKED_LOSS: 1, Property.UNKNOWN_OFFSET_ACK: 1}


def test_two_altered_records_at_one_offset_are_two():
    """Of other properties each anomaly is one, wherever it lies."""
    (finding,) = grouped(*((lost("duplicate", offset=7, sequence=n), BROKEN) for n in (1, 2)))
    assert (finding.records, finding.ranges) == (2, ((7, 7),))


def test_offsets_far_apart_are_grouped_as_those_close_together(monkeypatch):
    """Few offsets over a wide span are sorted, many over a narrow one are marked: the answer is the same."""
    near = [(lost(offset=at, sequence=at), BROKEN) for at in (3, 4, 9)]
    near.append((hole("hw-loss", 4, 6), ALLOWED))
    marked = [summary(finding) for finding in grouped(*near)]
    monkeypatch.setattr("checkers.verdict.explanation.incidents._ROOM", 0)
    assert [summary(finding) for finding in grouped(*near)] == marked
    assert marked == [
        ("violation", ((3, 4), (9, 9)), {"acked-loss": 3, "hw-loss": 1}),
        ("permitted", ((5, 6),), {"hw-loss": 2}),
    ]


def test_a_hole_is_of_the_epoch_of_the_records_around_it():
    """Two truncations, under epochs 5 and 6, each with a hole; nobody knows when those were written."""
    first, second = grouped(
        *((lost(offset=at, acked=3), BROKEN) for at in (4, 6)),
        (hole("hw-loss", 5, 5), BROKEN),
        (lost(offset=21, sent=8, acked=9), BROKEN),
        (hole("hw-loss", 22, 30), BROKEN),
        events=LEADER_KILLED,
    )
    assert (first.leader_epoch, first.ranges) == (5, ((4, 6),))
    assert (second.leader_epoch, second.ranges) == (6, ((21, 30),))


@pytest.mark.parametrize("at", [2.9, 3.0])
def test_a_record_belongs_to_the_epoch_in_force_when_it_was_written(at):
    (finding,) = grouped((lost(acked=at), BROKEN), events=LEADER_KILLED)
    assert finding.leader_epoch == 5


def test_each_replica_has_findings_of_its_own():
    """Two brokers that lack one record are two findings about their logs."""
    anomalies = [(replace(lost("divergence"), replica=broker), BROKEN) for broker in (1, 2)]
    assert [(f.replica, f.records) for f in grouped(*anomalies)] == [(1, 1), (2, 1)]
