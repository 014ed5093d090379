"""Writes down what the clients did, as they do it: journals under `<run>/journal/`, sealed later.

    sends-<producer>.invoked.arrow   row i is the send with sequence i of that producer instance
    sends-<producer>.done.arrow      one row for each completed send, in order of completion
    reads-<reader>.arrow             one row for each record delivered
    watermarks.arrow                 one row for each sample

An invocation is written *before* the client gets the record, so no record can be in Kafka that the journal
does not know, whenever the harness is killed. A completion is written at most FLUSH_NS later; if it is lost
with the process, the send is unknown (info), which is all that is known of it.
"""

import json
import threading
import time
from collections.abc import Sequence
from itertools import count
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from checkers.contract.settings import Acks
from checkers.history.rows import TopicPartition
from checkers.history.tables import TABLES, Outcome
from workloads.record.journal import Journal

FLUSH_NS = 250_000_000
INVOKED = pa.schema([("lane", pa.int16()), ("invoked_ns", pa.int64()), ("checksum", pa.int64())])
DONE = pa.schema(
    [
        ("sequence", pa.int64()),
        ("completed_ns", pa.int64()),
        ("outcome", pa.int8()),
        ("offset", pa.int64()),
        ("error", pa.int16()),
    ]
)
READ = pa.schema(
    [("lane", pa.int16()), *(f for f in TABLES["reads"] if f.name not in ("topic", "partition"))]
)
_DONE_TYPES = (np.int64, np.int64, np.int8, np.int64, np.int16)


class Recorder:
    """All journals of one run; leaving it closes them."""

    def __init__(self, run_dir: Path, partitions: Sequence[TopicPartition]) -> None:
        """Nothing is written before the first send, read or sample."""
        self.directory = run_dir / "journal"
        self._facts = {"partitions": json.dumps(partitions)}
        self._open: list[Journal] = []
        self._numbers = count(1)
        self._lock = threading.Lock()

    def sends(self, *, acks: Acks, idempotent: bool) -> "SendRecorder":
        """Journals for a new producer instance, which gets the next number."""
        with self._lock:
            number = next(self._numbers)
            told = {"producer": str(number), "acks": acks, "idempotence": json.dumps(idempotent)}
            invoked = self._journal(f"sends-{number}.invoked", INVOKED, told)
            done = self._journal(f"sends-{number}.done", DONE, told)
        return SendRecorder(number, invoked, done)

    def reads(self, reader: int) -> Journal:
        """The journal of one reader."""
        with self._lock:
            return self._journal(f"reads-{reader}", READ, {"reader": str(reader)})

    def watermarks(self) -> Journal:
        """The journal of the samples."""
        with self._lock:
            return self._journal("watermarks", TABLES["watermarks"], {})

    def _journal(self, name: str, schema: pa.Schema, facts: dict[str, str]) -> Journal:
        self._open.append(Journal(self.directory / f"{name}.arrow", schema, self._facts | facts))
        return self._open[-1]

    def __enter__(self) -> "Recorder":
        """Nothing to do yet."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close every journal."""
        for journal in self._open:
            journal.close()


class SendRecorder:
    """The sends of one producer instance; used by one thread."""

    def __init__(self, producer: int, invoked: Journal, done: Journal) -> None:
        self.producer = producer
        self._invoked, self._done = invoked, done
        self._pending: list[tuple[NDArray[Any], ...]] = []
        self._flushed_ns = time.monotonic_ns()

    def invoke(self, lanes: NDArray[np.int16], invoked_ns: int, checksums: NDArray[np.int64]) -> None:
        """Write down the next sends, before they are made; sequences go on where the last call ended."""
        when = np.full(len(lanes), invoked_ns, np.int64)
        self._invoked.write([pa.array(lanes), pa.array(when), pa.array(checksums)])

    def complete(
        self,
        sequences: NDArray[np.int64],
        completed_ns: int,
        outcomes: Outcome | NDArray[np.int8],
        offsets: NDArray[np.int64],
        errors: int | NDArray[np.int16] = 0,
    ) -> None:
        """Note how sends ended; outcomes and errors may be one for all."""
        columns = (sequences, completed_ns, outcomes, offsets, errors)
        shape = len(sequences)
        typed = zip(columns, _DONE_TYPES, strict=True)
        self._pending.append(tuple(np.broadcast_to(np.asarray(c, t), shape) for c, t in typed))

    def flush_if_due(self, now_ns: int) -> None:
        """Write what is pending if the last flush is FLUSH_NS ago."""
        if now_ns - self._flushed_ns >= FLUSH_NS:
            self.flush(now_ns)

    def flush(self, now_ns: int) -> None:
        """Write what is pending."""
        self._flushed_ns = now_ns
        if self._pending:
            chunks, self._pending = self._pending, []
            self._done.write([pa.array(np.concatenate(column)) for column in zip(*chunks, strict=True)])

    def close(self) -> None:
        """Write what is pending and close the journals."""
        self.flush(time.monotonic_ns())
        self._invoked.close()
        self._done.close()
