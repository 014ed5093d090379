"""Reads one partition from its log start to a given end, and writes it down as one file of the final log.

The end counts as reached only if the record before it was delivered, or the broker reported the end of the
partition there (where the last offsets hold no record: control batches, compaction).
"""

import time
from dataclasses import fields
from pathlib import Path
from threading import Event
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from checkers.history.rows import TopicPartition
from checkers.history.tables import NONE, file_schema, open_writer, unit_path
from workloads.clients.protocol import LogReader, OpenLogReader
from workloads.observe.leaders import LeaderState
from workloads.record.decode import Arrivals, arrivals

BATCH = 5000
WAIT_S = 0.05
STALL_S = 5.0
GROUP_ROWS = 200_000


class PartitionLog:
    """The growing file of one partition's final log; used by one thread at a time."""

    def __init__(self, tp: TopicPartition, history: Path, open_reader: OpenLogReader, run: str = "") -> None:
        """`run` is the run's id, which the file carries."""
        self._tp, self._open_reader, self._run = tp, open_reader, run
        self._path = unit_path(history, "final_log", *tp)
        self._writer: pq.ParquetWriter | None = None
        self._state: LeaderState | None = None
        self.read_to = NONE
        """The next offset after what was read; -1 before anything was."""

    def read(self, state: LeaderState, deadline: float, stop: Event) -> str:
        """Go on to `state.high_watermark`; why it was not reached by `deadline` (time.monotonic()), or before
        `stop` was set, or "".

        Under another leader, epoch or log start than before, everything is read anew.
        """
        if self._state is None or not _same_log(self._state, state):
            self._begin(state)
        self._state = state
        while self.read_to < state.high_watermark and time.monotonic() < deadline and not stop.is_set():
            reader = self._open_reader([self._tp])
            try:
                reader.place([self.read_to])
                if not self._drain(reader, state.high_watermark, deadline, stop):
                    self._begin(state)
            finally:
                reader.close()
        if self.read_to < state.high_watermark:
            return f"read up to {self.read_to} of {state.high_watermark} when the time was up"
        return ""

    def _begin(self, state: LeaderState) -> None:
        self._close()
        self._writer = self._open()
        self._held: list[Arrivals] = []
        self._rows = 0
        self.read_to = state.log_start

    def _open(self) -> pq.ParquetWriter:
        growing = self._path.with_suffix(".growing")
        return open_writer(growing, "final_log", *self._tp, run=self._run)

    def _drain(self, reader: LogReader, end: int, deadline: float, stop: Event) -> bool:
        """Read until `end`, a stall, the deadline or `stop`; False if the log was truncated below what was
        read."""
        moved = time.monotonic()
        while self.read_to < end and time.monotonic() < min(deadline, moved + STALL_S) and not stop.is_set():
            fetched, before = reader.fetch(BATCH, WAIT_S), self.read_to
            if len(fetched.records):
                self._keep(arrivals(fetched.records), end)
            for reported_end in fetched.ends.values():
                self.read_to = max(self.read_to, min(end, reported_end))
            if fetched.truncated:
                return False
            moved = time.monotonic() if self.read_to > before else moved
        return True

    def _keep(self, got: Arrivals, end: int) -> None:
        """Keep what is new and below `end`; a client may deliver a few records before where it was placed."""
        new = (got.offset >= self.read_to) & (got.offset < end)
        if new.any():
            self._held.append(got if new.all() else got.where(new))
            self._rows += int(np.count_nonzero(new))
            self.read_to = int(got.offset[new][-1]) + 1
        if self._rows >= GROUP_ROWS:
            self._flush()

    def _flush(self) -> None:
        assert self._writer is not None
        if not self._held:
            return
        schema = file_schema("final_log", *self._tp, run=self._run)
        topics = pa.DictionaryArray.from_arrays(np.zeros(self._rows, np.int32), [self._tp.topic])
        columns: dict[str, Any] = {
            field.name: np.concatenate([getattr(got, field.name) for got in self._held])
            for field in fields(Arrivals)
        }
        columns["topic"] = topics.cast(pa.string())
        columns["partition"] = np.full(self._rows, self._tp.partition, np.int32)
        self._writer.write_table(pa.table([columns[name] for name in schema.names], schema=schema))
        self._held, self._rows = [], 0

    def finish(self) -> None:
        """Write the rest and give the file its name; an empty file if nothing was ever read."""
        if self._writer is None:
            self._writer = self._open()
        else:
            self._flush()
        self._close()
        self._path.with_suffix(".growing").rename(self._path)

    def _close(self) -> None:
        if self._writer is not None:
            self._writer.close()
            self._writer = None


def _same_log(before: LeaderState, now: LeaderState) -> bool:
    places = [(state.leader, state.leader_epoch, state.log_start) for state in (before, now)]
    return places[0] == places[1]
