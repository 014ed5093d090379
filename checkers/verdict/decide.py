"""What a judgement, its labels and the run's evidence amount to, against what the scenario expects.

Each rule yields reasons; none of them knows the others. `algebra` makes one verdict of them.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import replace
from typing import Literal

import numpy as np

from checkers.contract.clauses import RETENTION
from checkers.contract.label import Labels
from checkers.history.clocks.node_clocks import spans_of
from checkers.history.rows import Context, Fault, TopicPartition
from checkers.judgement import Judgement
from checkers.properties import DECIDED, Property
from checkers.property_terms import LossRole
from checkers.verdict.algebra import Decision, PropertyResult, Reason, RunState, Status, Verdict, conclude
from checkers.verdict.log_starts import moved_log_starts

Expectation = Literal["none", "permitted", "any"]
LOSSES = tuple(each for each in DECIDED if each.record.loss_role is LossRole.LOSS)
"""On these a scenario that expects no loss fails, permitted or not."""
Clauses = Mapping[tuple[Property, str], Counter[str]]
"""For each property and kind of label: how many records or offsets stand under each clause."""
Causes = Mapping[Property, Counter[str]]
"""For each property: how many records or offsets have each cause."""


def decide(
    judgement: Judgement, labels: Labels, context: Context, expect: Expectation, run: RunState
) -> Decision:
    """Weigh what was found (`labels` are those of the judgement's anomalies) against what was expected.

    `context` are the tables of the run that was judged: its faults, and which tables it has at all.
    """
    clauses, causes = _counted(judgement, labels)
    properties = {
        each: _result(judgement, clauses, causes[each], each, context.collected) for each in Property
    }
    reasons = [
        *_run(run),
        *_violations(clauses),
        *_undecided_causes(clauses),
        *_expectation(expect, clauses),
        *_evidence(context.faults),
        *_vacuity(judgement, context.faults),
        *_log_starts(context, _deleted(judgement, labels)),
        *run.vacuous,
        *_undecided(judgement),
    ]
    return conclude(reasons, _passed(properties[Property.ACKED_LOSS]), properties)


def _counted(judgement: Judgement, labels: Labels) -> tuple[Clauses, Causes]:
    clauses: dict[tuple[Property, str], Counter[str]] = defaultdict(Counter)
    causes: dict[Property, Counter[str]] = defaultdict(Counter)
    for block, of in zip(judgement.anomalies.blocks, labels.of, strict=True):
        sizes = block.last_offset - block.offset + 1
        totals = np.bincount(of, weights=sizes, minlength=len(labels.classes))
        for place in np.flatnonzero(totals).tolist():
            label = labels.classes[place]
            clauses[block.property, label.kind][label.clause] += int(totals[place])
            if label.cause:
                causes[block.property][label.cause] += int(totals[place])
    return clauses, causes


def _result(
    judgement: Judgement, clauses: Clauses, causes: Counter[str], each: Property, collected: Set[str]
) -> PropertyResult:
    reason = each.record.not_decided_with(collected)
    if not each.record.implemented:
        return PropertyResult(
            status="not decided", examined=0, violations=0, permitted=0, undecided=0, reason=reason
        )
    result = PropertyResult(
        status="holds" if judgement.examined[each] else "nothing examined",
        examined=judgement.examined[each],
        violations=clauses[each, "violation"].total(),
        permitted=clauses[each, "permitted"].total(),
        undecided=judgement.undecided[each],
        undecided_anomalies=clauses[each, "undecided"].total(),
        causes=dict(sorted(causes.items())),
        reason=reason,
    )
    status = _status(result)
    if (status, reason) == (result.status, ""):
        return result
    return replace(result, status=status, reason=reason if status == "not decided" else "")


def _status(result: PropertyResult) -> Status:
    """`result.reason` is why it is not decided; an anomaly that was found all the same counts."""
    if result.violations:
        return "violated"
    if result.undecided_anomalies:
        return "undecided"
    if result.permitted:
        return "permitted"
    if result.reason:
        return "not decided"
    return "undecided" if result.undecided else result.status


def _run(run: RunState) -> Iterable[Reason]:
    yield from run.more
    match run.state:
        case "complete":
            pass
        case "failed":
            yield Reason(Verdict.ERROR, f"the run failed: {run.problem or 'it does not say why'}")
        case "interrupted":
            yield Reason(Verdict.UNKNOWN, f"the run was interrupted: {run.problem or 'by its user'}")
        case _:
            yield Reason(Verdict.UNKNOWN, f"the run did not end: its state is still {run.state!r}")


def _violations(clauses: Clauses) -> Iterable[Reason]:
    for each in DECIDED:
        if found := clauses[each, "violation"]:
            sentence = f"{each.value} is violated {_times(found)}: {_main(found)}"
            yield Reason(Verdict.FAIL, sentence, violates=each)


def _undecided_causes(clauses: Clauses) -> Iterable[Reason]:
    """Whatever the contract could not label is neither permitted nor a violation."""
    for each in DECIDED:
        if found := clauses[each, "undecided"]:
            sentence = f"{each.value} {_times(found)}: whether the contract permits it is undecided"
            yield Reason(Verdict.UNKNOWN, f"{sentence}: {_main(found)}")


def _expectation(expect: Expectation, clauses: Clauses) -> Iterable[Reason]:
    for each in LOSSES if expect == "none" else ():
        if found := clauses[each, "permitted"]:
            yield Reason(
                Verdict.FAIL,
                f"{each.value} {_times(found)}: permitted by the contract, but this scenario expects none "
                f"({_main(found)})",
                contrary=True,
            )
    if expect == "permitted" and not clauses[Property.ACKED_LOSS, "permitted"]:
        yield Reason(
            Verdict.UNKNOWN,
            "weak control: a permitted loss of acknowledged records was expected and none was seen, "
            "so the run has shown nothing",
            contrary=True,
        )


def _evidence(faults: Sequence[Fault]) -> Iterable[Reason]:
    for fault in faults:
        name = f"fault {fault.described(fault.target)}"
        if not fault.proven:
            yield Reason(Verdict.UNKNOWN, f"{name} has no evidence that it took effect")
        elif not fault.recovered:
            yield Reason(Verdict.UNKNOWN, f"{name} has no evidence that it was healed")


def _deleted(judgement: Judgement, labels: Labels) -> frozenset[TopicPartition]:
    """The partitions of which retention has deleted records, permitted or not: a label says so."""
    by_retention = {at for at, label in enumerate(labels.classes) if label.cause == RETENTION}
    return frozenset(
        block.tp
        for block, of in zip(judgement.anomalies.blocks, labels.of, strict=True)
        if block.property in LOSSES and by_retention.intersection(of.tolist())
    )


def _log_starts(context: Context, explained: Set[TopicPartition]) -> Iterable[Reason]:
    """Whoever promised nothing to its producers, as acks=0, has not permitted that its log begins later.

    `explained`: partitions whose log start a label has ruled on. No label rules on what was promised to
    nobody: where a clock was ahead, it may have been old enough to be deleted.
    """
    ahead = any(span.ahead_ms > 0 for its in spans_of(context.faults).values() for span in its)
    why = "no setting of a run deletes records"
    if ahead:
        why = "a clock was ahead, and nothing shows that by it retention deleted what lay there"
    for its in moved_log_starts(context):
        if its.tp not in explained:
            moved = f"{its.tp} began at offset {its.first} and begins at {its.last} now"
            yield Reason(Verdict.UNKNOWN, f"{moved}: {why}")


def _vacuity(judgement: Judgement, faults: Sequence[Fault]) -> Iterable[Reason]:
    """A run without acks shows nothing, nor does one without an ack after its first fault and any anomaly."""
    injected = [fault.inject_ns for fault in faults if fault.inject_ns >= 0]
    if not judgement.totals.ok:
        yield Reason(Verdict.UNKNOWN, "no send was acknowledged, so nothing was put at risk")
    elif injected and judgement.totals.last_ack_ns < min(injected) and not judgement.anomalies:
        yield Reason(Verdict.UNKNOWN, "no send was acknowledged after the first fault began")


def _undecided(judgement: Judgement) -> Iterable[Reason]:
    for each in judgement.undecided_partitions:
        yield Reason(Verdict.UNKNOWN, f"{each.topic}-{each.partition} is undecided: {each.reason}")
    records = judgement.undecided[Property.ACKED_LOSS]
    if records:
        yield Reason(
            Verdict.UNKNOWN, f"{records} acknowledged records are undecided: no final read reached them"
        )
    yield from _markers(judgement)
    if doubtful := judgement.doubtful_acks:
        what = f"{doubtful} acknowledgement{'s' * (doubtful > 1)} of acks=all may have been backed by too few"
        why = "nothing shows which ISR and which min.insync.replicas the leader knew of then"
        yield Reason(Verdict.UNKNOWN, f"{Property.ACK_CONTRACT.value}: {what}: {why}")


def _markers(judgement: Judgement) -> Iterable[Reason]:
    """Of a few transactions the producer id may not be known; of all, nobody has looked."""
    wanted = Property.MARKER_PER_TRANSACTION
    unknown = judgement.undecided[wanted]
    if unknown and not judgement.examined[wanted] and not judgement.undecided_partitions:
        shown = f"of none of {unknown} transactions do the disks show the end"
        yield Reason(Verdict.UNKNOWN, f"{wanted.value} is undecided: {shown}")


def _passed(acked_loss: PropertyResult) -> Reason:
    examined, lost = acked_loss.examined, acked_loss.permitted
    if lost:
        sentence = f"{lost} of {examined} acknowledged records were lost, as permitted and expected"
    else:
        sentence = f"all {examined} acknowledged records are in the final log, and no property is violated"
    return Reason(Verdict.PASS, sentence)


def _main(clauses: Counter[str]) -> str:
    """The most frequent clause, and how many others there are."""
    (first, _), *others = clauses.most_common()
    return f"{first}; and {len(others)} other clause{'s' * (len(others) > 1)}" if others else first


def _times(clauses: Counter[str]) -> str:
    return "once" if clauses.total() == 1 else f"{clauses.total()} times"
