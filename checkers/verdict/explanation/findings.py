"""Anomalies of one cause together: what a person has to read, instead of one line for each record.

One truncation breaks several properties at each of many offsets. So what the loss family says about one
offset is one incident, and incidents that follow each other in one partition, under one leader epoch and with
the same label are one finding, with the ranges of offsets that it took. Any other property has findings of
its own, runs of neighbouring offsets.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from checkers.anomalies import Anomalies, Anomaly
from checkers.contract.label import Label, Labels
from checkers.contract.realised.timeline import Timeline
from checkers.history.rows import TopicPartition
from checkers.history.tables import NONE
from checkers.properties import Property
from checkers.property_terms import LossRole
from checkers.verdict.explanation.incidents import (
    Incidents,
    Ints,
    Rows,
    by_offset,
    by_record,
    gravity,
    one_by_one,
)

LOSS_FAMILY = frozenset(each for each in Property if each.record.loss_role is not LossRole.NONE)
"""What one loss breaks: the loss itself, and what follows from it."""
MOST_BETWEEN = 10_000
"""Offsets between two incidents of one finding: a truncation also takes indeterminate batches, of up to so
many records (librdkafka's batch.num.messages), and nobody reports those."""
MOST_RANGES = 20
"""Ranges of a finding that are listed."""
MOST_OF_ONE = 10
"""Anomalies of one incident that are listed; more are as many records at one offset."""
_ORDER = tuple(Property)


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """Anomalies of one cause in one partition. `leader_epoch` is -1 if nobody knows who led."""

    tp: TopicPartition
    label: Label
    leader_epoch: int
    counts: Mapping[Property, int]
    """Records for each property; of a run of offsets, its offsets."""
    first_offset: int
    last_offset: int
    records: int
    """How many offsets (or records without one) are concerned."""
    ranges: tuple[tuple[int, int], ...] = ()
    """The first MOST_RANGES runs of neighbouring offsets, first and last of each; none without an offset."""
    ranges_total: int = 0
    first: tuple[Anomaly, ...]
    """The anomalies of the first of them, the gravest first."""
    last: tuple[Anomaly, ...]
    replica: int = NONE
    """The broker whose log it is about; -1: the log that readers get."""

    @property
    def properties(self) -> tuple[Property, ...]:
        """What is broken, in the order of reports."""
        return tuple(each for each in Property if each in self.counts)


def group(anomalies: Anomalies, labels: Labels, timeline: Timeline) -> tuple[Finding, ...]:
    """All findings, violations first, then by property and place."""
    found = [
        finding
        for rows, incidents in _families(anomalies, labels)
        for finding in _findings(rows, incidents, labels, timeline)
    ]
    return tuple(
        sorted(
            found,
            key=lambda f: (gravity(f.label), _ORDER.index(f.properties[0]), f.tp, f.replica, f.first_offset),
        )
    )


def _families(anomalies: Anomalies, labels: Labels) -> Iterator[tuple[Rows, Incidents]]:
    """The incidents that may be one finding: of one partition and family, with an offset or without."""
    parts: dict[tuple[TopicPartition, int, Property | None], list[int]] = defaultdict(list)
    for place, block in enumerate(anomalies.blocks):
        family = None if block.property in LOSS_FAMILY else block.property
        parts[block.tp, block.replica, family].append(place)
    for (_, _, family), places in parts.items():
        rows = Rows.of([anomalies.blocks[at] for at in places], [labels.of[at] for at in places], labels)
        placed = rows.offset != NONE
        if placed.any():
            yield rows, by_offset(rows, placed) if family is None else one_by_one(rows, placed)
        if not placed.all():
            yield rows, by_record(rows, ~placed) if family is None else one_by_one(rows, ~placed)


def _findings(rows: Rows, its: Incidents, labels: Labels, timeline: Timeline) -> Iterator[Finding]:
    label = rows.label[its.leading]
    epoch = _with_neighbours(label, _epochs(rows, its, labels, timeline))
    order, starts = _runs(label, epoch, its)
    finding_of = np.empty(len(order), np.int64)
    finding_of[order] = np.repeat(np.arange(len(starts)), np.diff(np.append(starts, len(order))))
    counts = _counts(rows, its, finding_of, len(starts))
    first, end = its.first[order], its.end[order]
    for number, (begin, stop) in enumerate(zip(starts, [*starts[1:], len(order)], strict=True)):
        head, tail = int(order[begin]), int(order[stop - 1])
        ranges = _ranges(first[begin:stop], end[begin:stop])
        yield Finding(
            tp=rows.blocks[0].tp,
            replica=rows.blocks[0].replica,
            label=labels.classes[label[head]],
            leader_epoch=int(epoch[head]),
            counts=counts[number],
            first_offset=int(first[begin]),
            last_offset=int(end[begin:stop].max()) - 1,
            records=int((end[begin:stop] - first[begin:stop]).sum()),
            ranges=tuple((low, high) for low, high in ranges[:MOST_RANGES].tolist() if low != NONE),
            ranges_total=len(ranges) if first[begin] != NONE else 0,
            first=_gravest_first(rows, its.rows_of(head)),
            last=_gravest_first(rows, its.rows_of(tail)),
        )


def _epochs(rows: Rows, its: Incidents, labels: Labels, timeline: Timeline) -> Ints:
    """The leader epoch under which each incident's leading record was written, -1 if unknown; shape (n,).

    A lost record's is that of its fate: a deposed leader writes under its own.
    """
    of_label = np.array(
        [each.fate.appended.epoch if each.fate else NONE for each in labels.classes], np.int64
    )
    of_fate = of_label[rows.label[its.leading]]
    at_ns = rows.written_ns[its.leading]
    states = timeline.states(rows.blocks[0].tp)
    if not states:
        return np.full(len(at_ns), NONE)
    since_ns = np.array([state.since_ns for state in states])
    epochs = np.array([state.leader_epoch for state in states])
    found = np.maximum(np.searchsorted(since_ns, at_ns, side="right") - 1, 0)
    return np.where(of_fate != NONE, of_fate, np.where(at_ns == NONE, NONE, epochs[found]))


def _with_neighbours(label: Ints, epoch: Ints) -> Ints:
    """The epochs, but those not known are those of the nearest incident below, else above, with that label.

    Nobody knows when what is gone from a hole was written; the records around it are of the same event.
    """
    order = np.argsort(label, kind="stable")
    for way in (slice(None), slice(None, None, -1)):
        its_label, its_epoch = label[order[way]], epoch[order[way]]
        nearest = np.maximum.accumulate(np.where(its_epoch != NONE, np.arange(len(order)), 0))
        same = (its_epoch == NONE) & (its_label[nearest] == its_label)
        epoch = epoch.copy()
        epoch[order[way][same]] = its_epoch[nearest[same]]
    return epoch


def _runs(label: Ints, epoch: Ints, its: Incidents) -> tuple[Ints, Ints]:
    """The incidents by cause and offset, and where each finding begins in that order."""
    cause = label * (int(epoch.max()) + 2) + epoch + 1
    order = np.argsort(cause, kind="stable")  # within a cause they stay in the order of offsets
    cause, first, end = cause[order], its.first[order], its.end[order]
    new = np.ones(len(order), bool)
    new[1:] = (cause[1:] != cause[:-1]) | (first[1:] - (end[:-1] - 1) > MOST_BETWEEN)
    return order, np.flatnonzero(new)


def _counts(rows: Rows, its: Incidents, finding_of: Ints, findings: int) -> list[dict[Property, int]]:
    """How many offsets or records of each property every finding has."""
    counts: list[dict[Property, int]] = [{} for _ in range(findings)]
    sizes, ranks = (its.end - its.first)[its.of], rows.property[its.row]
    for rank in np.flatnonzero(np.bincount(ranks)).tolist():
        of = ranks == rank
        totals = np.bincount(finding_of[its.of[of]], weights=sizes[of], minlength=findings)
        for finding in np.flatnonzero(totals).tolist():
            counts[finding][_ORDER[rank]] = int(totals[finding])
    return counts


def _ranges(first: Ints, end: Ints) -> Ints:
    """Runs of neighbouring offsets, shape (·, 2), first and last; of ascending [first, end), shapes (k,)."""
    reached = np.maximum.accumulate(end)
    new = np.flatnonzero(np.concatenate(([True], first[1:] > reached[:-1])))
    last = np.append(new[1:], len(first)) - 1
    return np.stack((first[new], reached[last] - 1), axis=1)


def _gravest_first(rows: Rows, of: Ints) -> tuple[Anomaly, ...]:
    graver = of[np.argsort(rows.gravity[of], kind="stable")]
    return tuple(rows.anomaly(int(row)) for row in graver[:MOST_OF_ONE])
