"""A tailing reader: sees every partition from its beginning, as a consumer of the running cluster would.

It is assigned, in no group, and reads uncommitted. Its *generation* rises whenever it is put to a place:
at the start, when the log it was reading has been truncated, and when it is replaced because it stands
still while the high watermark is ahead.
"""

import time
from collections.abc import Callable, Sequence
from threading import Event

import numpy as np
import pyarrow as pa
from confluent_kafka import OFFSET_BEGINNING, Message
from confluent_kafka import TopicPartition as Position

from checkers.history.rows import TopicPartition
from checkers.history.tables import NONE
from workloads.clients.consumer import MOVED, Client, MakeClient
from workloads.plan import reader_config
from workloads.record.decode import arrivals
from workloads.record.journal import Journal

BATCH = 1000
WAIT_S = 0.1
STALL_NS = 5_000_000_000
REWIND = 10_000
"""After a truncation, how far below the end to read again: what replaced the lost records is evidence."""


class Reading:
    """What one reader thread does."""

    def __init__(
        self,
        number: int,
        partitions: Sequence[TopicPartition],
        bootstrap: str,
        journal: Journal,
        high_watermark: Callable[[TopicPartition], int],
        make: MakeClient,
    ) -> None:
        self.number, self.generation, self.delivered, self.replaced = number, 0, 0, 0
        self._partitions, self._bootstrap, self._journal = partitions, bootstrap, journal
        self._high_watermark, self._make = high_watermark, make
        self._lane_of = {tuple(tp): lane for lane, tp in enumerate(partitions)}
        self._next = np.full(len(partitions), NONE, np.int64)
        self._moved_ns = np.zeros(len(partitions), np.int64)

    def __call__(self, stop: Event) -> None:
        """Read until `stop` is set, with one client after another."""
        while not stop.is_set():
            client = self._make(reader_config(self._bootstrap))
            try:
                self._place(client)
                while not stop.is_set() and not self._stalled():
                    self._take(client, client.consume(BATCH, WAIT_S))
            finally:
                client.close()
            self.replaced += not stop.is_set()

    def _place(self, client: Client) -> None:
        """Put the client to where the reader stands; a new generation."""
        self.generation += 1
        self._moved_ns[:] = time.monotonic_ns()
        offsets = np.where(self._next == NONE, OFFSET_BEGINNING, self._next).tolist()
        client.assign([Position(*tp, offset) for tp, offset in zip(self._partitions, offsets, strict=True)])

    def _take(self, client: Client, messages: Sequence[Message]) -> None:
        records = [message for message in messages if message.error() is None]
        if records:
            self._record(records)
        if len(records) < len(messages):
            self._consider(client, [message for message in messages if message.error() is not None])

    def _record(self, records: Sequence[Message]) -> None:
        got = arrivals(records)
        now_ns = time.monotonic_ns()
        lanes = np.array([self._lane_of[m.topic(), m.partition()] for m in records], np.int16)
        self._next[lanes] = got.offset + 1  # of several records of one lane the last one counts
        self._moved_ns[lanes] = now_ns
        count = len(records)
        columns = [
            lanes,
            np.full(count, self.number, np.int32),
            np.full(count, self.generation, np.int32),
            got.offset,
            got.leader_epoch,
            got.producer,
            got.sequence,
            got.checksum,
            np.full(count, now_ns),
        ]
        self._journal.write([pa.array(column) for column in columns])
        self.delivered += count

    def _consider(self, client: Client, errors: Sequence[Message]) -> None:
        """Go back where a log was truncated; any other error passes, or ends as a stall."""
        moved = {
            self._lane_of[message.topic(), message.partition()]
            for message in errors
            if (error := message.error()) is not None and error.code() in MOVED
        }
        for lane in moved:
            end = self._high_watermark(self._partitions[lane])
            known = [offset for offset in (end, int(self._next[lane])) if offset != NONE]
            place = min(known, default=0) - REWIND
            self._next[lane] = place if place > 0 else NONE
        if moved:
            self._place(client)

    def _stalled(self) -> bool:
        """Whether a partition has stood still for STALL_NS although its high watermark is ahead."""
        now_ns = time.monotonic_ns()
        for lane in np.flatnonzero(now_ns - self._moved_ns > STALL_NS).tolist():
            if self._high_watermark(self._partitions[lane]) > max(0, int(self._next[lane])):
                return True
            self._moved_ns[lane] = now_ns
        return False
