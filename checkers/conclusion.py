"""From a judgement to what a person is told: labels of the contract, the verdict, findings explained."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from checkers.contract import judge_contract
from checkers.decide import Expectation, decide
from checkers.explain import Explanation, explain
from checkers.findings import Finding, group
from checkers.judgement import Anomaly, Judgement
from checkers.realised import Realised
from checkers.verdict import Decision, RunState, Verdict

MOST_FINDINGS = 50
"""Findings that are explained; the others are counted. More than that is one disaster, not fifty."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Conclusion:
    """The verdict with its reasons, and the gravest findings, each with its explanation."""

    decision: Decision
    findings: tuple[tuple[Finding, Explanation], ...]
    findings_in_all: int

    @property
    def headline(self) -> str:
        """The line to print first: the gravest finding of a failure, else the first reason."""
        failed = self.decision.verdict is Verdict.FAIL
        return self.findings[0][1].line if failed and self.findings else self.decision.reasons[0].sentence

    def as_json(self) -> dict[str, Any]:
        """`verdict`, `reasons`, `properties`, `findings` and `findings_in_all` of verdict.json."""
        return {
            "verdict": self.decision.verdict.value,
            "headline": self.headline,
            "reasons": [
                {"verdict": reason.verdict.value, "sentence": reason.sentence}
                for reason in self.decision.reasons
            ],
            "properties": {
                each.value: {
                    "status": result.status,
                    "examined": result.examined,
                    "violations": result.violations,
                    "permitted": result.permitted,
                    "undecided": result.undecided,
                }
                for each, result in self.decision.properties.items()
            },
            "findings": [_finding(finding, explanation) for finding, explanation in self.findings],
            "findings_in_all": self.findings_in_all,
        }


def reach(judgement: Judgement, realised: Realised, expect: Expectation, run: RunState) -> Conclusion:
    """Label, group, explain and weigh everything that a checker found."""
    labels = judge_contract(judgement.anomalies, realised)
    findings = group(judgement.anomalies, labels, realised.timeline)
    return Conclusion(
        decision=decide(judgement, labels, realised.context.faults, expect, run),
        findings=tuple((finding, explain(finding, realised)) for finding in findings[:MOST_FINDINGS]),
        findings_in_all=len(findings),
    )


def _finding(finding: Finding, explanation: Explanation) -> dict[str, Any]:
    return {
        "label": finding.label.kind,
        "clause": finding.label.clause,
        "properties": {each.value: finding.counts[each] for each in finding.properties},
        "topic": finding.tp.topic,
        "partition": finding.tp.partition,
        "leader_epoch": finding.leader_epoch,
        "first_offset": finding.first_offset,
        "last_offset": finding.last_offset,
        "records": finding.records,
        "line": explanation.line,
        "evidence": list(explanation.evidence),
        "first": [_anomaly(anomaly) for anomaly in finding.first],
        "last": [_anomaly(anomaly) for anomaly in finding.last],
    }


def _anomaly(anomaly: Anomaly) -> Mapping[str, Any]:
    return {
        "property": anomaly.property.value,
        "offset": anomaly.offset,
        "producer": anomaly.producer,
        "sequence": anomaly.sequence,
        "invoked_ns": anomaly.invoked_ns,
        "completed_ns": anomaly.completed_ns,
        "acked_offset": anomaly.acked_offset,
        "note": anomaly.note,
    }
