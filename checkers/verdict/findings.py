"""Anomalies of one cause together: what a person has to read, instead of one line for each record.

One truncation breaks several properties at each of many offsets. So anomalies of the loss family at one
offset are one incident, and incidents that follow each other in one partition, under one leader epoch and
with the same label are one finding. Any other property has findings of its own, runs of neighbouring offsets.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from checkers.anomalies import Anomaly
from checkers.contract.clauses import written_ns
from checkers.contract.label import Label
from checkers.contract.timeline import Timeline
from checkers.history.rows import TopicPartition
from checkers.history.tables import NONE
from checkers.properties import Property
from checkers.property_terms import LossRole

LOSS_FAMILY = frozenset(each for each in Property if each.record.loss_role is not LossRole.NONE)
"""What one loss breaks: the loss itself, and what follows from it."""
MOST_BETWEEN = 10_000
"""Offsets between two incidents of one finding: a truncation also takes indeterminate batches, of up to so
many records (librdkafka's batch.num.messages), and nobody reports those."""

Incident = list[tuple[Anomaly, Label]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """Anomalies of one cause in one partition. `leader_epoch` is -1 if nobody knows who led."""

    tp: TopicPartition
    label: Label
    leader_epoch: int
    counts: Mapping[Property, int]
    first_offset: int
    last_offset: int
    records: int
    """How many offsets (or records without one) are concerned."""
    first: tuple[Anomaly, ...]
    """The anomalies of the first of them, the gravest first."""
    last: tuple[Anomaly, ...]

    @property
    def properties(self) -> tuple[Property, ...]:
        """What is broken, in the order of reports."""
        return tuple(each for each in Property if each in self.counts)


def group(anomalies: Sequence[Anomaly], labels: Sequence[Label], timeline: Timeline) -> tuple[Finding, ...]:
    """All findings, violations first, then by property and place."""
    incidents: dict[tuple[object, ...], Incident] = defaultdict(list)
    for anomaly, label in zip(anomalies, labels, strict=True):
        incidents[_incident(anomaly)].append((anomaly, label))
    causes: dict[tuple[object, ...], list[Incident]] = defaultdict(list)
    for incident in incidents.values():
        causes[_cause(incident, timeline)].append(incident)
    findings = [_finding(run, timeline) for cause in causes.values() for run in _runs(cause)]
    order = list(Property)
    return tuple(
        sorted(
            findings, key=lambda f: (f.label.permitted, order.index(f.properties[0]), f.tp, f.first_offset)
        )
    )


def _incident(anomaly: Anomaly) -> tuple[object, ...]:
    """What belongs to one event: all of the loss family at one offset, else each anomaly alone."""
    place = (anomaly.topic, anomaly.partition, anomaly.offset)
    if anomaly.property not in LOSS_FAMILY:
        return (*place, anomaly.property, anomaly.producer, anomaly.sequence)
    return (*place, anomaly.producer, anomaly.sequence) if anomaly.offset == NONE else place


def _cause(incident: Incident, timeline: Timeline) -> tuple[object, ...]:
    leading, label = min(incident, key=_gravity)
    family = "loss" if leading.property in LOSS_FAMILY else leading.property
    placed = leading.offset != NONE
    return leading.tp, family, placed, label, _epoch(leading, timeline)


def _epoch(anomaly: Anomaly, timeline: Timeline) -> int:
    at_ns = written_ns(anomaly)
    state = timeline.at(anomaly.tp, at_ns) if at_ns != NONE else None
    return state.leader_epoch if state else NONE


def _runs(incidents: list[Incident]) -> Iterator[list[Incident]]:
    incidents.sort(key=_offset)
    run: list[Incident] = []
    for incident in incidents:
        if run and _offset(incident) - _offset(run[-1]) > MOST_BETWEEN:
            yield run
            run = []
        run.append(incident)
    yield run


def _offset(incident: Incident) -> int:
    return incident[0][0].offset


def _finding(run: Sequence[Incident], timeline: Timeline) -> Finding:
    leading, label = min(run[0], key=_gravity)
    return Finding(
        tp=leading.tp,
        label=label,
        leader_epoch=_epoch(leading, timeline),
        counts=Counter(anomaly.property for incident in run for anomaly, _ in incident),
        first_offset=_offset(run[0]),
        last_offset=_offset(run[-1]),
        records=len(run),
        first=_gravest_first(run[0]),
        last=_gravest_first(run[-1]),
    )


def _gravest_first(incident: Incident) -> tuple[Anomaly, ...]:
    return tuple(anomaly for anomaly, _ in sorted(incident, key=_gravity))


def _gravity(each: tuple[Anomaly, Label]) -> tuple[bool, int]:
    """A violation before what is permitted, then the order of the properties."""
    anomaly, label = each
    return label.permitted, list(Property).index(anomaly.property)
