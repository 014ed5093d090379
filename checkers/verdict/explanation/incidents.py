"""Which anomalies are one event, in arrays: a million of them cost as many Python objects as ten.

Invariant: each anomaly is in at least one incident; an incident is a run of offsets that the same anomalies
cover, so its gravest anomaly speaks for each of its offsets.
Evidence: blocks of anomalies of one partition and one family, and the class of each label.
Counterexample to "each anomaly is an incident":
    offset 5 was acknowledged, read, and below the high watermark, and the log has a hole from 4 to 6
    four anomalies, three incidents: offset 4, offset 5, offset 6; all of one truncation

All arrays of one set of incidents have shape (n,), n incidents, ascending by offset, unless another is given.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from checkers.anomalies import Anomaly, AnomalyBlock
from checkers.contract.label import GRAVITY, Label, Labels
from checkers.history.tables import NONE
from checkers.properties import Property

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]
_ORDER = {each: rank for rank, each in enumerate(Property)}
_RANK_BITS, _ROW_BITS = 8, 40
"""A gravity and a row in one integer: the least of them is the gravest, and the first of equals."""
_ROOM = 16
"""Offsets are marked one by one, unless they span so many times more than there are: then they are sorted."""
_NEVER = np.iinfo(np.int64).max


@dataclass(frozen=True, slots=True, kw_only=True)
class Rows:
    """The anomalies of some blocks, one after the other: a row is a place in these arrays, all of shape (r,).

    `property` is the place in the order of reports, `label` in the classes of the labels.
    """

    blocks: Sequence[AnomalyBlock]
    property: Ints
    label: Ints
    offset: Ints
    last_offset: Ints
    producer: Ints
    sequence: Ints
    written_ns: Ints
    gravity: Ints

    @classmethod
    def of(cls, blocks: Sequence[AnomalyBlock], labels: Sequence[Ints], classes: Labels) -> "Rows":
        """All rows of the blocks; `labels`, parallel to them, are the classes of each one's rows."""
        label = np.concatenate(labels)
        ranks = np.repeat([_ORDER[block.property] for block in blocks], [len(block) for block in blocks])
        kinds = np.array([gravity(each) for each in classes.classes], np.int64)
        return cls(
            blocks=blocks,
            property=ranks,
            label=label,
            gravity=(kinds[label] << _RANK_BITS) + ranks,
            written_ns=np.concatenate([block.written_ns() for block in blocks]),
            **{
                name: np.concatenate([getattr(block, name) for block in blocks])
                for name in ("offset", "last_offset", "producer", "sequence")
            },
        )

    def __len__(self) -> int:
        return len(self.offset)

    def anomaly(self, row: int) -> Anomaly:
        """One of them as an object."""
        for block in self.blocks:
            if row < len(block):
                return block.at(row)
            row -= len(block)
        raise IndexError(row)


@dataclass(frozen=True, slots=True, kw_only=True)
class Incidents:
    """What the same anomalies are about: offsets [first, end), or a record without an offset (-1, 0)."""

    first: Ints
    end: Ints
    leading: Ints
    """The gravest row of each."""
    row: Ints
    """Shape (p,), as the next: the rows of each incident, by incident; a run of offsets is in several."""
    of: Ints

    def rows_of(self, incident: int) -> Ints:
        """The rows of one of them."""
        begin, end = np.searchsorted(self.of, (incident, incident + 1))
        return self.row[begin:end]


def gravity(label: Label) -> int:
    """0 for a violation, more for what is less grave."""
    return GRAVITY.index(label.kind)


def by_offset(rows: Rows, wanted: Bools) -> Incidents:
    """The incidents of the wanted rows (shape (r,), all with an offset): each offset is one; neighbours that
    the same rows cover are one together."""
    row = np.flatnonzero(wanted)
    first, end = rows.offset[row], rows.last_offset[row] + 1
    edges, begin, finish = _edges(first, end)
    covers = finish - begin
    if (covers > 1).any():
        row = np.repeat(row, covers)
        begin = np.repeat(begin - np.cumsum(covers) + covers, covers) + np.arange(len(row))
    return _incidents(rows, edges[:-1], edges[1:], row, begin)


def _edges(first: Ints, end: Ints) -> tuple[Ints, Ints, Ints]:
    """Where any of k runs [first, end) begins or ends, ascending, and the places of `first` and of `end` in
    that; shapes (e,), (k,) and (k,)."""
    low = int(first.min())
    span = int(end.max()) - low + 1
    if span <= _ROOM * len(first):
        marked = np.zeros(span, bool)
        marked[first - low] = marked[end - low] = True
        place = np.cumsum(marked) - 1
        return np.flatnonzero(marked) + low, place[first - low], place[end - low]
    edges = np.sort(np.concatenate((first, end)))
    edges = edges[np.concatenate(([True], edges[1:] != edges[:-1]))]
    return edges, np.searchsorted(edges, first), np.searchsorted(edges, end)


def one_by_one(rows: Rows, wanted: Bools) -> Incidents:
    """Each of the wanted rows is an incident of its own, by offset."""
    row = np.flatnonzero(wanted)
    row = row[np.argsort(rows.offset[row], kind="stable")]
    return _incidents(rows, rows.offset[row], rows.last_offset[row] + 1, row, np.arange(len(row)))


def by_record(rows: Rows, wanted: Bools) -> Incidents:
    """The wanted rows have no offset: those of one record are an incident."""
    row = np.flatnonzero(wanted)
    row = row[np.lexsort((rows.sequence[row], rows.producer[row]))]
    producer, sequence, new = rows.producer[row], rows.sequence[row], np.ones(len(row), bool)
    new[1:] = (producer[1:] != producer[:-1]) | (sequence[1:] != sequence[:-1])
    count = int(np.count_nonzero(new))
    return _incidents(rows, np.full(count, NONE), np.full(count, NONE + 1), row, np.cumsum(new) - 1)


def _incidents(rows: Rows, first: Ints, end: Ints, row: Ints, of: Ints) -> Incidents:
    """`first` and `end` have shape (s,), for places some of which no row is about; `row` and `of` (p,)."""
    gravest = np.full(len(first), _NEVER)
    np.minimum.at(gravest, of, (rows.gravity[row] << _ROW_BITS) + np.arange(len(row)))
    some = gravest != _NEVER
    order = np.argsort(of, kind="stable")
    return Incidents(
        first=first[some],
        end=end[some],
        leading=row[gravest[some] & ((1 << _ROW_BITS) - 1)],
        row=row[order],
        of=(np.cumsum(some) - 1)[of[order]],
    )
