"""The final log of one partition as arrays, and the row of an offset in them.

A *row* is a place in these arrays: int64, 0 for the record with the lowest offset.
"""

import numpy as np
import numpy.typing as npt

from checkers.errors import MalformedHistory
from spark_verify.kernels.ids import Ids
from spark_verify.partition_task import Bools, Columns, Ints, PartitionTask

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

    def holds(self, rows: Ints, records: Columns) -> Bools:
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


def read_final_log(task: PartitionTask) -> FinalLog:
    """The whole log of a partition; raises MalformedHistory, also when its offsets do not ascend."""
    parts = list(task.batches("final_log", LOG_COLUMNS))
    columns = {
        name: np.concatenate([part[name] for part in parts]) if parts else _EMPTY[name]
        for name in LOG_COLUMNS
    }
    offset = columns["offset"]
    if len(offset) and offset[0] < 0:
        raise MalformedHistory(task.path("final_log"), f"offset {offset[0]} is negative")
    falls = np.flatnonzero(offset[1:] <= offset[:-1])
    if falls.size:
        before, after = offset[falls[0] : falls[0] + 2]
        raise MalformedHistory(
            task.path("final_log"), f"offsets do not ascend: {before} then {after} at row {falls[0] + 1}"
        )
    return FinalLog(columns)


_EMPTY: Columns = {name: np.empty(0, np.int32 if name == "producer" else np.int64) for name in LOG_COLUMNS}
