"""What a worker is given: one partition of one history, with all that must be known about it beforehand, or a
part of its offsets.

Array types of the room: `Ints` int64 and `Bools` bool, both of one dimension unless a docstring states
another shape.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from checkers.errors import MalformedHistory
from checkers.history.load import open_unit
from checkers.history.records.markers import EVERY_HOLE, EmptyOffsets
from checkers.history.rows import TopicPartition
from checkers.history.tables import NONE, unit_path
from checkers.places import Place, place_of

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]
Columns = dict[str, npt.NDArray[Any]]
"""Columns of a batch by name, each of shape (rows,) with the dtype of its table's schema, read-only."""


def joined(names: Sequence[str], parts: Sequence[Columns]) -> Columns:
    """The named columns of all parts behind each other; int64 and empty if there is no part."""
    if not parts:
        return {name: np.empty(0, np.int64) for name in names}
    return {name: np.concatenate([part[name] for part in parts]) for name in names}


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
    near: Ints
    known: bool
    """Whether the partition has a timeline; without one its acks are undecided."""
    producers: Ints
    """Shape (p,), ascending: the producers that the history describes."""
    waits: Bools
    """Shape (p,): which of them asked for acks=all."""


class SampledEpoch(NamedTuple):
    """The samples of one leader epoch of a partition (-1: of an unknown one): first and last time, in ns, and
    the greatest high watermark."""

    leader_epoch: int
    first_ns: int
    last_ns: int
    highest: int


class RowGroup(NamedTuple):
    """A row group of a file that may hold rows of a part. A tuple, as thousands of them go to workers."""

    number: int
    first_row: int
    owned: bool
    """Whether what no offset places is this part's: rows without an offset, and how rows follow each other.
    One part owns each group."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """The offsets [first, last] of a partition. The parts of a partition have all offsets between them."""

    number: int
    first: int
    last: int
    groups: Mapping[str, tuple[RowGroup, ...]]
    """By bulk table, in file order: all groups that hold rows of the part."""

    def inside(self, offsets: Ints, *, owned: bool) -> Bools:
        """Which rows of a group are the part's, by their offsets; both of shape (rows,)."""
        inside: Bools = (offsets >= self.first) & (offsets <= self.last)
        return inside | (offsets < 0) if owned else inside & (offsets >= 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Slice:
    """Rows of a file that lie behind each other, from `first_row` on; some may be of other parts."""

    path: Place
    rows: pa.RecordBatch
    first_row: int
    owned: bool
    """See `RowGroup`."""
    inside: Bools | None
    """Shape (rows,): which are of this part; None: all."""

    def numbers(self) -> Ints:
        """Shape (rows inside,): the numbers of the part's rows in their file."""
        if self.inside is None:
            return np.arange(self.first_row, self.first_row + len(self.rows))
        return np.flatnonzero(self.inside) + self.first_row

    def columns(self, names: Sequence[str]) -> Columns:
        """Columns of the part's rows, each of shape (rows inside,); raises MalformedHistory."""
        inside = self.inside
        found = {name: values_of(self.path, name, self.rows.column(name)) for name in names}
        return found if inside is None else {name: column[inside] for name, column in found.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionTask:
    """One partition of one history, or one part of it."""

    history_dir: str
    topic: str
    partition: int
    rows: int
    """In all of its files, or in what is read of them: the weight of the task."""
    window: Window | None
    """None: its final read is not proven complete, it decides nothing."""
    highest: int = NONE
    """The greatest sampled high watermark."""
    epochs: tuple[SampledEpoch, ...] = ()
    """The samples of each known leader epoch."""
    ack_spans: AckSpans | None = None
    """None: it is not decided whether acks=all was backed."""
    read_limits: Ints | None = None
    """Shape (k,), ascending: before which times (ns) the greatest offset that was read is needed; None: it is
    not decided what was read early."""
    unanswered: tuple[int, ...] = ()
    """The producers with acks=0, whose completions show nothing of the log."""
    empty: EmptyOffsets = EVERY_HOLE
    """What an empty offset of its log means."""
    committed: bool = False
    """Whether read_committed readers were given anything in its history."""
    batch_rows: int = BATCH_ROWS
    """How many rows are read and compared together; the answer does not depend on it."""
    part: Part | None = None
    """None: the whole partition."""

    @property
    def tp(self) -> TopicPartition:
        """The partition."""
        return TopicPartition(self.topic, self.partition)

    def path(self, table: str) -> Place:
        """Its file of a bulk table."""
        return unit_path(place_of(self.history_dir), table, self.topic, self.partition)

    def batches(self, table: str, columns: Sequence[str]) -> Iterator[Columns]:
        """Columns of its file of a table, batch by batch in file order; raises MalformedHistory."""
        for piece in self.slices(table, columns):
            yield piece.columns(columns)

    def record_batches(self, table: str, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """The same as Arrow data."""
        for piece in self.slices(table, columns):
            rows = piece.rows.select(list(columns))
            yield rows if piece.inside is None else rows.filter(pa.array(piece.inside))

    def slices(self, table: str, columns: Sequence[str]) -> Iterator[Slice]:
        """What must be read of a file to see all rows of the task, in file order; at least these columns.

        Slices without any row of the task are left out if the task does not own them. Raises
        MalformedHistory.
        """
        path = self.path(table)
        with open_unit(path, table, self.topic, self.partition) as file:
            if self.part is None:
                yield from self._of_all(file, path, columns)
            else:
                yield from self._of_part(self.part, file, path, table, columns)

    def read_groups(
        self, file: pq.ParquetFile, path: Place, groups: Sequence[int] | None, columns: Sequence[str]
    ) -> Iterator[pa.RecordBatch]:
        """Columns of some row groups of an open file (None: all), batch by batch; raises MalformedHistory."""
        which = None if groups is None else list(groups)
        try:
            yield from file.iter_batches(
                self.batch_rows, row_groups=which, columns=list(columns), use_threads=False
            )
        except (pa.ArrowException, OSError, ValueError) as error:
            line = (str(error).strip().splitlines() or [type(error).__name__])[0]
            raise MalformedHistory(path, f"cannot be read: {line}") from None

    def _of_all(self, file: pq.ParquetFile, path: Place, columns: Sequence[str]) -> Iterator[Slice]:
        first_row = 0
        for rows in self.read_groups(file, path, None, columns):
            yield Slice(path=path, rows=rows, first_row=first_row, owned=True, inside=None)
            first_row += len(rows)

    def _of_part(
        self, part: Part, file: pq.ParquetFile, path: Place, table: str, columns: Sequence[str]
    ) -> Iterator[Slice]:
        names = list(dict.fromkeys([*columns, "offset"]))
        for run in _runs(part.groups[table]):
            first_row, owned = run[0].first_row, run[0].owned
            for rows in self.read_groups(file, path, [group.number for group in run], names):
                inside = part.inside(values_of(path, "offset", rows.column("offset")), owned=owned)
                if owned or inside.any():
                    some = None if inside.all() else inside
                    yield Slice(path=path, rows=rows, first_row=first_row, owned=owned, inside=some)
                first_row += len(rows)


def _runs(groups: Sequence[RowGroup]) -> Iterator[list[RowGroup]]:
    """Groups behind each other of which a part owns all or none: they are read as one."""
    for _, run in groupby(enumerate(groups), key=lambda each: (each[1].owned, each[1].number - each[0])):
        yield [group for _, group in run]


def values_of(path: Place, name: str, column: pa.Array) -> npt.NDArray[Any]:
    """A column without nulls as an array over the same memory; raises MalformedHistory."""
    if column.null_count:
        raise MalformedHistory(path, f"column {name} has nulls")
    values: npt.NDArray[Any] = column.to_numpy(zero_copy_only=True)
    return values
