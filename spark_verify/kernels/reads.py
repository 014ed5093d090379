"""The reads of a partition laid over its final log: where they differ from it, or do not follow each other.

Columns of reads have shape (reads,); offsets and sequences are int64, `read_ns` is in ns.
"""

from dataclasses import dataclass

import numpy as np

from checkers.history.tables import NONE
from spark_verify.kernels.final_log import LOG_COLUMNS, FinalLog
from spark_verify.partition_task import Bools, Columns, Ints, Window

READ_COLUMNS = ("reader", "generation", "offset", "producer", "sequence", "checksum", "read_ns")
DIFFERING = (*LOG_COLUMNS, "reader", "read_ns")
SKIP_COLUMNS = ("reader", "generation", "before", "before_ns", "offset", "read_ns")
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
        self._last: dict[_Stream, tuple[int, int]] = {}
        self._skips: list[Columns] = []
        self._differing: list[Columns] = []
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
        same = self._log.holds(row[there], {name: reads[name][there] for name in LOG_COLUMNS})
        if len(there) < len(offset) or not same.all():
            self._add_differing(reads, there[same])
        self._add_order(reads)

    def differing(self) -> Columns:
        """The reads of what the log does not hold at their offset, in file order: the columns DIFFERING, each
        of shape (k,). What was read where nothing is decided is among them."""
        parts = [{name: np.empty(0, np.int64) for name in DIFFERING}, *self._differing]
        return {name: np.concatenate([part[name] for part in parts]) for name in DIFFERING}

    def skips(self) -> Columns:
        """Reads that do not rise above the read `before` them, or leave out a record of the log.

        The columns SKIP_COLUMNS, each of shape (skips,): `before` and `offset` are offsets, `before_ns` is
        the time of the read before.
        """
        if not self._skips:
            return {name: np.empty(0, np.int64) for name in SKIP_COLUMNS}
        return {name: np.concatenate([part[name] for part in self._skips]) for name in SKIP_COLUMNS}

    def _add_differing(self, reads: Columns, same: Ints) -> None:
        """Keep the reads of the batch but those at the places `same`, which are as the log has them."""
        differs = np.ones(len(reads["offset"]), bool)
        differs[same] = False
        self._differing.append({name: reads[name][differs] for name in DIFFERING})

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
        read_ns, since = reads["read_ns"], []
        for start, end in zip(starts.tolist(), ends.tolist(), strict=True):
            stream = _Stream(reader=int(reader[start]), generation=int(generation[start]))
            before[start], its_last_ns = self._last.get(stream, (_NO_READ, NONE))
            since.append(its_last_ns)
            self._last[stream] = int(offset[end - 1]), int(read_ns[end - 1])
        found = np.flatnonzero((offset != before + 1) & (before != _NO_READ))
        if found.size:
            bad = found[self._out_of_order(before[found], offset[found])]
            before_ns = np.concatenate((read_ns[:1], read_ns[:-1]))
            before_ns[starts] = since
            part = {
                "before": before,
                "before_ns": before_ns,
                "offset": offset,
                "reader": reader,
                "generation": generation,
                "read_ns": read_ns,
            }
            self._skips.append({name: column[bad] for name, column in part.items()})

    def _out_of_order(self, before: Ints, offset: Ints) -> Bools:
        """Which of k reads do not rise, or skip a log record; offsets and answer have shape (k,)."""
        return (offset <= before) | (self._log.rank(offset) > self._log.rank(before + 1))
