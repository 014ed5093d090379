"""Writes down what the clients did, as they do it: journals under `<run>/journal/`, sealed later.

    sends-<producer>.invoked.arrow   row i is the send with sequence i of that producer instance
    sends-<producer>.done.arrow      one row for each completed send, in order of completion
    errors.arrow                     row i is the name of the error that the .done journals number i + 1
    reads-<reader>.arrow             one row for each record delivered
    watermarks.arrow                 one row for each sample
    replica_offsets-<of>.arrow       one row for each sample of a replica's log, of one who takes them
    client_events.arrow              one row for each time that a producer's connections had trouble, or none
    faults-schedule.arrow            a fault's row, again at each of its stages
    transactions, fencings, …        of a load that has transactions; see `transactions`
    node_events, clocks, pressure    one row for each row of the table of that name

Of clients it knows `clients.protocol` only. An invocation is written *before* the client gets the record, so
no record can be in Kafka that the journal does not know, whenever the harness is killed. A completion is
written at most FLUSH_NS later; if it is lost with the process, the send is indeterminate (info).

Each journal carries the run's id and its partitions. What each producer instance has sent is counted in
memory too (`recorded`), so that rows which are lost from a journal are missed.
"""

import json
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from checkers.contract.realised.settings import Acks
from checkers.history.rows import TopicPartition
from checkers.history.tables import NONE, TABLES, Outcome
from workloads.clients.protocol import Delivered, Trouble
from workloads.record.client_events import ClientEvents
from workloads.record.decode import arrivals
from workloads.record.journal import Journal
from workloads.record.transactions import CommittedReadRecorder, TransactionRecorder

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
ERRORS = pa.schema([("name", pa.string())])
READ = pa.schema(
    [("lane", pa.int16()), *(f for f in TABLES["reads"] if f.name not in ("topic", "partition"))]
)
_DONE_TYPES = (np.int64, np.int64, np.int8, np.int64, np.int16)


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedSends:
    """The sends of one producer instance as counted when they were reported."""

    attempts: int
    ok: int
    fail: int

    @property
    def info(self) -> int:
        """Those of which nobody knows whether they were written, also because they never ended."""
        return self.attempts - self.ok - self.fail


class Recorder:
    """All journals of one run; leaving it closes them. Implements `clients.protocol.ClientReports`."""

    def __init__(self, run_dir: Path, partitions: Sequence[TopicPartition], run: str = "") -> None:
        """`run` is the run's id. Nothing is written before the first send, read or sample."""
        self.directory = run_dir / "journal"
        self._partitions = tuple(partitions)
        self._facts = _run_facts(partitions, run)
        self._open: list[Journal] = []
        self._sends: list[SendRecorder] = []
        self._numbers = count(1)
        self._lock = threading.Lock()
        self._names = ErrorNames(lambda: self._journal("errors", ERRORS, {}))
        self._events = ClientEvents(lambda: self._journal("client_events", TABLES["client_events"], {}))

    def sends(self, *, acks: Acks, idempotent: bool) -> "SendRecorder":
        """Journals for a new producer instance, which gets the next number."""
        with self._lock:
            number = next(self._numbers)
        facts = {"producer": str(number), "acks": acks, "idempotence": json.dumps(idempotent)}
        invoked = self._journal(f"sends-{number}.invoked", INVOKED, facts)
        done = self._journal(f"sends-{number}.done", DONE, facts)
        recorder = SendRecorder(number, invoked, done, self._names, self._events)
        with self._lock:
            self._sends.append(recorder)
        return recorder

    def recorded(self) -> Mapping[int, RecordedSends]:
        """What each producer instance has sent so far, by its number; no journal is read for it."""
        with self._lock:
            return {sends.producer: sends.recorded for sends in self._sends}

    def reads(self, reader: int) -> "ReadRecorder":
        """The journal of one reader."""
        return ReadRecorder(reader, self._journal(f"reads-{reader}", READ, {"reader": str(reader)}))

    def transactions(self) -> TransactionRecorder:
        """The journals of the transactions of all producers; to be called once, for a load that has them."""
        return TransactionRecorder(self.table("transactions"), self.table("fencings"))

    def committed_reads(self, reader: int) -> CommittedReadRecorder:
        """The journal of one reader of committed records."""
        journal = self._journal(f"transaction_reads-{reader}", TABLES["transaction_reads"], {})
        return CommittedReadRecorder(reader, self._partitions, journal)

    def watermarks(self) -> Journal:
        """The journal of the samples."""
        return self._journal("watermarks", TABLES["watermarks"], {})

    def replica_offsets(self) -> Journal:
        """The journal of the live samples of replicas."""
        return self._journal("replica_offsets-live", TABLES["replica_offsets"], {})

    def table(self, name: str) -> Journal:
        """The journal of a table of the history that is one file, with the columns of that table."""
        return self._journal(name, TABLES[name], {})

    def _journal(self, name: str, schema: pa.Schema, facts: dict[str, str]) -> Journal:
        journal = Journal(self.directory / f"{name}.arrow", schema, self._facts | facts)
        with self._lock:
            self._open.append(journal)
        return journal

    def close(self) -> None:
        """Close every journal; a second call does nothing."""
        for journal in self._open:
            journal.close()

    def __enter__(self) -> "Recorder":
        """Nothing to do yet."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close every journal."""
        self.close()


def table_journal(
    run_dir: Path, partitions: Sequence[TopicPartition], table: str, *, of: str, run: str = ""
) -> Journal:
    """A journal of a table beside the recorder's own; `of`, who writes it, is part of its file's name.

    The history has the rows of all journals of `replica_offsets`; of `faults` see `seal`.
    """
    return Journal(run_dir / "journal" / f"{table}-{of}.arrow", TABLES[table], _run_facts(partitions, run))


def _run_facts(partitions: Sequence[TopicPartition], run: str) -> dict[str, str]:
    """What every journal of one run carries."""
    return {"run": run, "partitions": json.dumps(partitions)}


class ErrorNames:
    """Numbers the names of errors from 1, and writes each name down before its number is used."""

    def __init__(self, open_journal: Callable[[], Journal]) -> None:
        self._open_journal = open_journal
        self._journal: Journal | None = None
        self._numbers: dict[str, int] = {}
        self._lock = threading.Lock()

    def numbers(self, names: Sequence[str]) -> NDArray[np.int16]:
        """The number of each of `names`."""
        with self._lock:
            if new := [name for name in dict.fromkeys(names) if name not in self._numbers]:
                self._add(new)
            return np.fromiter(map(self._numbers.__getitem__, names), np.int16, len(names))

    def _add(self, names: list[str]) -> None:
        if self._journal is None:
            self._journal = self._open_journal()
        self._journal.write([pa.array(names, pa.string())])
        for name in names:
            self._numbers[name] = len(self._numbers) + 1


class SendRecorder:
    """The sends of one producer instance; implements `clients.protocol.SendReports`."""

    def __init__(
        self, producer: int, invoked: Journal, done: Journal, names: ErrorNames, events: ClientEvents
    ) -> None:
        self._producer = producer
        self._invoked, self._done, self._names, self._events = invoked, done, names, events
        self._pending: list[tuple[NDArray[Any], ...]] = []
        self._flushed_ns = time.monotonic_ns()
        self._attempts = self._ok = self._fail = 0

    @property
    def producer(self) -> int:
        """The number of this instance in the run."""
        return self._producer

    @property
    def recorded(self) -> RecordedSends:
        """What was reported so far."""
        return RecordedSends(attempts=self._attempts, ok=self._ok, fail=self._fail)

    def sent(self, lanes: NDArray[np.int16], at_ns: int, checksums: NDArray[np.int64]) -> None:
        """Write down the next sends, before they are made; sequences go on where the last call ended."""
        when = np.full(len(lanes), at_ns, np.int64)
        self._invoked.write([pa.array(lanes), pa.array(when), pa.array(checksums)])
        self._attempts += len(lanes)

    def acknowledged(self, sequences: NDArray[np.int64], offsets: NDArray[np.int64], at_ns: int) -> None:
        """Note acknowledged sends."""
        self._end(sequences, at_ns, Outcome.OK, offsets, 0)
        self._ok += len(sequences)

    def failed(self, sequences: NDArray[np.int64], errors: Sequence[str], at_ns: int) -> None:
        """Note sends that were certainly not written."""
        self._end(sequences, at_ns, Outcome.FAIL, NONE, self._names.numbers(errors))
        self._fail += len(sequences)

    def indeterminate(self, sequences: NDArray[np.int64], errors: Sequence[str], at_ns: int) -> None:
        """Note sends that may have been written."""
        self._end(sequences, at_ns, Outcome.INFO, NONE, self._names.numbers(errors))

    def _end(
        self,
        sequences: NDArray[np.int64],
        completed_ns: int,
        outcome: Outcome,
        offsets: NDArray[np.int64] | int,
        errors: NDArray[np.int16] | int,
    ) -> None:
        columns = (sequences, completed_ns, outcome, offsets, errors)
        shape = len(sequences)
        typed = zip(columns, _DONE_TYPES, strict=True)
        self._pending.append(tuple(np.broadcast_to(np.asarray(c, t), shape) for c, t in typed))

    def connected(self, since_ns: int, at_ns: int, trouble: Sequence[Trouble]) -> None:
        """Note what became of the connections."""
        self._events.connected(self._producer, since_ns, at_ns, trouble)

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
        """Write what is pending, and end the journals with what was counted."""
        self.flush(time.monotonic_ns())
        self._events.ended(self._producer)
        self._invoked.close()
        self._done.close({"ok": self._ok, "fail": self._fail})


class ReadRecorder:
    """The deliveries of one reader; implements `clients.protocol.ReadReports`."""

    def __init__(self, reader: int, journal: Journal) -> None:
        self._reader, self._journal = reader, journal

    def delivered(self, generation: int, records: Delivered, at_ns: int) -> None:
        """Write down delivered records, with their ids and checksums as they arrived."""
        count, rows = len(records), arrivals(records)
        columns = [
            records.lanes,
            np.full(count, self._reader, np.int32),
            np.full(count, generation, np.int32),
            rows.offset,
            rows.leader_epoch,
            rows.producer,
            rows.sequence,
            rows.checksum,
            np.full(count, at_ns),
        ]
        self._journal.write([pa.array(column) for column in columns])
