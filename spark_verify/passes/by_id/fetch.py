"""Pass 2, on a worker: fetch the sends and log records of the suspicious ids.

They come from *all* partitions, so they are a subset on which the reference rules "by id" and those of order
give the same answers as on the whole history.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa

from checkers.history.tables import TABLES
from spark_verify.kernels.ids import Ids, IntegerSet
from spark_verify.partition_task import Bools, PartitionTask

if TYPE_CHECKING:
    from pyspark import Broadcast

_PLACE = ("topic", "partition")


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """One partition of a history, or a part of it, whose suspicious ids are to be fetched."""

    task: PartitionTask
    case: int
    """Which of the sets of ids is that of its history."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fetched:
    """The rows of one partition that were fetched, with the columns of TABLES but topic and partition."""

    sends: pa.Table
    final_log: pa.Table


def together(parts: Sequence[Fetched]) -> Fetched:
    """What was fetched of the parts of one partition, by offset."""
    return Fetched(
        sends=pa.concat_tables([part.sends for part in parts]),
        final_log=pa.concat_tables([part.final_log for part in parts]),
    )


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
