"""Pass 2, on a worker: fetch the sends and log records of the suspicious ids.

They come from *all* partitions, so they are a subset on which the reference rules "by id" and those of order
give the same answers as on the whole history.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from checkers.history.tables import TABLES
from spark_verify.kernels.ids import Ids
from spark_verify.partition_task import Bools, Ints, PartitionTask

if TYPE_CHECKING:
    from pyspark import Broadcast

_PLACE = ("topic", "partition")
_LEAST_ROOM, _ROOM_PER_VALUE = 1 << 16, 16


class IntegerSet:
    """A set of int64 that rules out 65,536 others in 0.2 ms."""

    def __init__(self, values: Ints) -> None:
        """The set of `values`, shape (k,), in any order."""
        self._values = np.sort(values)
        room = max(_LEAST_ROOM, _ROOM_PER_VALUE * len(self._values))
        self._shift = np.uint64(64 - (room - 1).bit_length())
        self._marked = np.zeros(1 << (64 - int(self._shift)), bool)
        self._marked[self._places(self._values)] = True

    def contains(self, values: Ints) -> Bools:
        """Which of the values are in the set; both of shape (n,)."""
        found: Bools = self._marked[self._places(values)]
        perhaps = np.flatnonzero(found)
        places = np.minimum(np.searchsorted(self._values, values[perhaps]), len(self._values) - 1)
        found[perhaps] = self._values[places] == values[perhaps]
        return found

    def _places(self, values: Ints) -> npt.NDArray[np.uint64]:
        # Fibonacci hashing: the golden ratio's bits spread neighbours, which ids and offsets are.
        hashed: npt.NDArray[np.uint64] = (
            values.view(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
        ) >> self._shift
        return hashed


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """One partition of a history whose suspicious ids are to be fetched."""

    task: PartitionTask
    case: int
    """Which of the sets of ids is that of its history."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fetched:
    """The rows of one partition that were fetched, with the columns of TABLES but topic and partition."""

    sends: pa.Table
    final_log: pa.Table


def fetch(shared: "Broadcast[list[Ids]]", wanted: Wanted) -> Fetched:
    """Fetch rows of one partition; raises MalformedHistory. Of an undecided partition, only sends count.

    `shared` holds the suspicious ids of each history, at least one.
    """
    task = wanted.task
    keys = IntegerSet(shared.value[wanted.case].keys())

    def suspicious(batch: pa.RecordBatch) -> Bools:
        columns = {name: batch.column(name).to_numpy() for name in ("producer", "sequence")}
        return keys.contains(Ids.of(columns).keys())

    decided = task.window is not None
    return Fetched(
        sends=_filtered(task, "sends", suspicious),
        final_log=_filtered(task, "final_log", suspicious if decided else None),
    )


def _filtered(task: PartitionTask, table: str, test: Callable[[pa.RecordBatch], Bools] | None) -> pa.Table:
    batches = task.record_batches(table, _schema(table).names) if test else ()
    found = [batch.filter(pa.array(test(batch))) for batch in batches if test]
    return pa.Table.from_batches([batch for batch in found if len(batch)], _schema(table))


def _schema(table: str) -> pa.Schema:
    return pa.schema([field for field in TABLES[table] if field.name not in _PLACE])


NOTHING = Fetched(**{table: _schema(table).empty_table() for table in ("sends", "final_log")})
