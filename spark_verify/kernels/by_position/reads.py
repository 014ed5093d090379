"""The reads of a partition: where they differ from its final log, and where they do not follow each other.

Columns of reads have shape (reads,); offsets and sequences are int64, `read_ns` is in ns. `row` is the number
of a row in its file.
"""

from dataclasses import dataclass, replace

import numpy as np

from checkers.history.tables import NONE
from spark_verify.kernels.final_log import LOG_COLUMNS, FinalLog, within
from spark_verify.partition_task import Bools, Columns, Ints, Window, joined

READ_COLUMNS = (
    "reader",
    "generation",
    "offset",
    "producer",
    "sequence",
    "checksum",
    "leader_epoch",
    "read_ns",
)
STREAM_COLUMNS = ("reader", "generation", "offset", "read_ns")
DIFFERING = (*LOG_COLUMNS, "reader", "leader_epoch", "read_ns", "row")
JUMP_COLUMNS = ("reader", "generation", "before", "before_ns", "offset", "read_ns", "row")
SEAM_COLUMNS = (*STREAM_COLUMNS, "row", "last_offset", "last_ns")
COMMITTED_ROWS = 1 << 48
"""From which number on the rows of DIFFERING are those of read_committed readers, in the order of their own
file."""
_NO_READ = np.iinfo(np.int64).min


class Reads:
    """Takes the reads of a decided partition, or of a part, batch by batch, and lays them over the log."""

    def __init__(self, window: Window, log: FinalLog) -> None:
        self._window = window
        self._log = log
        self._differing: list[Columns] = []
        self.count = 0
        self.unread = 0
        """Reads in [high watermark, log end), about which nothing is decided."""

    def add(self, reads: Columns, *, run: bool) -> None:
        """The next batch: the columns READ_COLUMNS and `row`, of shape (batch rows,); `run`: see is_run."""
        offset = reads["offset"]
        self.count += len(offset)
        rows = self._log.rows_of_run(offset) if run and not self._some_unread(offset) else None
        if rows is None:
            self._add_by_offset(reads)
        elif not (same := self._log.holds(rows, reads)).all():
            self._add_differing(reads, np.flatnonzero(same))

    def _some_unread(self, run: Ints) -> bool:
        """Whether an offset of a run lies in [high watermark, log end)."""
        return bool(run[0] < self._window.log_end and run[-1] >= self._window.high_watermark)

    def _add_by_offset(self, reads: Columns) -> None:
        offset = reads["offset"]
        unread = self._window.unread(offset)
        self.unread += int(np.count_nonzero(unread))
        row = self._log.rows_at(offset)
        there = np.flatnonzero(row >= 0)
        same = self._log.holds(row[there], {name: reads[name][there] for name in LOG_COLUMNS})
        if len(there) < len(offset) or not same.all():
            self._add_differing(reads, there[same])

    def differing(self) -> Columns:
        """The reads of what the log does not hold at their offset, in file order: the columns DIFFERING, each
        of shape (k,). What was read where nothing is decided is among them."""
        return joined(DIFFERING, self._differing)

    def _add_differing(self, reads: Columns, same: Ints) -> None:
        """Keep the reads of the batch but those at the places `same`, which are as the log has them."""
        differs = np.ones(len(reads["offset"]), bool)
        differs[same] = False
        self._differing.append({name: reads[name][differs] for name in DIFFERING})


@dataclass(frozen=True, slots=True, kw_only=True)
class _Stream:
    """One generation of one reader: its reads are compared in file order."""

    reader: int
    generation: int


@dataclass(frozen=True, slots=True, kw_only=True)
class _Begun:
    """The first and the last read so far of a stream, in rows that lie behind each other."""

    row: int
    offset: int
    read_ns: int
    last_offset: int
    last_ns: int


class Streams:
    """Takes reads as they lie in their file, and finds those that are not one offset above the one before.

    A part sees some stretches of the file only. How one stretch follows another is decided when all are known
    (`jumps_between`).
    """

    def __init__(self) -> None:
        self._next_row = 0
        self._begun: dict[_Stream, _Begun] = {}
        self._jumps: list[Columns] = []
        self._seams: list[tuple[_Stream, _Begun]] = []

    def add(self, reads: Columns, first_row: int, *, run: bool) -> None:
        """The next rows of the file: the columns STREAM_COLUMNS, each of shape (rows,); `run`: see is_run."""
        if first_row != self._next_row:
            self._close()
        self._next_row = first_row + len(reads["offset"])
        if not len(reads["offset"]):
            return
        several = bool(_changes(reads).any())
        if run and not several and self._goes_on(reads):
            return
        rows = {name: reads[name] for name in STREAM_COLUMNS}
        rows["row"] = np.arange(first_row, self._next_row)
        if several:
            order = np.lexsort((rows["generation"], rows["reader"]))
            rows = {name: column[order] for name, column in rows.items()}
        self._add_sorted(rows)

    def jumps(self) -> Columns:
        """The reads that are not one offset above the read `before` them, within the stretches: the columns
        JUMP_COLUMNS, each of shape (jumps,)."""
        return joined(JUMP_COLUMNS, self._jumps)

    def seams(self) -> Columns:
        """The first and the last read of each stream in each stretch: the columns SEAM_COLUMNS, each of shape
        (seams,)."""
        self._close()
        found = [
            (s.reader, s.generation, b.offset, b.read_ns, b.row, b.last_offset, b.last_ns)
            for s, b in self._seams
        ]
        rows = np.array(found, np.int64).reshape(-1, len(SEAM_COLUMNS))
        return {name: rows[:, at] for at, name in enumerate(SEAM_COLUMNS)}

    def _close(self) -> None:
        self._seams += self._begun.items()
        self._begun = {}

    def _goes_on(self, run: Columns) -> bool:
        """Take a run of one stream that begins one offset above its last read; whether it does."""
        stream = _Stream(reader=int(run["reader"][0]), generation=int(run["generation"][0]))
        begun = self._begun.get(stream)
        if begun is None or run["offset"][0] != begun.last_offset + 1:
            return False
        last_offset, last_ns = int(run["offset"][-1]), int(run["read_ns"][-1])
        self._begun[stream] = replace(begun, last_offset=last_offset, last_ns=last_ns)
        return True

    def _add_sorted(self, rows: Columns) -> None:
        """`rows`, each of shape (n,), by stream and then in file order."""
        offset, read_ns = rows["offset"], rows["read_ns"]
        starts = np.concatenate(([0], np.flatnonzero(_changes(rows)) + 1))
        ends = np.concatenate((starts[1:], [len(offset)]))
        before = np.concatenate((offset[:1], offset[:-1]))
        since = []
        for start, end in zip(starts.tolist(), ends.tolist(), strict=True):
            stream = _Stream(reader=int(rows["reader"][start]), generation=int(rows["generation"][start]))
            begun = self._begun.get(stream)
            before[start] = begun.last_offset if begun else _NO_READ
            since.append(begun.last_ns if begun else NONE)
            self._begun[stream] = _Begun(
                row=begun.row if begun else int(rows["row"][start]),
                offset=begun.offset if begun else int(offset[start]),
                read_ns=begun.read_ns if begun else int(read_ns[start]),
                last_offset=int(offset[end - 1]),
                last_ns=int(read_ns[end - 1]),
            )
        found = np.flatnonzero((offset != before + 1) & (before != _NO_READ))
        if found.size:
            before_ns = np.concatenate((read_ns[:1], read_ns[:-1]))
            before_ns[starts] = since
            part = rows | {"before": before, "before_ns": before_ns}
            self._jumps.append({name: part[name][found] for name in JUMP_COLUMNS})


def _changes(rows: Columns) -> Bools:
    """Shape (n - 1,): which rows are of another stream than the row before them."""
    changes: Bools = (rows["reader"][1:] != rows["reader"][:-1]) | (
        rows["generation"][1:] != rows["generation"][:-1]
    )
    return changes


def jumps_between(seams: Columns) -> Columns:
    """The jumps from one stretch of a file to the next, of all stretches: the columns JUMP_COLUMNS.

    `seams` are the columns SEAM_COLUMNS of all of them, in any order.
    """
    order = np.lexsort((seams["row"], seams["generation"], seams["reader"]))
    rows = {name: column[order] for name, column in seams.items()}
    same = ~_changes(rows)
    before, offset = rows["last_offset"][:-1], rows["offset"][1:]
    found = np.flatnonzero(same & (offset != before + 1))
    later = {name: rows[name][1:][found] for name in (*STREAM_COLUMNS, "row")}
    return later | {"before": before[found], "before_ns": rows["last_ns"][:-1][found]}


def skips(jumps: Columns, empty: Ints) -> Columns:
    """The jumps that do not rise, or leave out a record of the log: the columns JUMP_COLUMNS, in file order.

    `empty`, shape (runs, 2), are the offsets without a record, as `empty_runs` gives them.
    """
    before, offset = jumps["before"], jumps["offset"]
    bad = np.flatnonzero((offset <= before) | ~within(empty, before + 1, offset))
    bad = bad[np.argsort(jumps["row"][bad], kind="stable")]
    return {name: column[bad] for name, column in jumps.items()}
