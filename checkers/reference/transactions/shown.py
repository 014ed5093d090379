"""Collects what each partition shows of the transactions, from the rows of a history.

Invariant: a send belongs to one transaction at most, and counts in its home partition alone.
Evidence: the sends, the final log, and what read_committed readers were given.
Counterexample to "a record that somebody was given is visible":
    a reader that tails the log is given 1/7 before the transaction's fate is decided in the log
    the fresh reader is not given it: 1/7 is not visible, and was given too early
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from checkers.history.records.transactions import (
    FINAL_READER,
    NEVER_VISIBLE,
    Cell,
    Ending,
    Given,
    Hidden,
    Ledger,
    PartitionShown,
    is_decided,
    ledger_of,
)
from checkers.history.rows import History, Proof, Read, RecordId, Send, TopicPartition
from checkers.history.tables import NONE, Outcome
from checkers.reference.facts import Facts


def shown_by(history: History, facts: Facts) -> list[PartitionShown]:
    """Of each partition, in order; nothing for a history without transactions."""
    ledger = ledger_of(history)
    if ledger is None:
        return []
    sends: dict[TopicPartition, list[Send]] = defaultdict(list)
    reads: dict[TopicPartition, list[Read]] = defaultdict(list)
    for send in history.sends:
        if send.outcome is not Outcome.FAIL:
            sends[send.tp].append(send)
    for read in history.transaction_reads:
        reads[read.tp].append(read)
    has_reads = "transaction_reads" in history.collected
    return [
        _Partition(tp, ledger, facts, reads[tp], has_reads=has_reads).shown(sends[tp])
        for tp in history.partitions
    ]


@dataclass(slots=True)
class _Sent:
    """What is known of the sends of one transaction to one partition."""

    sent: int = 0
    visible: int = 0
    offsets: list[int] = field(default_factory=list)


class _Partition:
    """One partition while it is collected."""

    def __init__(
        self, tp: TopicPartition, ledger: Ledger, facts: Facts, reads: Sequence[Read], *, has_reads: bool
    ) -> None:
        """`has_reads`: what read_committed readers were given was collected."""
        self._tp, self._ledger, self._facts, self._reads = tp, ledger, facts, reads
        self._proof: Proof | None = facts.proof.get(tp)
        self._decided = has_reads and is_decided(self._proof)
        self._visible: set[RecordId] = {read.id for read in reads if read.reader == FINAL_READER}

    def shown(self, sends: Iterable[Send]) -> PartitionShown:
        """All that it shows."""
        cells: dict[int, _Sent] = defaultdict(_Sent)
        hidden = []
        for send in sends:
            place = self._ledger.find(*send.id)
            if place == NONE:
                continue
            offset, cell = self._offset(send), cells[place]
            cell.sent += 1
            if self._proof is None:
                continue
            cell.visible += send.id in self._visible
            cell.offsets += [offset] if offset != NONE else []
            if self._is_hidden(send, place, offset):
                hidden.append(_hidden(send, place, offset))
        return PartitionShown(
            tp=self._tp,
            decided=self._decided,
            cells=[_cell(place, cells[place]) for place in sorted(cells)],
            given=list(self._given()) if self._proof else (),
            hidden=sorted(hidden, key=lambda row: (row.offset, row.producer, row.sequence)),
        )

    def _offset(self, send: Send) -> int:
        """The lowest offset at which the final log has it."""
        copies = self._facts.copies_at_home(send)
        return copies[0].offset if copies else NONE

    def _is_hidden(self, send: Send, place: int, offset: int) -> bool:
        if not self._decided or send.id in self._visible:
            return False
        match self._ledger.entries[place].ending:
            case Ending.COMMITTED:
                return offset != NONE
            case Ending.UNKNOWN:
                return True
            case _:
                return False

    def _given(self) -> Iterator[Given]:
        """Each distinct (offset, id) once, by its first read."""
        first: dict[tuple[int, int, int], Given] = {}
        for read in self._reads:
            place = self._ledger.find(*read.id)
            if place != NONE and self._is_wrong(read, place):
                first.setdefault((read.offset, *read.id), _given(read, place))
        return (first[key] for key in sorted(first))

    def _is_wrong(self, read: Read, place: int) -> bool:
        ending = self._ledger.entries[place].ending
        if ending in NEVER_VISIBLE:
            return True
        if ending is not Ending.UNKNOWN or not self._decided or read.id in self._visible:
            return False
        record = self._facts.at.get((self._tp, read.offset))
        return record is not None and record.id == read.id


def _cell(place: int, its: _Sent) -> Cell:
    return Cell(
        of=place,
        sent=its.sent,
        logged=len(its.offsets),
        visible=its.visible,
        first=min(its.offsets, default=NONE),
        last=max(its.offsets, default=NONE),
    )


def _given(read: Read, place: int) -> Given:
    return Given(
        of=place,
        offset=read.offset,
        producer=read.producer,
        sequence=read.sequence,
        reader=read.reader,
        read_ns=read.read_ns,
    )


def _hidden(send: Send, place: int, offset: int) -> Hidden:
    return Hidden(
        of=place,
        offset=offset,
        producer=send.producer,
        sequence=send.sequence,
        invoked_ns=send.invoked_ns,
        completed_ns=send.completed_ns,
    )
