"""What one partition shows of the transactions, from columns: the counterpart of the reference's
checkers/reference/transactions/shown.py.

A *place* is one in the ledger's entries (int64), -1 for none. Columns have one entry for each row.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from checkers.history.records.transactions import (
    FINAL_READER,
    NEVER_VISIBLE,
    Cell,
    Ending,
    Entry,
    Given,
    Hidden,
    PartitionShown,
)
from checkers.history.rows import TopicPartition
from checkers.history.tables import NONE, Outcome
from spark_verify.kernels.final_log import HIGHEST, FinalLog
from spark_verify.kernels.ids import Ids, match
from spark_verify.partition_task import Bools, Columns, Ints

SENT_COLUMNS = ("producer", "sequence", "outcome", "invoked_ns", "completed_ns")
COMMITTED_COLUMNS = ("reader", "offset", "producer", "sequence", "read_ns")
"""Of what read_committed readers were given."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerColumns:
    """The n transactions of a ledger, in its order: by producer and first sequence. Shapes (n,), int64."""

    producer: Ints
    first: Ints
    last: Ints
    ending: Ints

    @classmethod
    def of(cls, entries: Sequence[Entry]) -> "LedgerColumns":
        """The same as columns."""
        rows = [
            (each.row.producer, each.row.first_sequence, each.row.last_sequence, each.ending)
            for each in entries
        ]
        producer, first, last, ending = np.array(rows, np.int64).reshape(-1, 4).T
        return cls(producer=producer, first=first, last=last, ending=ending)

    def places(self, ids: Ids) -> Ints:
        """The transaction of each of k sends; shape (k,)."""
        found = np.full(len(ids), NONE, np.int64)
        for number in np.unique(ids.producer).tolist():
            begin, end = np.searchsorted(self.producer, (number, number + 1)).tolist()
            own = np.flatnonzero(ids.producer == number)
            if begin == end:
                continue
            at = begin + np.searchsorted(self.first[begin:end], ids.sequence[own], side="right") - 1
            inside = (at >= begin) & (ids.sequence[own] <= self.last[np.maximum(at, begin)])
            found[own[inside]] = at[inside]
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class _Sent:
    """The m sends of transactions that may have been written, with their places; shapes (m,)."""

    ids: Ids
    place: Ints
    offset: Ints
    """The lowest one at which the log has it; NONE where it does not."""
    visible: Bools
    invoked_ns: Ints
    completed_ns: Ints


def shown(
    tp: TopicPartition,
    ledger: LedgerColumns,
    sends: Columns,
    log: FinalLog | None,
    reads: Columns,
    *,
    decided: bool,
) -> PartitionShown:
    """What a partition shows; `log` None: it has no proof. `sends` and `reads` are its rows of both tables,
    with SENT_COLUMNS and COMMITTED_COLUMNS, in file order."""
    final = Ids.of(reads)[reads["reader"] == FINAL_READER]
    sent = _sent(ledger, sends, log, final)
    if log is None:
        return PartitionShown(tp=tp, decided=False, cells=_cells(sent))
    return PartitionShown(
        tp=tp,
        decided=decided,
        cells=_cells(sent),
        given=_given(ledger, log, reads, final, decided=decided),
        hidden=_hidden(ledger, sent) if decided else (),
    )


def _sent(ledger: LedgerColumns, sends: Columns, log: FinalLog | None, final: Ids) -> _Sent:
    ids = Ids.of(sends)
    place = ledger.places(ids)
    kept = np.flatnonzero((sends["outcome"] != Outcome.FAIL) & (place != NONE))
    own = ids[kept]
    offset, visible = np.full(len(kept), NONE, np.int64), np.zeros(len(kept), bool)
    if log is not None:
        row = match(own, log.ids())
        offset[row >= 0] = log.offset[row[row >= 0]]
        visible = match(own, final) >= 0
    return _Sent(
        ids=own,
        place=place[kept],
        offset=offset,
        visible=visible,
        invoked_ns=sends["invoked_ns"][kept],
        completed_ns=sends["completed_ns"][kept],
    )


def _cells(sent: _Sent) -> list[Cell]:
    places, of = np.unique(sent.place, return_inverse=True)
    of = of.reshape(-1)
    there = sent.offset != NONE
    first, last = np.full(len(places), HIGHEST, np.int64), np.full(len(places), NONE, np.int64)
    np.minimum.at(first, of[there], sent.offset[there])
    np.maximum.at(last, of[there], sent.offset[there])
    every = np.ones(len(of), bool)
    columns = (
        places,
        *(np.bincount(of[rows], minlength=len(places)) for rows in (every, there, sent.visible)),
        np.where(first == HIGHEST, NONE, first),
        last,
    )
    return [
        Cell(of=place, sent=count, logged=logged, visible=visible, first=begin, last=end)
        for place, count, logged, visible, begin, end in zip(
            *(column.tolist() for column in columns), strict=True
        )
    ]


def _hidden(ledger: LedgerColumns, sent: _Sent) -> list[Hidden]:
    ending = ledger.ending[sent.place]
    lacks = (ending == Ending.UNKNOWN) | ((ending == Ending.COMMITTED) & (sent.offset != NONE))
    rows = np.flatnonzero(lacks & ~sent.visible)
    producer, sequence = sent.ids.producer[rows], sent.ids.sequence[rows]
    rows = rows[np.lexsort((sequence, producer, sent.offset[rows]))]
    columns = (
        sent.place[rows],
        sent.offset[rows],
        sent.ids.producer[rows],
        sent.ids.sequence[rows],
        sent.invoked_ns[rows],
        sent.completed_ns[rows],
    )
    names = ("of", "offset", "producer", "sequence", "invoked_ns", "completed_ns")
    return [
        Hidden(**dict(zip(names, row, strict=True)))
        for row in zip(*(column.tolist() for column in columns), strict=True)
    ]


def _given(ledger: LedgerColumns, log: FinalLog, reads: Columns, final: Ids, *, decided: bool) -> list[Given]:
    ids = Ids.of(reads)
    place = ledger.places(ids)
    rows = np.flatnonzero(place != NONE)
    ending = ledger.ending[place[rows]]
    wrong = np.isin(ending, NEVER_VISIBLE)
    if decided:
        early = (ending == Ending.UNKNOWN) & (match(ids[rows], final) < 0)
        wrong |= early & _are_there(log, reads["offset"][rows], ids[rows])
    rows = rows[wrong]
    names = ("offset", "producer", "sequence")
    order = np.lexsort([reads[name][rows] for name in names[::-1]])  # stable: equal reads in file order
    new = np.ones(len(order), bool)
    sorted_columns = [reads[name][rows][order] for name in names]
    new[1:] = np.logical_or.reduce([column[1:] != column[:-1] for column in sorted_columns])
    rows = rows[order[new]]
    values = zip(
        place[rows].tolist(),
        *(reads[name][rows].tolist() for name in (*names, "reader", "read_ns")),
        strict=True,
    )
    return [
        Given(of=of, offset=offset, producer=producer, sequence=sequence, reader=reader, read_ns=read_ns)
        for of, offset, producer, sequence, reader, read_ns in values
    ]


def _are_there(log: FinalLog, offset: Ints, ids: Ids) -> Bools:
    """Which of k records the log has at their offsets; shape (k,)."""
    row = log.rows_at(offset)
    found = row >= 0
    at = np.flatnonzero(found)
    same = (log.sequence[row[at]] == ids.sequence[at]) & (log.producer[row[at]] == ids.producer[at])
    found[at] = same
    return found
