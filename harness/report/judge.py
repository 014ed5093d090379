"""The verdict on a run directory: the same code for `run` and `check`, nothing but the directory as input.

seal what a killed run left → read the small tables → verify → contract → weigh → explain
"""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from checkers.contract.label import judge_contract
from checkers.contract.settings import realised
from checkers.errors import CheckersError
from checkers.history.load import load_context
from checkers.history.rows import Context
from checkers.history.tables import NONE
from checkers.judgement import Judgement
from checkers.verdict.algebra import Reason, RunState, Verdict
from checkers.verdict.decide import decide
from checkers.verdict.explain import explain_gravest
from checkers.verdict.exposure import Exposure, measure
from checkers.verdict.findings import group
from harness.errors import HistoryError
from harness.report.report import Report
from harness.report.verdict_json import Judged, as_json, outcome_of, remark_of
from harness.run_directory.layout import RunDir
from harness.run_directory.recover import complete_history
from harness.scenario.acceptance import parse_bound

Verify = Callable[[Path], Judgement]
"""From a history directory to what holds and what does not; Spark's in earnest, the reference's in tests."""


def judge(run: RunDir, verify: Verify) -> Report:
    """Judge what is in the run directory; UNKNOWN with the file and what is wrong if it cannot be read."""
    try:
        return _judge(run, verify)
    except (HistoryError, CheckersError) as error:
        return Report(verdict=Verdict.UNKNOWN, outcome=str(error))


def _judge(run: RunDir, verify: Verify) -> Report:
    manifest = complete_history(run)
    context = load_context(run.history)
    _refuse_missing_partitions(run, manifest, context)
    facts = realised(manifest, context)
    judgement = verify(run.history)
    labels = judge_contract(judgement.anomalies, facts)
    exposure = measure(run.history, context, manifest.get("load_ended_ns", NONE))
    state = RunState(
        state=manifest["state"],
        problem=manifest["problem"],
        more=(*_unaccepted(manifest, exposure), *_unrecorded(manifest, context)),
    )
    findings = group(judgement.anomalies, labels, facts.timeline)
    judged = Judged(
        manifest=manifest,
        decision=decide(judgement, labels, context.faults, manifest["expect"], state),
        judgement=judgement,
        findings=explain_gravest(findings, facts),
        findings_total=len(findings),
        exposure=exposure,
    )
    return _report(judged)


def _report(judged: Judged) -> Report:
    return Report(
        verdict=judged.decision.verdict,
        outcome=outcome_of(judged),
        remark=remark_of(judged),
        reasons=tuple(judged.decision.reasons),
        document=as_json(judged),
    )


def _refuse_missing_partitions(run: RunDir, manifest: Mapping[str, Any], context: Context) -> None:
    """A partition of which every file is gone would not be missed by anybody else."""
    found = set(context.partitions)
    for topic in manifest["topics"]:
        for number in range(topic["partitions"]):
            if (topic["name"], number) not in found:
                raise HistoryError(
                    f"{run.history}: every file of partition {topic['name']}-{number} is missing"
                )


def _unaccepted(manifest: Mapping[str, Any], exposure: Exposure) -> Iterator[Reason]:
    """The acceptance lines that do not hold, or of which this run can say nothing."""
    for bound in map(parse_bound, manifest["accept"]):
        value = exposure.metric(bound.metric)
        if value is None:
            yield Reason(Verdict.UNKNOWN, f"acceptance: {bound.text}: not known, no send was acknowledged")
        elif not bound.holds(value):
            where = f" on {exposure.longest_gap_at}" if bound.metric == "unavailable.max" else ""
            yield Reason(Verdict.FAIL, f"acceptance: {bound.text}: measured {bound.shown(value)}{where}")


def _unrecorded(manifest: Mapping[str, Any], context: Context) -> Iterator[Reason]:
    """Faults of the schedule that the history knows nothing of: a half-written run."""
    recorded = {fault.name for fault in context.faults}
    for name in manifest["schedule"]:
        if name not in recorded:
            yield Reason(Verdict.UNKNOWN, f"fault {name} is in the schedule, and nothing was recorded of it")
