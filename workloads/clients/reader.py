"""A tailing reader: reads every partition from its beginning, as a consumer of the running cluster would.

It is in no group and reads uncommitted. A new *generation* begins whenever it is placed: at the start, when
the log it was reading has been truncated, and when it is replaced because it stands still while the high
watermark is ahead.
"""

import time
from collections.abc import Callable, Iterable, Sequence
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
        high_watermark: Callable[[TopicPartition], int],
    ) -> None:
        self.generation, self.delivered, self.replaced = 0, 0, 0
        self._partitions, self._open_reader, self._reports = partitions, open_reader, reports
        self._high_watermark = high_watermark
        self._next = np.full(len(partitions), NONE, np.int64)
        self._moved_ns = np.zeros(len(partitions), np.int64)

    @property
    def is_behind(self) -> bool:
        """Whether the high watermark of a partition is ahead of it; from any thread."""
        places = zip(self._partitions, self._next.tolist(), strict=True)
        return any(self._high_watermark(tp) > max(0, place) for tp, place in places)

    def __call__(self, stop: Event) -> None:
        """Read until `stop` is set, with one client after another."""
        while not stop.is_set():
            reader = self._open_reader(self._partitions)
            try:
                self._place(reader)
                while not stop.is_set() and not self._stalled():
                    fetched = reader.fetch(BATCH, WAIT_S)
                    self._take(fetched.records)
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

    def _go_back(self, truncated: Iterable[int]) -> None:
        """Stand REWIND records below the new end of these lanes."""
        for lane in truncated:
            end = self._high_watermark(self._partitions[lane])
            known = [offset for offset in (end, int(self._next[lane])) if offset != NONE]
            place = min(known, default=0) - REWIND
            self._next[lane] = place if place > 0 else NONE

    def _stalled(self) -> bool:
        """Whether a partition has stood still for STALL_NS although its high watermark is ahead."""
        now_ns = time.monotonic_ns()
        for lane in np.flatnonzero(now_ns - self._moved_ns > STALL_NS).tolist():
            if self._high_watermark(self._partitions[lane]) > max(0, int(self._next[lane])):
                return True
            self._moved_ns[lane] = now_ns
        return False
