"""What a worker is given: one partition of one history, with all that must be known about it beforehand.

Array types of the room: `Ints` int64 and `Bools` bool, both of one dimension unless a docstring states
another shape.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from checkers.errors import MalformedHistory
from checkers.history.load import open_unit
from checkers.history.rows import TopicPartition
from checkers.history.tables import NONE, unit_path

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]
Columns = dict[str, npt.NDArray[Any]]
"""Columns of a batch by name, each of shape (rows,) with the dtype of its table's schema, read-only."""

BATCH_ROWS = 65_536
"""What a core's cache holds of the columns of a batch: larger ones were slower, and smaller ones."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """Offsets of a decided partition, from its proof: [log_start, high_watermark) was read,
    [high_watermark, log_end) is on disk and was not."""

    log_start: int
    high_watermark: int
    log_end: int

    def unread(self, offsets: Ints) -> Bools:
        """Which offsets (shape (k,), int64) are on disk but could not be read, so that nothing is decided
        there; shape (k,)."""
        return (offsets >= self.high_watermark) & (offsets < self.log_end)


@dataclass(frozen=True, slots=True, kw_only=True)
class AckSpans:
    """When a partition could acknowledge acks=all, and what its history's producers asked for.

    Spans are disjoint and ascending, each [begin, end) in ns; shape (k, 2).
    """

    certain: Ints
    possible: Ints
    known: bool
    """Whether the partition has a timeline; without one its acks are undecided."""
    producers: Ints
    """Shape (p,), ascending: the producers that the history describes."""
    waits: Bools
    """Shape (p,): which of them asked for acks=all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionTask:
    """One partition of one history."""

    history_dir: str
    topic: str
    partition: int
    rows: int
    """In all of its files: the weight of the task."""
    window: Window | None
    """None: its final read is not proven complete, it decides nothing."""
    highest: int = NONE
    """The greatest sampled high watermark."""
    epochs: tuple[tuple[int, int, int], ...] = ()
    """Of the samples of each known leader epoch: first and last time (ns), greatest high watermark."""
    ack_spans: AckSpans | None = None
    """None: it is not decided whether acks=all was backed."""
    unanswered: tuple[int, ...] = ()
    """The producers with acks=0, whose completions show nothing of the log."""
    batch_rows: int = BATCH_ROWS
    """How many rows are read and compared together; the answer does not depend on it."""

    @property
    def tp(self) -> TopicPartition:
        """The partition."""
        return TopicPartition(self.topic, self.partition)

    def path(self, table: str) -> Path:
        """Its file of a bulk table."""
        return unit_path(Path(self.history_dir), table, self.topic, self.partition)

    def batches(self, table: str, columns: Sequence[str]) -> Iterator[Columns]:
        """Columns of its file of a table, batch by batch in file order; raises MalformedHistory."""
        path = self.path(table)
        for batch in self.record_batches(table, columns):
            yield {name: _values(path, name, batch.column(name)) for name in columns}

    def record_batches(self, table: str, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """The same as Arrow data."""
        path = self.path(table)
        with open_unit(path, table, self.topic, self.partition) as file:
            batches = file.iter_batches(self.batch_rows, columns=list(columns), use_threads=False)
            try:
                yield from batches
            except (pa.ArrowException, OSError, ValueError) as error:
                line = (str(error).strip().splitlines() or [type(error).__name__])[0]
                raise MalformedHistory(path, f"cannot be read: {line}") from None


def _values(path: Path, name: str, column: pa.Array) -> npt.NDArray[Any]:
    if column.null_count:
        raise MalformedHistory(path, f"column {name} has nulls")
    values: npt.NDArray[Any] = column.to_numpy(zero_copy_only=True)
    return values
