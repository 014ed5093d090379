"""The reads of a partition laid over its final log: where they contradict it or each other, or skip.

Columns of reads have shape (reads,); offsets and sequences are int64, `read_ns` is in ns.
"""

from dataclasses import dataclass

import numpy as np

from spark_verify.kernels.final_log import FinalLog
from spark_verify.kernels.ids import Ids
from spark_verify.partition_task import Bools, Columns, Ints, Window

READ_COLUMNS = ("reader", "generation", "offset", "producer", "sequence", "checksum", "read_ns")
SKIP_COLUMNS = ("reader", "generation", "before", "offset", "read_ns")
_NO_READ = np.iinfo(np.int64).min


@dataclass(frozen=True, slots=True, kw_only=True)
class _Stream:
    """One generation of one reader: its reads are compared in file order."""

    reader: int
    generation: int


class Reads:
    """Takes the reads of a decided partition batch by batch."""

    def __init__(self, window: Window, log: FinalLog) -> None:
        self._window = window
        self._log = log
        self._last: dict[_Stream, int] = {}
        self._skips: list[Columns] = []
        self._contradicted: list[Columns] = []
        self._unanswered: list[Columns] = []
        self.count = 0
        self.unread = 0
        """Reads in [high watermark, log end), about which nothing is decided."""

    def add(self, reads: Columns) -> None:
        """Lay one batch of reads over the log: the columns READ_COLUMNS, each of shape (batch rows,)."""
        offset = reads["offset"]
        self.count += len(offset)
        unread = self._window.unread(offset)
        self.unread += int(np.count_nonzero(unread))
        row = self._log.rows_at(offset)
        there = np.flatnonzero(row >= 0)
        at = row[there]
        same = (
            (self._log.sequence[at] == reads["sequence"][there])
            & (self._log.producer[at] == reads["producer"][there])
            & (self._log.checksum[at] == reads["checksum"][there])
        )
        if not same.all():
            self._contradicted.append(_places(reads, there[~same]))
        if len(there) < len(offset):
            self._add_absent(reads, row < 0, unread)
        self._add_order(reads)

    def suspect_offsets(self) -> Ints:
        """The offsets (shape (k,), int64, ascending) at which a read differs from the log or from another
        read."""
        found = [*(part["offset"] for part in self._contradicted), self._disagreed()]
        return np.unique(np.concatenate(found))

    def gone(self) -> Ids:
        """The ids of what readers were given and the log does not hold there: whose sends are evidence."""
        return Ids.joined([Ids.of(part) for part in self._contradicted])

    def skips(self) -> Columns:
        """Reads that do not rise above the read `before` them, or leave out a record of the log.

        The columns SKIP_COLUMNS, each of shape (skips,); `before` and `offset` are offsets.
        """
        if not self._skips:
            return {name: np.empty(0, np.int64) for name in SKIP_COLUMNS}
        return {name: np.concatenate([part[name] for part in self._skips]) for name in SKIP_COLUMNS}

    def _add_absent(self, reads: Columns, absent: Bools, unread: Bools) -> None:
        """Reads where the log has nothing: lost, or where the log decides nothing, so that only readers can
        disagree. `absent` and `unread` have shape (batch rows,)."""
        unanswered = absent & (unread | (reads["offset"] < self._window.log_start))
        lost = absent & ~unanswered
        if lost.any():
            self._contradicted.append(_places(reads, lost))
        if unanswered.any():
            self._unanswered.append(_places(reads, unanswered))

    def _disagreed(self) -> Ints:
        """Offsets, shape (k,), at which two reads that the log does not decide on differ."""
        if not self._unanswered:
            return np.empty(0, np.int64)
        names = ("checksum", "sequence", "producer", "offset")
        columns = [np.concatenate([part[name] for part in self._unanswered]) for name in names]
        order = np.lexsort(columns)
        *record, offset = (column[order] for column in columns)
        differs = np.logical_or.reduce([column[1:] != column[:-1] for column in record])
        found: Ints = offset[1:][differs & (offset[1:] == offset[:-1])]
        return found

    def _add_order(self, reads: Columns) -> None:
        """Compare each read of the batch with the one before it in its stream."""
        reader, generation, offset = reads["reader"], reads["generation"], reads["offset"]
        changes = (reader[1:] != reader[:-1]) | (generation[1:] != generation[:-1])
        if changes.any():
            order = np.lexsort((generation, reader))
            reads = {name: column[order] for name, column in reads.items()}
            reader, generation, offset = reads["reader"], reads["generation"], reads["offset"]
            changes = (reader[1:] != reader[:-1]) | (generation[1:] != generation[:-1])
        starts = np.concatenate(([0], np.flatnonzero(changes) + 1))
        ends = np.concatenate((starts[1:], [len(offset)]))
        before = np.concatenate((offset[:1], offset[:-1]))
        for start, end in zip(starts.tolist(), ends.tolist(), strict=True):
            stream = _Stream(reader=int(reader[start]), generation=int(generation[start]))
            before[start] = self._last.get(stream, _NO_READ)
            self._last[stream] = int(offset[end - 1])
        found = np.flatnonzero((offset != before + 1) & (before != _NO_READ))
        if found.size:
            bad = found[self._out_of_order(before[found], offset[found])]
            part = {
                "before": before,
                "offset": offset,
                "reader": reader,
                "generation": generation,
                "read_ns": reads["read_ns"],
            }
            self._skips.append({name: column[bad] for name, column in part.items()})

    def _out_of_order(self, before: Ints, offset: Ints) -> Bools:
        """Which of k reads do not rise, or skip a log record; offsets and answer have shape (k,)."""
        return (offset <= before) | (self._log.rank(offset) > self._log.rank(before + 1))


def _places(reads: Columns, wanted: Ints | Bools) -> Columns:
    return {name: reads[name][wanted] for name in ("offset", "producer", "sequence", "checksum")}
