"""A tailing reader records its places, goes back where a log was truncated, and does not stand still."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from confluent_kafka import OFFSET_BEGINNING, KafkaError, Message
from confluent_kafka import TopicPartition as Position

from checkers.history.rows import TopicPartition
from workloads.clients.consumer import ConsumerClient, tailing_reader
from workloads.clients.reader import REWIND, ReaderLoop
from workloads.payload import Encoder
from workloads.record.recorder import Recorder
from workloads.record.seal import seal
from workloads.watched_thread import Worker

PARTITIONS = (TopicPartition("t", 0), TopicPartition("t", 1))
TRUNCATED = KafkaError._AUTO_OFFSET_RESET


class Scripted:
    """Clients that deliver what the test wants, batch by batch, and remember where they were placed."""

    def __init__(self, *scripts: list[list[Message]]) -> None:
        self.scripts = list(scripts)
        self.placed: list[list[int]] = []
        self.closed = 0

    def make(self, config: dict[str, Any]) -> ConsumerClient:
        assert config["auto.offset.reset"] == "error"
        return _One(self, self.scripts.pop(0) if self.scripts else [])


class _One:
    def __init__(self, script: Scripted, batches: list[list[Message]]) -> None:
        self._script, self._batches = script, batches

    def assign(self, positions: list[Position]) -> None:
        self._script.placed.append([position.offset for position in positions])

    def consume(self, num_messages: int = 1, timeout: float = -1) -> list[Message]:
        if self._batches:
            return self._batches.pop(0)
        time.sleep(0.01)
        return []

    def close(self) -> None:
        self._script.closed += 1


def record(partition: int, offset: int, producer: int = 1) -> Message:
    value = Encoder(producer, 40, keyed=False).block(offset, 1, 1_795_261_297_448).values[0]
    where: Any = {"topic": "t", "partition": partition, "offset": offset}
    return Message(value=value, timestamp=(1, 1_795_261_297_448), leader_epoch=4, **where)


def cut(partition: int) -> Message:
    return Message(topic="t", partition=partition, error=KafkaError(TRUNCATED), offset=-1)


def end(partition: int, offset: int) -> Message:
    error = KafkaError(KafkaError._PARTITION_EOF)
    return Message(topic="t", partition=partition, error=error, offset=offset)


def read_until(
    what: Callable[[ReaderLoop], object], clients: Scripted, run: Path, ends: dict[int, int]
) -> tuple[ReaderLoop, list[dict[str, Any]]]:
    """Read until `what` holds; `ends` are the sampled high watermarks by partition."""
    with Recorder(run, PARTITIONS) as recorder:
        reading = ReaderLoop(
            PARTITIONS,
            tailing_reader("x:1", clients.make),
            recorder.reads(7),
            lambda tp: ends.get(tp.partition, -1),
        )
        worker = Worker("reader", reading)
        deadline = time.monotonic() + 5
        while not what(reading) and time.monotonic() < deadline:
            time.sleep(0.005)
        worker.stop()
        worker.join(time.monotonic() + 5)
        worker.check()
    seal(run)
    files = [run / f"history/reads/{tp}.parquet" for tp in PARTITIONS]
    return reading, [row for file in files for row in pq.read_table(file).to_pylist()]


def test_what_is_delivered_is_written_down_with_reader_generation_and_id(tmp_path: Path) -> None:
    clients = Scripted([[record(0, 5), record(1, 9)], [record(0, 6)]])
    _, rows = read_until(lambda r: r.delivered == 3, clients, tmp_path, {})
    assert clients.placed == [[OFFSET_BEGINNING, OFFSET_BEGINNING]]
    read = [(row["partition"], row["offset"], row["producer"], row["sequence"]) for row in rows]
    assert read == [(0, 5, 1, 5), (0, 6, 1, 6), (1, 9, 1, 9)]
    assert {(row["reader"], row["generation"], row["leader_epoch"]) for row in rows} == {(7, 1, 4)}
    assert clients.closed == 1


def test_a_truncated_log_is_read_again_from_below_its_new_end_in_a_new_generation(tmp_path: Path) -> None:
    clients = Scripted([[record(0, 50_000), record(1, 3)], [cut(0)], [record(0, 29_000, producer=2)]])
    _, rows = read_until(lambda r: r.delivered == 3, clients, tmp_path, {0: 30_000})
    assert clients.placed[1:] == [[30_000 - REWIND, 4]]
    assert [(row["generation"], row["producer"]) for row in rows] == [(1, 1), (2, 2), (1, 1)]


def test_an_end_without_a_record_is_reached_when_the_client_reports_it(tmp_path: Path) -> None:
    """Behind the last record are markers of transactions."""
    clients = Scripted([[record(0, 5), end(0, 8)], [record(1, 9)]])
    reading, rows = read_until(lambda r: not r.is_behind, clients, tmp_path, {0: 8, 1: 10})
    assert not reading.is_behind
    assert [(row["partition"], row["offset"]) for row in rows] == [(0, 5), (1, 9)]


def test_a_reader_of_what_is_committed_is_one_that_reports_ends_where_it_is_asked_to() -> None:
    made: list[dict[str, Any]] = []

    def make(config: dict[str, Any]) -> Any:
        made.append(config)

    tailing_reader("x:1", make)(PARTITIONS)
    tailing_reader("x:1", make, committed=True, reports_ends=True)(PARTITIONS)
    levels = [config["isolation.level"] for config in made]
    assert levels == ["read_uncommitted", "read_committed"]
    assert [config.get("enable.partition.eof", False) for config in made] == [False, True]


def test_a_reader_is_behind_while_a_high_watermark_is_ahead_of_it(tmp_path: Path) -> None:
    clients = Scripted([[record(0, 5)], [], [record(1, 9)]])
    ends = {0: 6, 1: 10}
    reading, _ = read_until(lambda r: not r.is_behind, clients, tmp_path, ends)
    assert reading.delivered == 2
    ends[1] = 11
    assert reading.is_behind


def test_a_log_that_became_short_is_read_again_from_its_beginning(tmp_path: Path) -> None:
    clients = Scripted([[record(0, 50)], [cut(0)]])
    read_until(lambda r: r.generation == 2, clients, tmp_path, {0: 20})
    assert clients.placed[1:] == [[OFFSET_BEGINNING, OFFSET_BEGINNING]]


def test_an_error_that_passes_changes_nothing(tmp_path: Path) -> None:
    passing = Message(topic="t", partition=0, error=KafkaError(KafkaError._TRANSPORT))
    clients = Scripted([[record(0, 5), passing], [record(0, 6)]])
    reading, rows = read_until(lambda r: r.delivered == 2, clients, tmp_path, {})
    assert (reading.generation, len(rows)) == (1, 2)


def test_a_reader_that_stands_still_below_the_high_watermark_is_replaced_and_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("workloads.clients.reader.STALL_NS", 50_000_000)
    clients = Scripted([[record(0, 5), record(1, 2)]], [[record(0, 6)]])
    reading, rows = read_until(lambda r: r.delivered == 3, clients, tmp_path, {0: 7, 1: 3})
    assert clients.placed == [[OFFSET_BEGINNING, OFFSET_BEGINNING], [6, 3]]
    assert (reading.replaced, reading.generation, clients.closed) == (1, 2, 2)
    assert [row["generation"] for row in rows] == [1, 2, 1]


def test_a_reader_at_the_high_watermark_is_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """For many times the limit, once it has got there: on a busy machine the first record may take longer."""
    there: list[float] = []

    def waited(reading: ReaderLoop) -> bool:
        if reading.delivered and not there:
            there.append(time.monotonic())
            monkeypatch.setattr("workloads.clients.reader.STALL_NS", 10_000_000)
        return bool(there) and time.monotonic() > there[0] + 0.15

    reading, _ = read_until(waited, Scripted([[record(0, 5)]]), tmp_path, {0: 6, 1: 0})
    assert reading.replaced == 0
