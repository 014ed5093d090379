"""The labels of lost records: what the contract says of each fate that the evidence allows.

Invariant: "permitted" only if every fate that the evidence allows is permitted; "violation" only if all are.
Evidence: fate.py for what became of a record, clauses.py for what the contract says of that.
Counterexample to "nobody knows its offset, so it is the client's fault":
    a record is acknowledged without an offset; a reader is given it at offset 7; a power cut takes it
    it was written: the clause is that of the truncation
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from checkers.anomalies import Anomaly, AnomalyBlock, Ints
from checkers.contract import clauses
from checkers.contract.classes import between, classes_of
from checkers.contract.clauses import Ruling, rule
from checkers.contract.evidence.log_ends import FAR
from checkers.contract.evidence.partition_evidence import PartitionEvidence, partition_evidence
from checkers.contract.fates import retention
from checkers.contract.fates.fate import Fate, fates
from checkers.contract.fates.lost_record import LostRecord
from checkers.contract.label import GRAVITY, OR, BlockLabels, Label
from checkers.contract.realised.settings import Realised
from checkers.contract.realised.terms import TopicPromise
from checkers.history.columnar import shared
from checkers.history.rows import TopicPartition
from checkers.history.tables import NONE
from checkers.properties import Property

PROMISED_TO_PRODUCER = (Property.ACKED_LOSS, Property.UNKNOWN_OFFSET_ACK, Property.ACK_OFFSET)
FALLS = (Property.HW_MONOTONE, Property.EARLY_READ)
"""A high watermark below what was below it once."""
PROMISED_TO_ALL = (Property.HW_LOSS, Property.READ_UNCOMMITTED, *FALLS)
LOSSES = (*PROMISED_TO_PRODUCER, *PROMISED_TO_ALL)
UNPLACED = Label(
    "undecided",
    "not measured: when the controllers decided; the clock of one was off by less than the run lasted",
    clauses.MISSING_EVIDENCE,
)
_ACKS = ("", "0", "1", "all")
Leader = tuple[int, int]
"""A broker, and the epoch under which it led."""


@dataclass(frozen=True, slots=True)
class _Ends:
    """When the last record of each run of offsets may have been appended at the earliest, was there at the
    latest, and under which epoch; shapes (rows,)."""

    since_ns: Ints
    written_ns: Ints
    under_epoch: Ints


class LossLabels:
    """Labels the blocks of LOSSES. `blocks` are all of them: a read may show where an ack without an offset
    was written."""

    def __init__(self, blocks: Sequence[AnomalyBlock], realised: Realised) -> None:
        self._realised = realised
        self._reads = [block for block in blocks if block.property is Property.READ_UNCOMMITTED]
        self._evidence: dict[TopicPartition, PartitionEvidence] = {}

    def of_block(self, block: AnomalyBlock) -> BlockLabels:
        """The labels of one block."""
        topic = self._realised.topic(block.tp.topic)
        if topic is None:
            label = Label(
                "undecided", f"the settings of topic {block.tp.topic} are not known", clauses.MISSING_EVIDENCE
            )
            return BlockLabels.all_alike(label, len(block))
        if self._realised.context.unplaced:
            return BlockLabels.all_alike(UNPLACED, len(block))
        if not self._realised.timeline.states(block.tp):
            label = Label("undecided", f"who led {block.tp} is not known", clauses.MISSING_EVIDENCE)
            return BlockLabels.all_alike(label, len(block))
        evidence = self.evidence(block.tp)
        placed = _under_epochs(_placed(block, self._reads), self._reads)
        first_ns, under = _written(placed, placed.offset, evidence)
        last_ns, last_under = _written(placed, placed.last_offset, evidence)
        written_ns = _first_written(placed, first_ns, evidence)
        last = _Ends(self._since(placed, placed.last_offset, last_ns, evidence), last_ns, last_under)
        since_ns = self._since(placed, placed.offset, written_ns, evidence)
        placed = replace(placed, invoked_ns=since_ns, under_epoch=under)
        rows, of = classes_of(self._columns(placed, written_ns, last, evidence, topic))
        classes = tuple(
            self._label(placed, row, int(written_ns[row]), last, evidence, topic) for row in rows.tolist()
        )
        return BlockLabels(classes, of)

    def evidence(self, tp: TopicPartition) -> PartitionEvidence:
        """What is known of a partition; collected once."""
        if tp not in self._evidence:
            self._evidence[tp] = partition_evidence(self._realised, tp)
        return self._evidence[tp]

    def _columns(
        self,
        block: AnomalyBlock,
        written_ns: Ints,
        last: _Ends,
        evidence: PartitionEvidence,
        topic: TopicPromise,
    ) -> list[Ints]:
        """Numbers that are equal where no rule can tell two rows apart."""
        times = self._time_marks(evidence, topic)
        offsets = evidence.offset_marks()
        producers, of = np.unique(block.producer, return_inverse=True)
        promises = np.array([self._promise(int(number)) for number in producers], np.int64)
        return [
            between(block.invoked_ns, times),
            between(written_ns, times),
            between(last.since_ns, times),
            between(last.written_ns, times),
            between(block.offset, [0, *offsets]),
            between(block.last_offset, [0, *offsets]),
            promises[of.reshape(-1)],
            between(block.seen_ns, times),
            (block.completed_ns != NONE).astype(np.int64),
            block.under_epoch,
            last.under_epoch,
            between(_missed(block), times),
            between(_kept(block), offsets),
            *self._fell_short(block.offset, written_ns, evidence),
            *self._fell_short(block.last_offset, last.written_ns, evidence),
        ]

    def _fell_short(self, offset: Ints, written_ns: Ints, evidence: PartitionEvidence) -> Iterator[Ints]:
        """For each leader, whether its log did not reach a record when that was written; 0 or 1."""
        for leader, epoch in self._leaders(evidence):
            yield evidence.log_ends.leads_short(leader, epoch, written_ns, offset).astype(np.int64)

    def _leaders(self, evidence: PartitionEvidence) -> list[Leader]:
        states = self._realised.timeline.states(evidence.tp)
        return sorted({(state.leader, state.leader_epoch) for state in states})

    def _since(
        self, block: AnomalyBlock, offset: Ints, written_ns: Ints, evidence: PartitionEvidence
    ) -> Ints:
        """The earliest time at which each record may have been appended, shape (rows,): the call of its
        send. Of a record that nobody knows, see `_not_before`."""
        since = block.invoked_ns.copy()
        leaders = self._leaders(evidence)
        for row in np.flatnonzero((since == NONE) & (written_ns != NONE)).tolist():
            since[row] = self._not_before(int(offset[row]), int(written_ns[row]), leaders, evidence)
        return since

    def _not_before(
        self, offset: int, seen_ns: int, leaders: Sequence[Leader], evidence: PartitionEvidence
    ) -> int:
        """A sample or a read shows that something was there, and it may have been there before: but not
        before the partition was made, not when a leader last reported a log that does not reach it, nor
        before the epoch of the sample, if that begins at or below it."""
        states = self._realised.timeline.states(evidence.tp)
        bounds = [min(states[0].since_ns, seen_ns), evidence.log_ends.last_short(leaders, offset, seen_ns)]
        for state in states:
            sampled = evidence.high_watermarks.get(state.leader_epoch)
            its_own = evidence.start_of(state.leader_epoch).high <= offset
            if sampled and its_own and seen_ns in sampled.times:
                bounds.append(state.since_ns)
                break
        return max(bounds)

    def _promise(self, producer: int) -> int:
        if producer == NONE:
            return 0
        promise = self._realised.producer(producer)
        return 2 * _ACKS.index(promise.acks) + promise.idempotence

    def _time_marks(self, evidence: PartitionEvidence, topic: TopicPromise) -> list[int]:
        timeline, slack = self._realised.timeline, self._realised.timeline.slack_ns
        events = [state.since_ns for state in timeline.states(evidence.tp)]
        events += [election.deposed_until_ns for election in timeline.elections(evidence.tp)]
        events += [at_ns for at_ns, _ in evidence.log_ends.last_of_all()]
        events += self._realised.terms.marks(evidence.tp.topic, topic)
        if evidence.log_start_moves and self._realised.clocks_ahead:
            events += retention.time_marks(evidence, self._realised, topic.retention_ms)
        for outage in evidence.outages:
            events += [outage.since_ns, outage.last_write_ns, outage.leads_ns, outage.until_ns]
        return [
            0,
            *(event + shift for event in events for shift in (-slack, 0, slack) if abs(event) < FAR - slack),
        ]

    def _label(
        self,
        block: AnomalyBlock,
        row: int,
        written_ns: int,
        last: _Ends,
        evidence: PartitionEvidence,
        topic: TopicPromise,
    ) -> Label:
        """The label of a row; of a run of offsets the graver of its ends'."""
        anomaly = block.at(row)
        promise = self._realised.producer(anomaly.producer)
        if block.property in PROMISED_TO_PRODUCER:
            if promise.acks == "0":
                return Label("permitted", "acks=0: nothing was promised", clauses.NOTHING_PROMISED)
            if anomaly.offset == NONE:
                return self._without_offset(evidence)
        acks = "" if anomaly.producer == NONE else promise.acks
        record = LostRecord(
            tp=block.tp,
            offset=anomaly.offset,
            invoked_ns=anomaly.invoked_ns,
            written_ns=written_ns,
            acks=acks,
            seen=anomaly.seen_ns != NONE or block.property is Property.READ_UNCOMMITTED,
            shown_ns=_shown_ns(anomaly, acks, written_ns, idempotence=promise.idempotence),
            under_epoch=anomaly.under_epoch,
            missed_ns=int(_missed(block)[row]),
        )
        its_last = replace(
            record,
            offset=anomaly.last_offset,
            invoked_ns=int(last.since_ns[row]),
            written_ns=int(last.written_ns[row]),
            under_epoch=int(last.under_epoch[row]),
        )
        ends = (record, its_last) if anomaly.last_offset > anomaly.offset else (record,)
        has_one_place = block.property is Property.ACK_OFFSET and promise.idempotence
        kept_under = evidence.epoch_at(anomaly.acked_offset) if has_one_place else FAR
        return min((self._fate_label(each, kept_under, evidence, topic) for each in ends), key=_gravity)

    def _without_offset(self, evidence: PartitionEvidence) -> Label:
        """What was acknowledged without an offset and never seen was not written, or may be deleted."""
        if evidence.log_start > 0 and self._realised.clocks_ahead:
            clause = "not measured: its offset, and so whether retention has deleted it"
            return Label("undecided", clause, clauses.MISSING_EVIDENCE)
        return Label("violation", clauses.CLIENT, clauses.CLIENT)

    def _fate_label(
        self, record: LostRecord, kept_under: int, evidence: PartitionEvidence, topic: TopicPromise
    ) -> Label:
        """The label of a record that is gone from its offset; `kept_under`: see `_in_one_place`."""
        found = fates(record, evidence, self._realised)
        if not found:
            return Label("undecided", f"who led {record.tp} then is not known", clauses.MISSING_EVIDENCE)
        rulings = [
            (rule(record, fate, evidence, self._realised, terms), fate)
            for fate in found
            for terms in self._realised.terms.of(
                record.tp.topic,
                topic,
                record.since_ns,
                fate.removed_by,
                partial(self._last_enough_ns, record, fate, evidence),
            )
        ]
        return _agreed([(_in_one_place(ruling, fate, kept_under), fate) for ruling, fate in rulings])

    def _last_enough_ns(self, record: LostRecord, fate: Fate, evidence: PartitionEvidence, least: int) -> int:
        """When so many replicas that had a committed record were last in sync before it was removed; NONE:
        not since it was committed."""
        timeline = self._realised.timeline
        if fate.removed_by is None or record.acks == "1":  # an acknowledgement of acks=1 commits nothing
            return NONE
        without = (
            each.at_ns
            for each in timeline.elections(record.tp)
            if each.leader_epoch > fate.appended.epoch
            and evidence.start_of(each.leader_epoch).high <= record.offset
        )
        until_ns = min((fate.removed_by.at_ns, *without)) - 1
        found = timeline.last_enough_ns(record.tp, until_ns, least)
        return found if record.written_ns + timeline.slack_ns <= found else NONE


def _first_written(block: AnomalyBlock, last_ns: Ints, evidence: PartitionEvidence) -> Ints:
    """When the first record of each run of offsets was there at the latest, shape (rows,). Below a high
    watermark that fell it was as soon as the first sample of that epoch was above it."""
    found = last_ns.copy()
    if block.property is Property.HW_MONOTONE:
        for row in range(len(block)):
            sampled = evidence.high_watermarks.get(int(block.under_epoch[row]))
            first_ns = NONE if sampled is None else sampled.first_above(int(block.offset[row]))
            found[row] = first_ns if first_ns != NONE else found[row]
    return found


def _missed(block: AnomalyBlock) -> Ints:
    """When each record was seen to be missing, shape (rows,); -1: it is not in the final log."""
    if block.property in FALLS:
        return block.completed_ns
    return np.full(len(block), NONE, np.int64)


def _shown_ns(anomaly: Anomaly, acks: str, written_ns: int, *, idempotence: bool) -> int:
    """`LostRecord.shown_ns`. A sample of what nobody knows shows its epoch too; and without idempotence only
    the leader that has appended a record acknowledges it there."""
    by_sample = anomaly.producer == NONE and anomaly.under_epoch != NONE
    by_its_own = acks == "all" and not idempotence and anomaly.completed_ns != NONE
    if by_sample or by_its_own:
        return NONE
    return written_ns if acks in ("", "all") else anomaly.seen_ns


def _kept(block: AnomalyBlock) -> Ints:
    """Where each record is that was acknowledged elsewhere, shape (rows,); -1: the block is about others."""
    if block.property is Property.ACK_OFFSET:
        return block.acked_offset
    return np.full(len(block), NONE, np.int64)


def _in_one_place(ruling: Ruling, fate: Fate, kept_under: int) -> Ruling:
    """The ruling on a record that is in the log under an epoch, elsewhere than an idempotent producer was
    told; FAR: it may be elsewhere, or is not there. `ruling`: on its loss from its offset. Where an unclean
    election took it, the elected leader may have had an attempt of before, of an older epoch: one leader
    gives a record one place."""
    brought_back = fate.removed_by is not None and fate.removed_by.unclean and ruling.kind != "violation"
    if kept_under == FAR or (brought_back and kept_under < fate.appended.epoch):
        return ruling
    return Ruling(kind="violation", causes=(clauses.MOVED,), clause="idempotence: a record has one place")


def _gravity(label: Label) -> int:
    return GRAVITY.index(label.kind)


def _agreed(rulings: Sequence[tuple[Ruling, Fate]]) -> Label:
    """The ruling that all fates share; where they differ, nobody knows which of them was the record's."""
    first, fate = rulings[0]
    others = tuple(other for _, other in rulings[1:])
    either = " / or: ".join(dict.fromkeys(ruling.clause for ruling, _ in rulings))
    if len({ruling.kind for ruling, _ in rulings}) == 1:
        cause = OR.join(dict.fromkeys(cause for ruling, _ in rulings for cause in ruling.causes))
        return Label(first.kind, either, cause, fate, others)
    missing = dict.fromkeys(each.missing for _, each in rulings if each.missing)
    clause = "".join(f"not measured: {each}; " for each in missing) + f"the evidence allows both: {either}"
    return Label("undecided", clause, clauses.MISSING_EVIDENCE, fate, others)


def _placed(block: AnomalyBlock, reads: Sequence[AnomalyBlock]) -> AnomalyBlock:
    """The block with what readers saw of its records: when, and at which offset, where none was
    acknowledged."""
    here = [read for read in reads if read.tp == block.tp]
    if block.property not in PROMISED_TO_PRODUCER or not here:
        return block
    keys = np.concatenate([_key(read.producer, read.sequence) for read in here])
    read_at = np.concatenate([read.offset for read in here])
    order = np.argsort(keys, kind="stable")
    wanted = _key(block.producer, block.sequence)
    place = np.minimum(np.searchsorted(keys[order], wanted), len(keys) - 1)
    source = order[place]
    there = (block.offset == NONE) | (block.offset == read_at[source])
    rows = np.flatnonzero((keys[source] == wanted) & there)
    offset, seen_ns = block.offset.copy(), block.seen_ns.copy()
    offset[rows] = read_at[source[rows]]
    seen_ns[rows] = np.concatenate([read.seen_ns for read in here])[source[rows]]
    return replace(block, offset=offset, last_offset=np.maximum(offset, block.last_offset), seen_ns=seen_ns)


def _under_epochs(block: AnomalyBlock, reads: Sequence[AnomalyBlock]) -> AnomalyBlock:
    """The block with the leader epochs under which readers were given its records, where they were lost."""
    here = [read for read in reads if read.tp == block.tp]
    if block.property not in (*PROMISED_TO_PRODUCER, Property.HW_LOSS) or not here:
        return block
    key = np.concatenate([_key(read.producer, read.sequence) for read in here])
    offset, epoch = (
        np.concatenate([getattr(read, name) for read in here]) for name in ("offset", "under_epoch")
    )
    order = np.lexsort((key, offset))
    key, offset, epoch = key[order], offset[order], epoch[order]
    begins = np.flatnonzero(np.diff(offset, prepend=-2) | np.diff(key, prepend=-2))
    key, offset, epoch = key[begins], offset[begins], shared(epoch, begins)
    wanted, found = _key(block.producer, block.sequence), block.under_epoch.copy()
    place, end = (np.searchsorted(offset, block.offset, side) for side in ("left", "right"))
    while (there := np.flatnonzero(place < end)).size:
        same = there[key[place[there]] == wanted[there]]
        found[same] = epoch[place[same]]
        place += 1
    return replace(block, under_epoch=found)


def _key(producer: Ints, sequence: Ints) -> Ints:
    return (producer << 40) ^ sequence


def _written(block: AnomalyBlock, offset: Ints, evidence: PartitionEvidence) -> tuple[Ints, Ints]:
    """When the record at `offset` of each row was there at the latest, shape (rows,): acknowledged or given
    to a reader, whichever came first; of one that nobody knows, when the first sample was above it, no later
    one than of the epoch under which it was there. And that epoch, as far as it is known: the sample's."""
    written, under = block.written_ns(), block.under_epoch.copy()
    for row in np.flatnonzero(written == NONE).tolist():
        its, latest = int(offset[row]), int(under[row])
        above = [
            (each.first_above(its), epoch)
            for epoch, each in evidence.high_watermarks.items()
            if latest == NONE or epoch <= latest
        ]
        written[row], epoch = min((first for first in above if first[0] != NONE), default=(NONE, NONE))
        under[row] = max(under[row], epoch)
    return written, under
