"""A finding in plain words: one line of what happened, then the evidence for it.

The line names the record, when and by which leader it was acknowledged, who was in sync, the faults that
touched the partition, the election that removed it, and what the high watermark did. The evidence has the
same step by step: where each log was cut, what each power loss took, and which replica still held how much.
What is about no record has a line of its own: the offsets of a replica's disk, or a broker and its epoch.
Times are seconds from the run's start.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from checkers.anomalies import Anomaly
from checkers.contract.evidence.partition_evidence import partition_evidence
from checkers.contract.realised.settings import Realised
from checkers.history.rows import RecordId
from checkers.history.tables import NONE
from checkers.properties import Property
from checkers.verdict.explanation import fate_in_words, faults_in_words
from checkers.verdict.explanation.findings import Finding

MOST_EXPLAINED = 50
"""Findings that a report shows; more than that is one disaster, not fifty."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """`line` stands alone; `evidence` are the lines behind it."""

    line: str
    evidence: tuple[str, ...]


def explain(finding: Finding, realised: Realised) -> Explanation:
    """Explain a finding by its first record."""
    return Explanation(
        line="; ".join(part for part in _parts(finding, realised) if part),
        evidence=tuple(_evidence(finding, realised)),
    )


def explain_gravest(
    findings: Sequence[Finding], realised: Realised, most: int = MOST_EXPLAINED
) -> tuple[tuple[Finding, Explanation], ...]:
    """The first `most` findings with their explanations; the caller knows how many there are in all."""
    return tuple((finding, explain(finding, realised)) for finding in findings[:most])


def _parts(finding: Finding, realised: Realised) -> Iterator[str]:
    """What happened, and what is known around it: times only where an anomaly has one."""
    anomaly = finding.first[0]
    subject = f"{finding.tp}{_place(finding)}: {anomaly.property.record.words}"
    if _is_timeless(anomaly):
        yield from (subject, anomaly.note)
        return
    yield subject
    yield _acked(anomaly, finding, realised)
    yield faults_in_words.around(finding.tp, anomaly.written_ns, _elected_ns(finding, realised), realised)
    yield _removal(finding)
    yield fate_in_words.watermark_line(finding.tp, anomaly.written_ns, realised)
    yield anomaly.note


def _is_timeless(anomaly: Anomaly) -> bool:
    """Whether it was written at no time: a decision of the controllers, or a disk after the run."""
    return anomaly.property.record.names_broker or anomaly.replica != NONE


def _place(finding: Finding) -> str:
    """What follows the partition: the first record, or a run of offsets of a replica, or a broker."""
    anomaly = finding.first[0]
    others = f" and {finding.records - 1:,} more" if finding.records > 1 else ""
    if anomaly.property.record.names_broker:
        return f": {_broker(anomaly)}{others}"
    if finding.replica != NONE:
        return f" {_offsets(finding)} on broker {finding.replica}"
    offset = "without an offset" if finding.first_offset == NONE else f"offset {finding.first_offset}"
    return f" {offset}{_record(anomaly)}{others}"


def _broker(anomaly: Anomaly) -> str:
    led = "no leader" if anomaly.producer == NONE else f"broker {anomaly.producer}"
    return f"{led} under leader epoch {anomaly.sequence}"


def _offsets(finding: Finding) -> str:
    if finding.first_offset == finding.last_offset:
        return f"offset {finding.first_offset}"
    ranges = f", in {finding.ranges_total} ranges," if finding.ranges_total > 1 else ""
    return f"offsets {finding.first_offset} to {finding.last_offset}{ranges}"


def _record(anomaly: Anomaly) -> str:
    if not anomaly.property.record.names_record or anomaly.producer == NONE:
        return ""
    return f", {RecordId(anomaly.producer, anomaly.sequence)}"


def _acked(anomaly: Anomaly, finding: Finding, realised: Realised) -> str:
    """When, by which broker, and with whom in sync it was acknowledged; or read, or sent."""
    verb, at_ns = _first_known(anomaly)
    if at_ns == NONE:
        return "when it was written is not known"
    state = realised.timeline.at(anomaly.tp, at_ns)
    if finding.label.fate is not None:
        by = f" {fate_in_words.appended(finding.label.fate, realised)}"
    else:
        by = f" by broker {state.leader}, leader epoch {state.leader_epoch}" if state else ""
    isr = f", in sync were {sorted(state.isr)}" if state else ""
    return f"{verb} at {realised.clock.seconds(at_ns)}{by}{isr}"


def _first_known(anomaly: Anomaly) -> tuple[str, int]:
    if anomaly.property is Property.HW_MONOTONE:
        return "the higher one was answered", anomaly.seen_ns
    if anomaly.property is Property.EARLY_READ:
        return "read", anomaly.seen_ns
    if anomaly.completed_ns != NONE:
        verb = "read" if anomaly.property is Property.MONOTONE_READ else "acknowledged"
        return verb, anomaly.completed_ns
    if anomaly.seen_ns != NONE:
        return "read", anomaly.seen_ns
    return "sent, never acknowledged,", anomaly.invoked_ns


def _elected_ns(finding: Finding, realised: Realised) -> int:
    """When its records were removed; or the next election after the first of them."""
    fate = finding.label.fate
    if fate is not None and fate.removed_by is not None:
        return fate.removed_by.at_ns
    at_ns = finding.first[0].written_ns
    return next((e.at_ns for e in realised.timeline.elections(finding.tp) if e.at_ns > at_ns), NONE)


def _removal(finding: Finding) -> str:
    return finding.label.clause if finding.label.fate is not None else ""


def _evidence(finding: Finding, realised: Realised) -> Iterator[str]:
    cause = f" ({finding.label.cause})" if finding.label.cause else ""
    yield f"{finding.label.kind}{cause}: {finding.label.clause}"
    yield ", ".join(f"{each.value} {finding.counts[each]}" for each in finding.properties)
    if finding.records > 1 and finding.first_offset != NONE:
        yield f"{finding.records} offsets: {_ranges(finding)}"
    for anomaly in dict.fromkeys((*finding.first, *finding.last)):
        yield "".join(_of_one(anomaly, finding, realised))
    yield from _fate_lines(finding, realised)
    yield from faults_in_words.lines(finding.tp, realised)


def _of_one(anomaly: Anomaly, finding: Finding, realised: Realised) -> Iterator[str]:
    """One anomaly: its property and place, when it was written if that means anything, and its note."""
    yield anomaly.property.value
    if anomaly.property.record.names_broker:
        yield f", {_broker(anomaly)}"
    else:
        yield f" at offset {anomaly.offset}{_record(anomaly)}"
    if anomaly.replica != NONE:
        to = f" to {anomaly.last_offset}" if anomaly.last_offset > anomaly.offset else ""
        yield f"{to} on broker {anomaly.replica}"
    if not _is_timeless(anomaly):
        yield f": {_acked(anomaly, finding, realised)}"
    if anomaly.note:
        yield f"; {anomaly.note}"


def _ranges(finding: Finding) -> str:
    shown = ", ".join(f"{first} to {last}" for first, last in finding.ranges)
    hidden = finding.ranges_total - len(finding.ranges)
    return f"{shown} and {hidden} more ranges" if hidden > 0 else shown


def _fate_lines(finding: Finding, realised: Realised) -> Iterator[str]:
    fate, tp = finding.label.fate, finding.tp
    if fate is None or fate.removed_by is None:
        for election in realised.timeline.elections(tp):
            at = realised.clock.seconds(election.at_ns)
            led = f"broker {election.leader}, epoch {election.leader_epoch}"
            yield f"leader of {tp}: {led}, elected at {at} ({election.kind})"
        return
    evidence = partition_evidence(realised, tp)
    replicas = faults_in_words.replicas_of(tp, realised)
    yield fate_in_words.election_line(fate, realised)
    yield from fate_in_words.truncation_lines(fate, tp, realised)
    yield from fate_in_words.outage_lines(evidence, replicas, realised)
    offsets = (finding.first_offset, finding.last_offset)
    written_ns = finding.last[0].written_ns
    if finding.first_offset != NONE:
        yield from fate_in_words.holder_lines(fate, written_ns, offsets, replicas, evidence, realised)
