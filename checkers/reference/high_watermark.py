"""The high watermark: what was below it once stays, whoever wrote it and whatever its outcome was.

Invariant: an offset that was once below the high watermark holds the same record for ever.
Evidence that an offset was below it, and of which record it held:
    1. a reader was given a record there (readers get nothing above the high watermark, and those that are
       read_committed nothing above the last stable offset, which is no higher)
    2. a sampled high watermark lay above it: then *something* was there
       that it is gone shows too if a record is there that was appended under a later epoch than the sample's
    3. a record was acknowledged there, and the samples of one leader epoch begin before it was sent, end
       after it was acknowledged, and rise above it: the log that acknowledged it is the log that was sampled
Counterexample (no acknowledged record is lost, so acked-loss is blind to it):
    send 1/7 → info (timed out), a reader gets 1/7 at offset 5
    the final log holds 2/9 at offset 5: hw-loss and read-uncommitted, of 1/7

Offsets below the log's start were deleted, not lost. Offsets in [high watermark, log end) of the proof are
undecided. A transaction's marker is no record: checkers/history/records/markers.py.
"""

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

from checkers.anomalies import Anomaly
from checkers.history.rows import LogRecord, Read, Send, TopicPartition, Watermark
from checkers.history.tables import NONE
from checkers.properties import Property
from checkers.reference.facts import Facts, Rule, holes, of_send

Witnessed = dict[tuple[TopicPartition, int, int, int], Anomaly]


def hw_loss(facts: Facts) -> Iterator[Anomaly]:
    """Each (partition, offset, record) that was below the high watermark and is gone, and each run of offsets
    of which only that is known. Subset: whole."""
    witnessed = list(hw_loss_witnessed(facts))
    named = {(a.tp, a.offset) for a in witnessed}
    yield from witnessed
    yield from hw_loss_unwitnessed(facts, named)
    yield from hw_loss_replaced(facts, named)


def hw_loss_witnessed(facts: Facts) -> Iterator[Anomaly]:
    """The losses of which a read (1) or an acknowledgement (3) names the record. Subset: by offset."""
    lost: Witnessed = {}
    for who, read in facts.given():
        if contradicts(facts, read):
            lost.setdefault((read.tp, read.offset, *read.id), _of_read(facts, Property.HW_LOSS, who, read))
    epochs = SampledEpochs(facts)
    for send in facts.acked():
        if _left_its_place(facts, send) and epochs.enclose(send):
            note = facts.now_at(send.tp, send.offset)
            lost[(send.tp, send.offset, *send.id)] = of_send(Property.HW_LOSS, send, note)
    yield from (lost[key] for key in sorted(lost))


def hw_loss_unwitnessed(facts: Facts, witnessed: Collection[tuple[TopicPartition, int]]) -> Iterator[Anomaly]:
    """Each run of empty offsets below a sampled high watermark (2) that no witness names. Subset: whole."""
    for tp, proof in sorted(facts.proof.items()):
        highest = max((sample.high_watermark for sample in facts.watermarks[tp]), default=NONE)
        gone = (
            offset
            for offset in range(proof.log_start, highest)
            if facts.is_hole(tp, offset) and not facts.undecided(tp, offset) and (tp, offset) not in witnessed
        )
        yield from holes(
            Property.HW_LOSS, tp, gone, f"the high watermark was {highest} once, {{nothing}} now"
        )


def hw_loss_replaced(facts: Facts, witnessed: Collection[tuple[TopicPartition, int]]) -> Iterator[Anomaly]:
    """Each run of offsets below a sampled high watermark (2) that hold records of one later leader epoch, and
    that no witness names: whatever was there under the sample's epoch is gone. Subset: whole."""
    runs: list[_Replaced] = []
    highest = {tp: _highest_of_epochs(facts.watermarks[tp]) for tp in facts.proof}
    for record in facts.log:
        tp, offset = record.tp, record.offset
        if offset < facts.proof[tp].log_start or facts.undecided(tp, offset) or (tp, offset) in witnessed:
            continue
        under = min((epoch for epoch, above in highest[tp].items() if offset < above), default=NONE)
        if not NONE < under < record.leader_epoch:
            continue
        last = runs[-1] if runs else None
        if last is not None and last.goes_on(record, under):
            runs[-1] = replace(last, last=record)
        else:
            runs.append(_Replaced(under_epoch=under, first=record, last=record))
    yield from (run.anomaly() for run in runs)


def _highest_of_epochs(samples: Sequence[Watermark]) -> dict[int, int]:
    """The greatest high watermark that was sampled under each known leader epoch."""
    highest: dict[int, int] = {}
    for sample in samples:
        if sample.leader_epoch >= 0:
            before = highest.get(sample.leader_epoch, NONE)
            highest[sample.leader_epoch] = max(before, sample.high_watermark)
    return highest


@dataclass(frozen=True, slots=True, kw_only=True)
class _Replaced:
    """Neighbouring records of one leader epoch, below a high watermark that was sampled under an earlier one,
    the first such. No leader's log has records of a later epoch than its own."""

    under_epoch: int
    first: LogRecord
    last: LogRecord

    def goes_on(self, record: LogRecord, under_epoch: int) -> bool:
        """Whether a record belongs to the run."""
        here = self.last.tp, self.last.offset + 1, self.last.leader_epoch, self.under_epoch
        return here == (record.tp, record.offset, record.leader_epoch, under_epoch)

    def anomaly(self) -> Anomaly:
        """What was there is gone; nobody knows what it was."""
        first, last = self.first.offset, self.last.offset
        where = f"offset {first} holds" if first == last else f"offsets {first} to {last} hold"
        was = f"the high watermark was above under leader epoch {self.under_epoch}"
        return Anomaly(
            property=Property.HW_LOSS,
            topic=self.first.topic,
            partition=self.first.partition,
            offset=first,
            last_offset=last,
            producer=NONE,
            sequence=NONE,
            under_epoch=self.under_epoch,
            note=f"{was}, {where} what was written under {self.first.leader_epoch} now",
        )


def read_uncommitted(facts: Facts) -> Iterator[Anomaly]:
    """Each distinct (offset, id, checksum) that was read and is not in the final log. Subset: by offset."""
    given: dict[tuple[TopicPartition, int, int, int, int], list[tuple[str, Read]]] = defaultdict(list)
    for who, read in facts.given():
        given[(read.tp, read.offset, *read.id, read.checksum)].append((who, read))
    for key in sorted(given):
        (who, first), *_ = reads = given[key]
        if contradicts(facts, first):
            epochs = {read.leader_epoch for _, read in reads}
            epoch = epochs.pop() if len(epochs) == 1 else NONE
            yield replace(_of_read(facts, Property.READ_UNCOMMITTED, who, first), under_epoch=epoch)


def contradicts(facts: Facts, read: Read) -> bool:
    """Whether the final log has another record, or none, at the place of a read about which it decides."""
    tp = read.tp
    if read.offset < facts.proof[tp].log_start or facts.undecided(tp, read.offset):
        return False
    record = facts.at.get((tp, read.offset))
    return record is None or (record.id, record.checksum) != (read.id, read.checksum)


def _left_its_place(facts: Facts, send: Send) -> bool:
    tp = send.tp
    record = facts.at.get((tp, send.offset))
    return send.offset >= facts.proof[tp].log_start and (record is None or record.id != send.id)


def _of_read(facts: Facts, wanted: Property, who: str, read: Read) -> Anomaly:
    """What a reader was given is gone. A send retried after the loss was acknowledged elsewhere, and
    later."""
    send = facts.send_of.get(read.id)
    acked_there = send is not None and send.acked and send.offset == read.offset
    return Anomaly(
        property=wanted,
        topic=read.topic,
        partition=read.partition,
        offset=read.offset,
        producer=read.producer,
        sequence=read.sequence,
        invoked_ns=send.invoked_ns if send else NONE,
        completed_ns=send.completed_ns if send and acked_there else NONE,
        seen_ns=read.read_ns,
        acked_offset=send.offset if send else NONE,
        note=f"{who} {read.reader} was given {read.id} there, {facts.now_at(read.tp, read.offset)}",
    )


class SampledEpochs:
    """For each leader epoch of a partition: first and last time of its samples, and the greatest high
    watermark."""

    def __init__(self, facts: Facts) -> None:
        self._spans: dict[TopicPartition, list[tuple[int, int, int]]] = {}
        for tp in facts.proof:
            epochs = defaultdict(list)
            for sample in facts.watermarks[tp]:
                if sample.leader_epoch >= 0:
                    epochs[sample.leader_epoch].append(sample)
            self._spans[tp] = [
                (min(s.at_ns for s in of), max(s.at_ns for s in of), max(s.high_watermark for s in of))
                for of in epochs.values()
            ]

    def enclose(self, send: Send) -> bool:
        """Whether one epoch's samples enclose the send's life and its high watermark passed the offset."""
        return any(
            first <= send.invoked_ns and send.completed_ns <= last and send.offset < highest
            for first, last, highest in self._spans[send.tp]
        )


RULES: Mapping[Property, Rule] = MappingProxyType(
    {
        Property.HW_LOSS: hw_loss,
        Property.READ_UNCOMMITTED: read_uncommitted,
    }
)
