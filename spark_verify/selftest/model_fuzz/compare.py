"""Where the verdict on a simulated run is not the truth.

Of a correct Kafka, each acknowledged record has its label: lost or not, permitted, by which election, for
which cause; and nothing else is a violation. Of a broken one, a run that the defect has changed is never
PASS, and no record is excused that the configuration does not permit to go; unless the defect has left no
trace (trace.py), or, of a record of acks=1, nobody saw that it was promised more. Where Kafka itself lets
replicas differ, which an unclean election can bring about once a log start has moved, a run is not PASS
either. "Undecided" agrees with every truth: how often that happens is counted beside.
"""

from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass

from checkers.contract.clauses import DEPOSED_LEADER, UNREPLICATED_TAIL
from checkers.contract.label import OR, Label
from checkers.history.rows import RecordId
from checkers.history.tables import NONE
from checkers.model import RecordTruth, Simulated
from checkers.properties import Property
from checkers.verdict.algebra import Verdict
from spark_verify.selftest.model_fuzz.trace import leaves_a_trace
from spark_verify.selftest.model_fuzz.verdict_of import Judged

MISSED, IMAGINED = "a loss is not reported", "a record that is there is reported as lost"
EXCUSED, ACCUSED = "permitted, and it must not be", "a violation, and it is permitted"
OTHER_CAUSE, OTHER_ELECTION = "another cause", "another election"
NAMES = (OTHER_CAUSE, OTHER_ELECTION)
"""The same ruling, explained otherwise."""
Place = tuple[int, int]
NOWHERE: Place = (NONE, NONE)
FALSE_ALARM, PASSED = "a violation in a run without a defect", "PASS in spite of a defect"


@dataclass(frozen=True, slots=True, kw_only=True)
class Disagreement:
    """One difference. `kind` is one of the constants above; `truth` and `verdict` are for people."""

    kind: str
    what: str
    truth: str
    verdict: str

    @property
    def key(self) -> str:
        """What a smaller case must have in common with the one that it stands for."""
        return self.kind


def disagreements(simulated: Simulated, judged: Judged) -> tuple[Disagreement, ...]:
    """Everything in which verdict and truth differ."""
    if passed_without_trace(simulated, judged):
        return ()
    found = [*_records(simulated, judged)]
    if simulated.manifested or simulated.truth.wrong:
        found += _passed(simulated, judged)
    elif not simulated.acted:
        found += _false_alarms(simulated, judged)
    return tuple(found)


def passed_without_trace(simulated: Simulated, judged: Judged) -> bool:
    """Whether it is PASS in spite of a bug that shows in nothing: a correct Kafka has the same history."""
    passed = simulated.manifested and judged.decision.verdict is Verdict.PASS
    return bool(passed) and not leaves_a_trace(simulated)


def _records(simulated: Simulated, judged: Judged) -> Iterator[Disagreement]:
    reported = reported_losses(judged)
    strict = not simulated.acted
    for record in simulated.truth.records:
        if not _is_decided(simulated, record):
            continue
        label = reported.get(record.id)
        if label is None and not record.survives:
            yield _of_record(MISSED, record, label)
        elif label is not None and record.survives:
            yield _of_record(IMAGINED, record, label)
        elif label is not None and label.kind != "undecided":
            weaker = {*_weaker_causes(simulated, record)}
            yield from _label(record, label, weaker, strict=strict)


def _weaker_causes(simulated: Simulated, record: RecordTruth) -> Iterator[str]:
    """Of an acks=1 record that nobody saw below the high watermark, that acks=1 had promised no more, to
    whoever had acknowledged it. What was read below the final log's start is compared with nothing."""
    history = simulated.history
    acks = {each.producer: each.acks for each in history.producers}[record.id.producer]
    epochs = {epoch for offset, epoch, _ in record.written if offset == record.offset}
    starts = {proof.tp: proof.log_start for proof in history.proofs}
    shown = (read for read in history.reads if read.offset >= starts[read.tp])
    if acks != "1" or any(read.id == record.id for read in shown):
        return
    above = (each for each in history.watermarks if each.high_watermark > record.offset)
    if not any(each.leader_epoch in epochs and each.tp == record.tp for each in above):
        yield from (UNREPLICATED_TAIL, DEPOSED_LEADER)


def _label(record: RecordTruth, label: Label, weaker: Set[str], *, strict: bool) -> Iterator[Disagreement]:
    """`strict`: of a correct Kafka; where a defect shows, a record may be accused, and for any cause. Nor is
    one excused then of which nobody saw that it was promised more than `weaker` takes."""
    named, causes = set(label.cause.split(OR)), {record.cause} | (weaker & {UNREPLICATED_TAIL})
    if label.kind == "permitted" and not record.permitted:
        if strict or not named <= weaker:
            yield _of_record(EXCUSED, record, label)
    elif strict and label.kind == "violation" and record.permitted:
        yield _of_record(ACCUSED, record, label)
    elif strict and not causes & named:
        yield _of_record(OTHER_CAUSE, record, label)
    elif strict and label.fate is not None and _removal(record) not in _elections(label):
        yield _of_record(OTHER_ELECTION, record, label)


def _false_alarms(simulated: Simulated, judged: Judged) -> Iterator[Disagreement]:
    violated = any(label.kind == "violation" for label in judged.labels)
    for anomaly, label in zip(judged.judgement.anomalies, judged.labels, strict=True) if violated else ():
        if label.kind == "violation" and anomaly.property not in _OF_RECORDS:
            what = f"{anomaly.property.value} at {anomaly.tp} offset {anomaly.offset}"
            yield Disagreement(
                kind=FALSE_ALARM,
                what=what,
                truth=_wrong(simulated),
                verdict=f"violation: {label.clause} ({anomaly.note})",
            )
    if judged.decision.verdict is Verdict.FAIL and not violated:
        verdict = judged.decision.reasons[0].sentence
        yield Disagreement(kind=FALSE_ALARM, what="the verdict", truth=_wrong(simulated), verdict=verdict)


_OF_RECORDS = (Property.ACKED_LOSS, Property.UNKNOWN_OFFSET_ACK)


def _passed(simulated: Simulated, judged: Judged) -> Iterator[Disagreement]:
    if judged.decision.verdict is Verdict.PASS:
        names = ", ".join(sorted(bug.name for bug in simulated.manifested))
        reason = judged.decision.reasons[0].sentence
        truth = f"{names or 'Kafka itself'} changed the outcome; {_wrong(simulated)}"
        yield Disagreement(kind=PASSED, what="the verdict", truth=truth, verdict=f"PASS: {reason}")


def reported_losses(judged: Judged) -> Mapping[RecordId, Label]:
    """The label of each acknowledged record that was found to be lost."""
    return {
        RecordId(producer, sequence): judged.labels.classes[which]
        for block, of in zip(judged.judgement.anomalies.blocks, judged.labels.of, strict=True)
        if block.property is Property.ACKED_LOSS
        for producer, sequence, which in zip(
            block.producer.tolist(), block.sequence.tolist(), of.tolist(), strict=True
        )
    }


def _is_decided(simulated: Simulated, record: RecordTruth) -> bool:
    """Whether a complete final read got as far as the record's offset."""
    for proof in simulated.history.proofs:
        if proof.tp == record.tp and proof.complete:
            return not proof.high_watermark <= record.offset < proof.log_end
    return False


def _of_record(kind: str, record: RecordTruth, label: Label | None) -> Disagreement:
    what = f"{record.id} at {record.tp} offset {record.offset}"
    return Disagreement(kind=kind, what=what, truth=_true_fate(record), verdict=_in_words(label))


def _true_fate(record: RecordTruth) -> str:
    if record.survives:
        return "it is in the final log"
    permitted = "permitted" if record.permitted else "not permitted"
    by = record.removed_by
    election = f"; broker {by.leader}, epoch {by.leader_epoch} ({by.election})" if by else "; no election"
    return f"lost, {permitted}: {record.cause}{election}" + (f"; {record.facts}" if record.facts else "")


def _in_words(label: Label | None) -> str:
    if label is None:
        return "nothing is reported"
    elections = " or ".join(f"broker {leader}, epoch {epoch}" for leader, epoch in _elections(label))
    return f"{label.kind}: {label.cause}; {elections}; {label.clause}"


def _elections(label: Label) -> list[Place]:
    """The removing elections that a label names, as leader and epoch; NOWHERE for a fate without one."""
    fates = (label.fate, *label.others) if label.fate else ()
    by = [fate.removed_by for fate in fates] or [None]
    return [NOWHERE if each is None else (each.leader, each.leader_epoch) for each in by]


def _removal(record: RecordTruth) -> Place:
    by = record.removed_by
    return (by.leader, by.leader_epoch) if by else NOWHERE


def _wrong(simulated: Simulated) -> str:
    return "; ".join(simulated.truth.wrong) or "nothing is wrong"
