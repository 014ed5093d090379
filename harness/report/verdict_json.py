"""verdict.json below its verdict: all that is known of a judged run, for programs."""

from dataclasses import dataclass
from typing import Any

from checkers.judgement import Judgement
from checkers.properties import Property
from checkers.verdict.algebra import Decision, Verdict
from checkers.verdict.explanation.explain import Explanation
from checkers.verdict.explanation.findings import Finding
from checkers.verdict.exposure.exposure import Exposure
from harness.report.bounds import Bounds
from harness.report.fault_times import FaultTimes
from harness.run_directory.manifest import Manifest

COPIED = (
    *("tool_version", "scenario", "seed", "release", "releases", "state", "problem", "phase", "expect"),
    *("topics", "producers", "cluster"),
)
"""Keys that stand in verdict.json as they stand in manifest.json."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """All that is known of a run when it has been judged."""

    manifest: Manifest
    decision: Decision
    judgement: Judgement
    findings: tuple[tuple[Finding, Explanation], ...]
    """The gravest; a report has no more."""
    findings_total: int
    exposure: Exposure
    bounds: Bounds
    fault_times: FaultTimes


def outcome_of(judged: Judged) -> str:
    """What happened to the acknowledged records, in one sentence; or why that is not known."""
    loss = judged.decision.properties[Property.ACKED_LOSS]
    lost, acked = loss.permitted + loss.violations, judged.judgement.totals.ok
    verdict, first = judged.decision.verdict, judged.decision.reasons[0].sentence
    if verdict in (Verdict.UNKNOWN, Verdict.ERROR):
        return first
    count = f"{lost:,}" if lost else "none"
    what = f"acks={_acks(judged.manifest)} lost {count} of {acked:,} acknowledged records"
    if loss.violations:
        return f"{what}, which its contract forbids"
    how = ", as its contract permits" if lost else ""
    other = verdict is Verdict.FAIL and not remark_of(judged)
    return f"{what}{how}{f', but: {first}' if other else ''}"


def remark_of(judged: Judged) -> str:
    """What a permitted loss of acknowledged records means here, where it decides the verdict."""
    loss = judged.decision.properties[Property.ACKED_LOSS]
    if loss.violations or not loss.permitted:
        return ""
    match judged.decision.verdict, judged.manifest.expect:
        case Verdict.PASS, "permitted":
            return "expected loss seen"
        case Verdict.FAIL, "none":
            return "no loss was expected"
    return ""


def _acks(manifest: Manifest) -> str:
    return "/".join(sorted({producer.acks for producer in manifest.producers})) or "?"


def as_json(judged: Judged) -> dict[str, Any]:
    """All of the document below its verdict; equal for equal run directories."""
    manifest = judged.manifest
    run = manifest.model_dump(mode="json", include=set(COPIED))
    return {
        **{key: run[key] for key in COPIED},
        "properties": {name.value: _property(judged, name) for name in Property},
        "findings_total": judged.findings_total,
        "findings": [_finding(finding, explanation) for finding, explanation in judged.findings],
        "undecided_partitions": [
            {"topic": each.topic, "partition": each.partition, "reason": each.reason}
            for each in judged.judgement.undecided_partitions
        ],
        "exposure": judged.exposure.as_json(),
        "fault_times": judged.fault_times.as_json(),
        "accept": [line.as_json() for line in judged.bounds.accepted],
        "require": [line.as_json() for line in judged.bounds.required],
        "timings": manifest.timings.model_dump(),
    }


def _property(judged: Judged, name: Property) -> dict[str, Any]:
    result = judged.decision.properties[name]
    return {
        "status": result.status,
        "examined": result.examined,
        "violations": result.violations,
        "permitted": result.permitted,
        "undecided": result.undecided,
        "undecided_anomalies": result.undecided_anomalies,
        "causes": dict(result.causes),
        "reason": result.reason,
    }


def _finding(finding: Finding, explanation: Explanation) -> dict[str, Any]:
    return {
        "label": finding.label.kind,
        "clause": finding.label.clause,
        "topic": finding.tp.topic,
        "partition": finding.tp.partition,
        "leader_epoch": finding.leader_epoch,
        "first_offset": finding.first_offset,
        "last_offset": finding.last_offset,
        "records": finding.records,
        "ranges": [list(each) for each in finding.ranges],
        "ranges_total": finding.ranges_total,
        "counts": {each.value: finding.counts[each] for each in finding.properties},
        "line": explanation.line,
        "evidence": list(explanation.evidence),
    }
