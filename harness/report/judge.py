"""The verdict on a run directory: the same code for `run` and `check`, nothing but the directory as input.

seal what a killed run left → read its replicas → read the small tables → verify → contract → decide → explain
"""

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from checkers.contract.judge_contract import judge_contract
from checkers.errors import CheckersError
from checkers.history.load import load_context
from checkers.history.rows import Context, TopicPartition
from checkers.history.tables import NONE
from checkers.judgement import Judgement
from checkers.verdict import node_ends
from checkers.verdict.algebra import Reason, RunState, Verdict
from checkers.verdict.decide import LOSSES, decide
from checkers.verdict.explanation.explain import explain_gravest
from checkers.verdict.explanation.findings import group
from checkers.verdict.exposure.exposure import measure
from checkers.verdict.metrics.measure import Metrics
from checkers.verdict.vacuity import vacuous
from compose.spec.topology import FIRST_CONTROLLER
from harness.errors import HistoryError
from harness.report.audit import Audit, audit_replicas
from harness.report.bounds import measured_bounds, not_shown, unaccepted
from harness.report.completeness import missing
from harness.report.contradictions import contradictions
from harness.report.fault_times import fault_times
from harness.report.realised import realised
from harness.report.report import Report
from harness.report.verdict_json import Judged, as_json, outcome_of, remark_of
from harness.run_directory.integrity import check_attempts, check_integrity
from harness.run_directory.layout import RunDir
from harness.run_directory.manifest import Manifest
from harness.run_directory.recover import complete_history

Verify = Callable[[Path], Judgement]
"""From a history directory to a judgement: Spark's in a run, `checkers.reference` in tests."""


def judge(run: RunDir, verify: Verify, audit: Audit | None = None) -> Report:
    """Judge what is in the run directory; UNKNOWN with the file and what is wrong if it cannot be read.

    Replicas that were copied and not read yet are read first, by `audit`; without it they stay unread.
    """
    try:
        return _judge(run, verify, audit)
    except (HistoryError, CheckersError) as error:
        return Report(run_dir=run.path, verdict=Verdict.UNKNOWN, outcome=str(error))


def _judge(run: RunDir, verify: Verify, audit: Audit | None) -> Report:
    manifest = complete_history(run, partial(_audit, run, audit))
    context = load_context(run.history)
    scenario = check_integrity(run, manifest, context)
    facts = realised(manifest, context, run.history)
    judgement = verify(run.history)
    check_attempts(run, manifest, judgement)
    labels = judge_contract(judgement.anomalies, facts)
    controllers = _controllers(manifest)
    exposure = measure(run.history, context, _load_ended_ns(manifest), controllers)
    metrics = Metrics(
        history=run.history,
        context=context,
        timeline=facts.timeline,
        exposure=exposure,
        judgement=judgement,
        load_ended_ns=_load_ended_ns(manifest),
    )
    bounds = measured_bounds(manifest, metrics)
    state = RunState(
        state=manifest.state,
        problem=manifest.problem,
        more=(
            *node_ends.reasons(context.node_events, context.faults, facts.clock),
            *unaccepted(
                bounds.accepted,
                exposure,
                context.pressure,
                disturbed=node_ends.disturbed(context.node_events),
            ),
            *_unrecorded(manifest, context),
            *missing(
                manifest,
                context,
                run.history,
                controllers,
                has_transactions=scenario.workload.transactions is not None,
            ),
            *contradictions(manifest, context, facts, _lossy(judgement)),
        ),
        vacuous=(*not_shown(bounds.required), *vacuous(exposure, scenario.workload.readers)),
    )
    findings = group(judgement.anomalies, labels, facts.timeline)
    judged = Judged(
        manifest=manifest,
        decision=decide(judgement, labels, context, manifest.expect, state),
        judgement=judgement,
        findings=explain_gravest(findings, facts),
        findings_total=len(findings),
        exposure=exposure,
        bounds=bounds,
        fault_times=fault_times(context.faults),
    )
    return _report(run, judged)


def _audit(run: RunDir, audit: Audit | None, run_id: str) -> None:
    if audit is not None:
        audit_replicas(run, audit, run_id=run_id)


def _report(run: RunDir, judged: Judged) -> Report:
    return Report(
        run_dir=run.path,
        verdict=judged.decision.verdict,
        outcome=outcome_of(judged),
        remark=remark_of(judged),
        reasons=tuple(judged.decision.reasons),
        document=as_json(judged),
    )


def _lossy(judgement: Judgement) -> set[TopicPartition]:
    return {block.tp for block in judgement.anomalies.blocks if block.property in LOSSES}


def _load_ended_ns(manifest: Manifest) -> int:
    return NONE if manifest.load_ended_ns is None else manifest.load_ended_ns


def _controllers(manifest: Manifest) -> tuple[int, ...]:
    first = 1 if manifest.cluster.combined else FIRST_CONTROLLER
    return tuple(range(first, first + manifest.cluster.controllers))


def _unrecorded(manifest: Manifest, context: Context) -> Iterator[Reason]:
    """Faults of the schedule that are not in the history: a half-written run."""
    recorded = {fault.name for fault in context.faults}
    for name in manifest.schedule:
        if name not in recorded:
            yield Reason(Verdict.UNKNOWN, f"fault {name} is in the schedule, and nothing was recorded of it")
