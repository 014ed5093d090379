"""A finding in plain words: one line of what happened, then the evidence for it.

The line names the record, when it was acknowledged, by which leader and epoch, the fault that was active,
and what the high watermark did. Times are seconds from the run's start. The leader is the metadata log's at
the time of the acknowledgement, or the samples' where there is no metadata log; the high watermark is the
sampler's.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from checkers.anomalies import Anomaly
from checkers.contract.clauses import written_ns
from checkers.contract.settings import Realised
from checkers.history.rows import Fault, RecordId, TopicPartition, Watermark
from checkers.history.tables import NONE
from checkers.properties import Property
from checkers.verdict.findings import Finding

MOST_EXPLAINED = 50
"""Findings that a report shows; more than that is one disaster, not fifty."""
MOST_FOLLOWING = 3
"""Faults after a record's time that a sentence names."""
MOST_NAMED = 4
"""Nodes or edges of a fault that a sentence names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """`line` stands alone; `evidence` are the lines behind it."""

    line: str
    evidence: tuple[str, ...]


def explain(finding: Finding, realised: Realised) -> Explanation:
    """Explain a finding by its first record."""
    anomaly = finding.first[0]
    parts = [
        _subject(finding, anomaly),
        _acked(anomaly, realised),
        _faults(anomaly, realised),
        _watermark(anomaly, realised),
        anomaly.note,
    ]
    return Explanation(
        line="; ".join(part for part in parts if part), evidence=tuple(_evidence(finding, realised))
    )


def explain_gravest(
    findings: Sequence[Finding], realised: Realised, most: int = MOST_EXPLAINED
) -> tuple[tuple[Finding, Explanation], ...]:
    """The first `most` findings with their explanations; the caller knows how many there are in all."""
    return tuple((finding, explain(finding, realised)) for finding in findings[:most])


def _subject(finding: Finding, anomaly: Anomaly) -> str:
    leading = finding.first[0].property
    offset = "without an offset" if finding.first_offset == NONE else f"offset {finding.first_offset}"
    others = f" and {finding.records - 1} more" if finding.records > 1 else ""
    return f"{finding.tp} {offset}{_record(anomaly)}{others}: {leading.record.words}"


def _record(anomaly: Anomaly) -> str:
    if not anomaly.property.record.names_record or anomaly.producer == NONE:
        return ""
    return f", {RecordId(anomaly.producer, anomaly.sequence)}"


def _acked(anomaly: Anomaly, realised: Realised) -> str:
    """When, and by which broker, it was acknowledged; or when a reader was given it, or when it was sent."""
    verb, at_ns = _first_known(anomaly)
    if at_ns == NONE:
        return "when it was written is not known"
    state = realised.timeline.at(anomaly.tp, at_ns)
    led = f" by broker {state.leader}, leader epoch {state.leader_epoch}" if state else ""
    return f"{verb} at {realised.clock.seconds(at_ns)}{led}"


def _first_known(anomaly: Anomaly) -> tuple[str, int]:
    if anomaly.completed_ns != NONE:
        verb = "read" if anomaly.property is Property.MONOTONE_READ else "acknowledged"
        return verb, anomaly.completed_ns
    if anomaly.seen_ns != NONE:
        return "read", anomaly.seen_ns
    return "sent, never acknowledged,", anomaly.invoked_ns


def _faults(anomaly: Anomaly, realised: Realised) -> str:
    """The faults in force at that time, and those that followed until a leader was elected that lacks it."""
    at_ns = written_ns(anomaly)
    if at_ns == NONE or not realised.context.faults:
        return ""
    active = [f for f in realised.context.faults if NONE < f.inject_ns <= at_ns <= _gone_ns(f)]
    clauses = [f"{_fault_in_words(fault)} was active" for fault in active] or ["no fault was active"]
    for fault in _followed(anomaly.tp, at_ns, realised)[:MOST_FOLLOWING]:
        clauses.append(f"{_fault_in_words(fault)} followed {(fault.inject_ns - at_ns) / 1e9:.2f} s later")
    return ", ".join(clauses)


def _followed(tp: TopicPartition, at_ns: int, realised: Realised) -> list[Fault]:
    """The faults between a time and the next election; the first one after it, if there is none between."""
    later = sorted((f for f in realised.context.faults if f.inject_ns > at_ns), key=lambda f: f.inject_ns)
    elected_ns = next((e.at_ns for e in realised.timeline.elections(tp) if e.at_ns > at_ns), NONE)
    return [fault for fault in later if fault.inject_ns <= elected_ns] or later[:1]


def _gone_ns(fault: Fault) -> int:
    return max(fault.heal_ns, fault.recovered_ns) if fault.heal_ns != NONE else 1 << 62


def _fault_in_words(fault: Fault) -> str:
    hit = fault.edges or tuple(f"node {node}" for node in fault.nodes)
    others = f" and {len(hit) - MOST_NAMED} more" if len(hit) > MOST_NAMED else ""
    return fault.described(", ".join(hit[:MOST_NAMED]) + others)


def _watermark(anomaly: Anomaly, realised: Realised) -> str:
    """The high watermark at the acknowledgement, under the next leader, and at the end."""
    tp = anomaly.tp
    samples = [s for s in realised.context.watermarks if s.tp == tp and s.high_watermark != NONE]
    samples.sort(key=lambda sample: sample.at_ns)
    values = []
    before = _at(samples, written_ns(anomaly))
    if before:
        values.append(f"{before.high_watermark} then")
        after = next(
            (s for s in samples if s.leader_epoch > before.leader_epoch and s.at_ns > before.at_ns), None
        )
        if after:
            values.append(f"{after.high_watermark} after the fail-over to broker {after.leader}")
    final = next((proof for proof in realised.context.proofs if proof.tp == tp and proof.complete), None)
    if final:
        values.append(f"{final.high_watermark} at the end")
    return f"the high watermark of {tp} was {', '.join(values)}" if values else ""


def _at(samples: list[Watermark], at_ns: int) -> Watermark | None:
    """The last sample before a time, or the first one at all."""
    before = [sample for sample in samples if sample.at_ns <= at_ns]
    if at_ns == NONE or not samples:
        return None
    return before[-1] if before else samples[0]


def _evidence(finding: Finding, realised: Realised) -> Iterator[str]:
    yield f"{finding.label.kind}: {finding.label.clause}"
    yield ", ".join(f"{each.value} {finding.counts[each]}" for each in finding.properties)
    if finding.records > 1 and finding.first_offset != NONE:
        yield f"{finding.records} offsets from {finding.first_offset} to {finding.last_offset}"
    for anomaly in (*finding.first, *(finding.last if finding.records > 1 else ())):
        acked = _acked(anomaly, realised)
        note = f"; {anomaly.note}" if anomaly.note else ""
        yield f"{anomaly.property.value} at offset {anomaly.offset}{_record(anomaly)}: {acked}{note}"
    for election in realised.timeline.elections(finding.tp):
        yield (
            f"leader of {finding.tp}: broker {election.leader}, epoch {election.leader_epoch}, elected "
            f"{'uncleanly ' * election.unclean}at {realised.clock.seconds(election.at_ns)}"
        )
    for fault in realised.context.faults:
        yield f"{_fault_in_words(fault)} at {realised.clock.seconds(fault.inject_ns)}{_cost(fault)}"


def _cost(fault: Fault) -> str:
    """Which nodes shut down uncleanly, and which lost unsynced data."""
    lost = f", unsynced data lost on {', '.join(map(str, fault.data_lost))}" if fault.data_lost else ""
    down = f", unclean shutdown of {', '.join(map(str, fault.unclean))}" if fault.unclean else ""
    return f"{down}{lost}"
