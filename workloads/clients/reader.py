"""A tailing reader: reads every partition from its beginning, as a consumer of the running cluster would.

It is in no group. A new *generation* begins whenever it is placed: at the start, when
the log it was reading has been truncated, and when it is replaced because it stands still while the end of
what it may read is ahead: the high watermark, or the last stable offset.

Where the last offsets hold no record, as the markers of transactions do not, its client has to report the
ends.
"""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from threading import Event

import numpy as np

from checkers.history.rows import TopicPartition
from checkers.history.tables import NONE
from workloads.clients.protocol import Delivered, LogReader, OpenLogReader, ReadReports

BATCH = 1000
WAIT_S = 0.1
STALL_NS = 5_000_000_000
REWIND = 10_000
"""After a truncation, how far below the end to read again: what replaced the lost records is evidence."""


class ReaderLoop:
    """What one reader thread does."""

    def __init__(
        self,
        partitions: Sequence[TopicPartition],
        open_reader: OpenLogReader,
        reports: ReadReports,
        end_of: Callable[[TopicPartition], int],
    ) -> None:
        """`end_of` is the newest that is known of where its reading ends; -1: nothing."""
        self.generation, self.delivered, self.replaced = 0, 0, 0
        self._partitions, self._open_reader, self._reports = partitions, open_reader, reports
        self._end_of = end_of
        self._next = np.full(len(partitions), NONE, np.int64)
        self._moved_ns = np.zeros(len(partitions), np.int64)

    @property
    def is_behind(self) -> bool:
        """Whether the end of a partition is ahead of it; from any thread."""
        places = zip(self._partitions, self._next.tolist(), strict=True)
        return any(self._end_of(tp) > max(0, place) for tp, place in places)

    def __call__(self, stop: Event) -> None:
        """Read until `stop` is set, with one client after another."""
        while not stop.is_set():
            reader = self._open_reader(self._partitions)
            try:
                self._place(reader)
                while not stop.is_set() and not self._stalled():
                    fetched = reader.fetch(BATCH, WAIT_S)
                    self._take(fetched.records)
                    self._note_ends(fetched.ends)
                    if fetched.truncated:
                        self._go_back(fetched.truncated)
                        self._place(reader)
            finally:
                reader.close()
            self.replaced += not stop.is_set()

    def _place(self, reader: LogReader) -> None:
        """Place the client where this reader stands; a new generation."""
        self.generation += 1
        self._moved_ns[:] = time.monotonic_ns()
        reader.place(self._next.tolist())

    def _take(self, records: Delivered) -> None:
        if not len(records):
            return
        now_ns = time.monotonic_ns()
        self._next[records.lanes] = records.offsets + 1  # of several records of one lane the last one counts
        self._moved_ns[records.lanes] = now_ns
        self._reports.delivered(self.generation, records, now_ns)
        self.delivered += len(records)

    def _note_ends(self, ends: Mapping[int, int]) -> None:
        """It has come to these offsets, though not by a record."""
        for lane, end in ends.items():
            if end > self._next[lane]:
                self._next[lane] = end
                self._moved_ns[lane] = time.monotonic_ns()

    def _go_back(self, truncated: Iterable[int]) -> None:
        """Stand REWIND records below the new end of these lanes."""
        for lane in truncated:
            end = self._end_of(self._partitions[lane])
            known = [offset for offset in (end, int(self._next[lane])) if offset != NONE]
            place = min(known, default=0) - REWIND
            self._next[lane] = place if place > 0 else NONE

    def _stalled(self) -> bool:
        """Whether a partition has stood still for STALL_NS although its end is ahead."""
        now_ns = time.monotonic_ns()
        for lane in np.flatnonzero(now_ns - self._moved_ns > STALL_NS).tolist():
            if self._end_of(self._partitions[lane]) > max(0, int(self._next[lane])):
                return True
            self._moved_ns[lane] = now_ns
        return False
