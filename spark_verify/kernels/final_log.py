"""The final log of one partition as arrays, and the row of an offset in them.

A *row* is a place in these arrays: int64, 0 for the record with the lowest offset.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from checkers.errors import MalformedHistory
from spark_verify.kernels.ids import Ids
from spark_verify.kernels.replaced import Replaced
from spark_verify.partition_task import Bools, Columns, Ints, PartitionTask, Slice, values_of

LOG_COLUMNS = ("offset", "producer", "sequence", "checksum")
_ROOM_FOR_HOLES = 8
"""An index by offset may be this much larger than the log; beyond that, offsets are searched for."""


class FinalLog:
    """The log of n records in 28 bytes a record.

    Fields, each of shape (n,), one entry for each row:
        offset     int64, offsets, strictly ascending
        producer   int32, sequence int64: the id; -1 and -1 without one
        checksum   int64
    """

    def __init__(self, columns: Columns) -> None:
        self.offset: Ints = columns["offset"]
        self.producer: npt.NDArray[np.int32] = columns["producer"]
        self.sequence: Ints = columns["sequence"]
        self.checksum: Ints = columns["checksum"]
        self._first = int(self.offset[0]) if len(self) else 0
        span = int(self.offset[-1]) - self._first + 1 if len(self) else 0
        self._dense = span == len(self)
        self._index: npt.NDArray[np.int32] | None = None
        if not self._dense and span <= _ROOM_FOR_HOLES * len(self):
            self._index = np.full(span, -1, np.int32)
            self._index[self.offset - self._first] = np.arange(len(self), dtype=np.int32)

    @classmethod
    def empty(cls) -> "FinalLog":
        """A log without records."""
        return cls(_EMPTY)

    def __len__(self) -> int:
        return len(self.offset)

    def ids(self) -> Ids:
        """The n ids of the records, by row."""
        return Ids(producer=self.producer, sequence=self.sequence)

    def columns(self, rows: Ints) -> Columns:
        """LOG_COLUMNS of k rows, each of shape (k,)."""
        return {
            "offset": self.offset[rows],
            "producer": self.producer[rows],
            "sequence": self.sequence[rows],
            "checksum": self.checksum[rows],
        }

    def rows_at(self, offsets: Ints) -> Ints:
        """The row at each offset, -1 where the log has none; both of shape (k,), int64."""
        if not self._dense and self._index is None:
            found = np.minimum(self.rank(offsets), len(self) - 1)
            return np.where(self.offset[found] == offsets, found, -1)
        rows = offsets - self._first
        span = len(self) if self._index is None else len(self._index)
        rows[(rows < 0) | (rows >= span)] = -1
        if self._index is not None:
            inside = rows >= 0
            rows[inside] = self._index[rows[inside]]
        return rows

    def rows_of_run(self, offsets: Ints) -> slice | None:
        """The k rows that have these offsets (shape (k,), k > 0), each one above the one before it; None if
        one of them is in no row."""
        begin = int(self.rank(offsets[0]))
        end = begin + len(offsets)
        there = end <= len(self) and self.offset[begin] == offsets[0] and self.offset[end - 1] == offsets[-1]
        return slice(begin, end) if there else None

    def holds(self, rows: Ints | slice, records: Columns) -> Bools:
        """Whether each of k rows is the record of the same place in the columns producer, sequence, checksum;
        all of shape (k,)."""
        same: Bools = (
            (self.sequence[rows] == records["sequence"])
            & (self.producer[rows] == records["producer"])
            & (self.checksum[rows] == records["checksum"])
        )
        return same

    def rank(self, offsets: Ints) -> Ints:
        """How many rows lie below each offset; both of shape (k,), int64."""
        return np.searchsorted(self.offset, offsets)


def is_run(offsets: Ints) -> bool:
    """Whether there is an offset, and each of them (shape (k,)) is one above the one before it.

    What a reader was given nearly always is: then no row has to be looked up by its offset.
    """
    if not len(offsets) or int(offsets[-1]) - int(offsets[0]) != len(offsets) - 1:
        return False
    return bool((offsets[1:] > offsets[:-1]).all())


def read_final_log(task: PartitionTask, replaced: Replaced | None = None) -> FinalLog:
    """The log of a partition, or of a part; raises MalformedHistory, also when its offsets do not ascend.

    `replaced` takes the leader epochs, which are kept nowhere else.
    """
    parts, before = [], _Before()
    names = LOG_COLUMNS if replaced is None else (*LOG_COLUMNS, "leader_epoch")
    for piece in task.slices("final_log", names):
        before.check(piece)
        columns = piece.columns(names)
        if replaced is not None:
            replaced.add(columns["offset"], columns.pop("leader_epoch"))
        parts.append(columns)
    return FinalLog(
        {
            name: np.concatenate([part[name] for part in parts]) if parts else _EMPTY[name]
            for name in LOG_COLUMNS
        }
    )


def count_final_log(task: PartitionTask) -> int:
    """How many records it has; raises as `read_final_log` does."""
    count, before = 0, _Before()
    for piece in task.slices("final_log", ("offset",)):
        before.check(piece)
        count += len(piece.rows) if piece.inside is None else int(np.count_nonzero(piece.inside))
    return count


@dataclass(slots=True)
class _Before:
    """The last row that was checked, and its offset."""

    row: int = -1
    offset: int = -1

    def check(self, piece: Slice) -> None:
        """Raise MalformedHistory if the offsets of the slice do not ascend from those before it."""
        offset = values_of(piece.path, "offset", piece.rows.column("offset"))
        if not len(offset):
            return
        if piece.first_row != self.row + 1:
            self.offset = int(offset[0]) - 1  # other parts have read what lies between
        if piece.first_row == 0 and offset[0] < 0:
            raise MalformedHistory(piece.path, f"offset {offset[0]} is negative")
        falls = np.flatnonzero(np.diff(offset, prepend=self.offset) <= 0)
        if falls.size:
            at = int(falls[0])
            before, after = offset[at - 1] if at else self.offset, offset[at]
            raise MalformedHistory(
                piece.path,
                f"offsets do not ascend: {before} then {after} at row {piece.first_row + at}",
            )
        self.row, self.offset = piece.first_row + len(offset) - 1, int(offset[-1])


LOWEST, HIGHEST = np.iinfo(np.int64).min, np.iinfo(np.int64).max


def empty_runs(offset: Ints, first: int = LOWEST, end: int = HIGHEST) -> Ints:
    """Runs [begin, end) without a record in [first, end), ascending; shape (runs, 2).

    `offset` has shape (n,), the ascending offsets of all records there.
    """
    if not len(offset):
        return np.array([(first, end)], np.int64)
    inner = np.flatnonzero(offset[1:] != offset[:-1] + 1)
    begins = np.concatenate(([first], offset[inner] + 1, offset[-1:] + 1))
    ends = np.concatenate((offset[:1], offset[inner + 1], [end]))
    some = begins < ends
    return np.stack((begins[some], ends[some]), axis=1)


def within(runs: Ints, first: Ints, end: Ints) -> Bools:
    """Which of k ranges [first, end) lie within one of some disjoint ascending runs; shape (k,)."""
    if not len(runs):
        return np.zeros(len(first), bool)
    at = np.maximum(np.searchsorted(runs[:, 0], first, side="right") - 1, 0)
    inside: Bools = (runs[at, 0] <= first) & (end <= runs[at, 1])
    return inside


_EMPTY: Columns = {name: np.empty(0, np.int32 if name == "producer" else np.int64) for name in LOG_COLUMNS}
