"""What is committed is read to the proven end of each partition, or as far as it can be, and that is said."""

import time
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from confluent_kafka import KafkaError, Message
from confluent_kafka import TopicPartition as Position

from checkers.history.records.transactions import FINAL_READER
from checkers.history.rows import Proof, TopicPartition
from checkers.history.tables import NONE
from workloads.clients.consumer import exact_reader
from workloads.observe import committed_read as module
from workloads.observe.committed_read import committed_read
from workloads.payload import Encoder
from workloads.record.recorder import table_journal
from workloads.record.seal import seal_observed
from workloads.record.transactions import CommittedReadRecorder

PARTITIONS = (TopicPartition("t", 0), TopicPartition("t", 1), TopicPartition("t", 2))
TIME_MS = 1_795_261_297_448


class Scripted:
    """Clients that deliver what the test wants, one script each, and remember where they were placed."""

    def __init__(self, *scripts: list[Message]) -> None:
        self._scripts = list(scripts)
        self.placed: list[list[tuple[int, int]]] = []
        self.settings: list[dict[str, Any]] = []
        self._left: list[Message] = []

    def make(self, config: dict[str, Any]) -> "Scripted":
        self.settings.append(config)
        self._left = self._scripts.pop(0) if self._scripts else []
        return self

    def assign(self, positions: list[Position], /) -> None:
        self.placed.append([(each.partition, each.offset) for each in positions])

    def consume(self, num_messages: int = 1, timeout: float = -1) -> list[Message]:
        if not self._left:
            time.sleep(0.005)
            return []
        return [self._left.pop(0)]

    def close(self) -> None:
        self._left = []


def record(partition: int, offset: int) -> Message:
    value = Encoder(1, 40, keyed=False).block(offset, 1, TIME_MS).values[0]
    where: Any = {"topic": "t", "partition": partition, "offset": offset}
    return Message(value=value, timestamp=(1, TIME_MS), leader_epoch=4, **where)


def end(partition: int, offset: int) -> Message:
    """The broker says that a partition ends there, as far as it is committed."""
    error = KafkaError(KafkaError._PARTITION_EOF)
    return Message(topic="t", partition=partition, offset=offset, error=error)


def proof(partition: int, high_watermark: int, *, complete: bool = True) -> Proof:
    return Proof(
        topic="t",
        partition=partition,
        log_start=0,
        high_watermark=high_watermark,
        log_end=high_watermark,
        complete=complete,
    )


def read(
    run: Path, clients: Scripted, *proofs: Proof, within_s: float = 3.0
) -> tuple[list[int], list[tuple[int, int, int, int]]]:
    """How far each partition was read, and what was written down of each record."""
    with table_journal(run, PARTITIONS, "transaction_reads", of="final") as journal:
        reports = CommittedReadRecorder(FINAL_READER, [each.tp for each in proofs], journal)
        opened = exact_reader("x:1", clients.make, committed=True)
        done = committed_read("x:1", proofs, reports, within_s=within_s, open_reader=opened)
    seal_observed(run)
    rows = pq.read_table(run / "history/transaction_reads.parquet").to_pylist()
    names = ("reader", "partition", "offset", "sequence")
    return [each.committed_to for each in done], [tuple(row[name] for name in names) for row in rows]


def test_every_proven_partition_is_read_to_its_end(tmp_path: Path) -> None:
    """Where the last offsets have no record, the broker says that the end is there."""
    clients = Scripted([record(0, 0), record(2, 0), record(0, 1), end(2, 4)])
    reached, rows = read(tmp_path, clients, proof(0, 2), proof(1, 9, complete=False), proof(2, 4))
    assert reached == [2, NONE, 4]
    assert rows == [(0, 0, 0, 0), (0, 2, 0, 0), (0, 0, 1, 1)]
    assert clients.placed == [[(0, 0), (2, 0)]]
    assert clients.settings[0]["isolation.level"] == "read_committed"
    assert clients.settings[0]["enable.partition.eof"] is True


def test_an_end_that_is_not_reached_is_said(tmp_path: Path) -> None:
    clients = Scripted([record(0, 0), end(0, 1)])
    reached, rows = read(tmp_path, clients, proof(0, 3), within_s=0.2)
    assert (reached, len(rows)) == ([1], 1)


def test_a_client_that_stands_still_is_replaced_where_it_stands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "STALL_S", 0.05)
    clients = Scripted([record(0, 0)], [record(0, 1)])
    reached, rows = read(tmp_path, clients, proof(0, 2))
    assert (reached, clients.placed) == ([2], [[(0, 0)], [(0, 1)]])
    assert [offset for _, _, offset, _ in rows] == [0, 1]


def test_without_a_proof_or_a_record_nothing_is_read(tmp_path: Path) -> None:
    clients = Scripted()
    reached, rows = read(tmp_path, clients, proof(0, 5, complete=False), proof(1, 0))
    assert (reached, rows) == ([NONE, 0], [])
