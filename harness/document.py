"""verdict.json: all that a machine may want to know of a judged run; `schema_version` versions its schema."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from checkers.explain import Explanation
from checkers.findings import Finding
from checkers.judgement import Judgement, Property
from checkers.verdict import Decision, Verdict
from harness.accept import parse_bound
from harness.exposure import Exposure

SCHEMA_VERSION = 1
OBSERVED = ("cluster", "topics", "warm", "schedule", "settle", "final_read", "metadata", "seal")
"""The phases before the judgement: their timings are facts of the run, the same at each check."""


EXPECTED = {"permitted": " (expected loss seen)", "any": "", "none": " (no loss was expected)"}
"""What a permitted loss means, by the scenario's `expect.acked_loss`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """All that is known of a run when it has been judged."""

    manifest: Mapping[str, Any]
    decision: Decision
    judgement: Judgement
    findings: tuple[tuple[Finding, Explanation], ...]
    exposure: Exposure

    @property
    def headline(self) -> str:
        """The first line of the report: of a failure, the record that shows it."""
        if self.decision.verdict is Verdict.FAIL and self.findings:
            return self.findings[0][1].line
        return outcome_of(self)


def outcome_of(judged: Judged) -> str:
    """What happened to the acknowledged records, in one plain sentence; else the first reason."""
    loss = judged.decision.properties[Property.ACKED_LOSS]
    lost, acked = loss.permitted + loss.violations, judged.judgement.totals.ok
    verdict, acks = judged.decision.verdict, _acks(judged.manifest)
    if verdict in (Verdict.UNKNOWN, Verdict.ERROR):
        return f"{judged.decision.reasons[0].sentence} — {verdict}"
    if not lost:
        seen = "" if verdict is Verdict.PASS else f", but: {judged.decision.reasons[0].sentence}"
        return f"acks={acks} lost none of {acked:,} acknowledged records{seen} — {verdict}"
    how = "which its contract forbids" if loss.violations else "as its contract permits"
    return (
        f"acks={acks} lost {lost:,} of {acked:,} acknowledged records, {how} — "
        f"{verdict}{'' if loss.violations else EXPECTED[judged.manifest['expect']]}"
    )


def _acks(manifest: Mapping[str, Any]) -> str:
    return "/".join(sorted({str(producer["acks"]) for producer in manifest["producers"]})) or "?"


def as_json(judged: Judged) -> dict[str, Any]:
    """The document; equal for equal run directories."""
    manifest, decision = judged.manifest, judged.decision
    copied = ("tool_version", "scenario", "seed", "release", "state", "problem", "phase", "expect", "topics")
    return {
        "schema_version": SCHEMA_VERSION,
        "verdict": decision.verdict.value,
        "outcome": outcome_of(judged),
        "reasons": [{"verdict": r.verdict.value, "sentence": r.sentence} for r in decision.reasons],
        **{key: manifest[key] for key in copied},
        "producers": manifest["producers"],
        "cluster": manifest["cluster"],
        "properties": {name.value: _property(judged, name) for name in Property},
        "findings": [_finding(finding, explanation) for finding, explanation in judged.findings],
        "undecided_partitions": [
            {"topic": each.topic, "partition": each.partition, "reason": each.reason}
            for each in judged.judgement.undecided_partitions
        ],
        "exposure": judged.exposure.as_json(),
        "accept": [_acceptance(line, judged.exposure) for line in manifest["accept"]],
        "timings": {f"{name}_s": manifest["timings"].get(f"{name}_s") for name in OBSERVED},
    }


def _property(judged: Judged, name: Property) -> dict[str, Any]:
    result = judged.decision.properties[name]
    return {
        "status": result.status,
        "examined": result.examined,
        "violations": result.violations,
        "permitted": result.permitted,
        "undecided": result.undecided,
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
        "counts": {each.value: finding.counts[each] for each in finding.properties},
        "line": explanation.line,
        "evidence": list(explanation.evidence),
    }


def _acceptance(line: str, exposure: Exposure) -> dict[str, Any]:
    bound = parse_bound(line)
    value = exposure.metric(bound.metric)
    return {"line": line, "value": value, "holds": None if value is None else bound.holds(value)}
