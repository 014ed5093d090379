"""What is committed in the end: a fresh read_committed reader reads every proven partition once more.

It follows the final read, under the same conditions: all is healed, nobody writes, and the last stable offset
is the high watermark. So it can come to the high watermark, and what it is not given on the way is not
committed. How far it came goes into the proof; short of the high watermark, nothing is decided of the
transactions of that partition.
"""

import time
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from checkers.history.rows import Proof, TopicPartition
from workloads.clients.consumer import exact_reader
from workloads.clients.protocol import Fetched, LogReader, OpenLogReader, ReadReports
from workloads.observe.final_read import LEAST_READ_PER_S
from workloads.observe.partition_log import BATCH, STALL_S, WAIT_S


def committed_read(
    bootstrap: str,
    proofs: Sequence[Proof],
    reports: ReadReports,
    *,
    within_s: float,
    open_reader: OpenLogReader | None = None,
) -> tuple[Proof, ...]:
    """The proofs with `committed_to`, in their order; what is delivered goes to `reports`.

    A lane of `reports` is an index into `proofs`. It may take `within_s` seconds, and as long as reading the
    records that there are takes a slow machine. `open_reader` None: librdkafka's.
    """
    wanted = [lane for lane, proof in enumerate(proofs) if proof.complete]
    if not wanted:
        return tuple(proofs)
    takes_s = sum(proofs[lane].high_watermark - proofs[lane].log_start for lane in wanted) / LEAST_READ_PER_S
    reading = _CommittedRead(proofs, wanted, reports)
    opened = open_reader or exact_reader(bootstrap, committed=True)
    reading.until(opened, time.monotonic() + within_s + takes_s)
    return tuple(
        replace(proof, committed_to=reading.reached[lane]) if lane in reading.reached else proof
        for lane, proof in enumerate(proofs)
    )


class _CommittedRead:
    """How far each partition was read."""

    def __init__(self, proofs: Sequence[Proof], wanted: Sequence[int], reports: ReadReports) -> None:
        self._lanes, self._reports = wanted, reports
        self._partitions = [TopicPartition(proofs[lane].topic, proofs[lane].partition) for lane in wanted]
        self._ends = [proofs[lane].high_watermark for lane in wanted]
        self._next = [proofs[lane].log_start for lane in wanted]
        self._generation = 0

    @property
    def reached(self) -> dict[int, int]:
        """The next offset after what was read, by the lane of the reports."""
        return dict(zip(self._lanes, self._next, strict=True))

    @property
    def _is_done(self) -> bool:
        return all(at >= end for at, end in zip(self._next, self._ends, strict=True))

    def until(self, open_reader: OpenLogReader, deadline: float) -> None:
        """Read to the ends with one client after another, or until `deadline` (time.monotonic())."""
        while not self._is_done and time.monotonic() < deadline:
            self._generation += 1
            reader = open_reader(self._partitions)
            try:
                reader.place(self._next)
                self._drain(reader, deadline)
            finally:
                reader.close()

    def _drain(self, reader: LogReader, deadline: float) -> None:
        """Read until the ends, a stall or the deadline."""
        moved = time.monotonic()
        while not self._is_done and time.monotonic() < min(deadline, moved + STALL_S):
            before = sum(self._next)
            self._take(reader.fetch(BATCH, WAIT_S))
            moved = time.monotonic() if sum(self._next) > before else moved

    def _take(self, fetched: Fetched) -> None:
        records = fetched.records
        if len(records):
            lanes = np.array(self._lanes, np.int16)[records.lanes]
            self._reports.delivered(self._generation, replace(records, lanes=lanes), time.monotonic_ns())
            for lane in np.unique(records.lanes).tolist():
                last = int(records.offsets[records.lanes == lane].max())
                self._next[lane] = max(self._next[lane], last + 1)
        for lane, end in fetched.ends.items():
            self._next[lane] = max(self._next[lane], end)
