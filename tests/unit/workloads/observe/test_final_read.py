"""A final read ends by proof or with the reason why it has none."""

import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from confluent_kafka import KafkaError, Message, Producer
from confluent_kafka import TopicPartition as Position
from fakes.world.mock_kafka import MockKafka
from fakes.world.replica_brokers import ReplicaBrokers

from checkers.history.rows import Proof, TopicPartition
from compose.kafka.broker_api import PartitionAnswer
from workloads.clients.consumer import exact_reader
from workloads.clients.protocol import LogReader
from workloads.observe.final_read import final_read, moved, write_proofs
from workloads.observe.leaders import BrokerReport, LeaderState
from workloads.observe.partition_log import PartitionLog
from workloads.observe.survey import unsettled
from workloads.payload import Encoder
from workloads.record.journal import Journal, inspect
from workloads.record.journal import read as read_journal
from workloads.record.recorder import table_journal

TP = TopicPartition("t", 0)
PARTITIONS = (TP, TopicPartition("t", 1))


def fill(kafka: MockKafka, count: int) -> None:
    producer = Producer({"bootstrap.servers": kafka.bootstrap, "log_level": 0})
    for value in Encoder(3, 60, keyed=False).block(0, count, 1).values:
        producer.produce("t", value, partition=0)
    assert producer.flush(5) == 0


def offsets(history: Path, tp: TopicPartition = TP) -> list[int]:
    rows: list[int] = pq.read_table(history / f"final_log/{tp}.parquet").column("offset").to_pylist()
    return rows


def state(*, end: int, epoch: int = 1, log_start: int = 0, isr: tuple[int, ...] = (1, 2, 3)) -> LeaderState:
    return LeaderState(
        tp=TP,
        leader=1,
        leader_epoch=epoch,
        replicas=(1, 2, 3),
        isr=isr,
        log_start=log_start,
        high_watermark=end,
        last_stable=end,
    )


def test_a_partition_that_was_read_to_its_high_watermark_is_proven(tmp_path: Path) -> None:
    with MockKafka(3, t=2) as kafka:
        fill(kafka, 1000)
        proofs = final_read(kafka.bootstrap, PARTITIONS, tmp_path, within_s=20)
    proven = [(p.partition, p.complete, p.log_start, p.high_watermark, p.log_end, p.read_to) for p in proofs]
    assert proven == [(0, True, 0, 1000, 1000, 1000), (1, True, 0, 0, 0, 0)]
    assert {(p.replicas, p.isr, p.reason) for p in proofs} == {((1, 2, 3), (1, 2, 3), "")}
    rows = pq.read_table(tmp_path / "final_log/t-0.parquet").to_pylist()
    assert [(row["offset"], row["producer"], row["sequence"]) for row in rows] == [
        (n, 3, n) for n in range(1000)
    ]
    assert offsets(tmp_path, PARTITIONS[1]) == []


def test_a_silent_broker_leaves_every_partition_without_proof(tmp_path: Path) -> None:
    with MockKafka(3, t=2) as kafka:
        fill(kafka, 5)
        kafka.lead("t", 0, 1)
        kafka.down(3)
        begin = time.monotonic()
        proofs = final_read(kafka.bootstrap, PARTITIONS, tmp_path, within_s=0.5)
        assert time.monotonic() - begin < 4
    assert [proof.complete for proof in proofs] == [False, False]
    assert "broker at 127.0.0.1:" in proofs[0].reason
    assert proofs[0].high_watermark == 5
    assert (proofs[0].read_to, offsets(tmp_path)) == (-1, [])


def test_a_partition_that_moved_while_it_was_read_is_not_proven_before_it_stands_still(
    tmp_path: Path,
) -> None:
    """Each of the first three readers comes with somebody who writes one record more."""
    opened: list[LogReader] = []

    def open_reader(partitions: Sequence[TopicPartition]) -> LogReader:
        if len(opened) < 3:
            fill(kafka, 1)
        opened.append(exact_reader(kafka.bootstrap)(partitions))
        return opened[-1]

    with MockKafka(1, t=2) as kafka:
        fill(kafka, 5)
        (proof,) = final_read(kafka.bootstrap, (TP,), tmp_path, within_s=20, open_reader=open_reader)
    assert (proof.complete, proof.high_watermark, proof.read_to) == (True, 8, 8)
    assert offsets(tmp_path) == list(range(8))


@pytest.mark.parametrize(("least_per_s", "complete"), [(100, True), (1_000_000, False)])
def test_the_deadline_follows_from_what_there_is_to_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, least_per_s: int, complete: bool
) -> None:
    """Reading begins 0.6 s late; a machine that may take 10 s for 1,000 records has the time for it."""

    def open_late(partitions: Sequence[TopicPartition]) -> LogReader:
        time.sleep(0.6)
        return exact_reader(kafka.bootstrap)(partitions)

    monkeypatch.setattr("workloads.observe.final_read.LEAST_READ_PER_S", least_per_s)
    with MockKafka(1, t=2) as kafka:
        fill(kafka, 1000)
        (proof,) = final_read(kafka.bootstrap, (TP,), tmp_path, within_s=0.3, open_reader=open_late)
    assert proof.complete is complete


def nobody_reads(_partitions: Sequence[TopicPartition]) -> LogReader:
    raise AssertionError("there is nothing to read")


def read_nothing(
    brokers: ReplicaBrokers, tmp_path: Path, within_s: float = 20.0, journal: Journal | None = None
) -> Proof:
    """The proof of a partition whose log start is its high watermark."""
    (proof,) = final_read(
        brokers.bootstrap,
        (TP,),
        tmp_path,
        within_s=within_s,
        open_reader=nobody_reads,
        replica_offsets=journal,
    )
    return proof


def test_an_open_transaction_leaves_a_partition_without_proof(tmp_path: Path) -> None:
    with ReplicaBrokers(log_start=10, high_watermark=10, last_stable=7) as brokers:
        proof = read_nothing(brokers, tmp_path, within_s=0.3)
    assert (proof.complete, proof.last_stable, proof.high_watermark) == (False, 7, 10)
    assert proof.reason == "the last stable offset is 7, the high watermark 10: a transaction is open"


def test_what_was_last_reported_of_a_partition_without_proof_has_the_time_of_that(tmp_path: Path) -> None:
    """An open transaction that nobody could ask about any more may have ended long before the deadline."""
    with ReplicaBrokers(log_start=10, high_watermark=10, last_stable=7) as brokers:
        threading.Timer(0.3, lambda: brokers.silent.update((1, 2, 3))).start()
        proof = read_nothing(brokers, tmp_path, within_s=2.0)
    assert (proof.complete, proof.last_stable) == (False, 7)
    assert 0 < proof.at_ns < time.monotonic_ns() - 1_000_000_000


def test_a_transaction_that_ends_in_time_is_waited_for(tmp_path: Path) -> None:
    with ReplicaBrokers(log_start=10, high_watermark=10, last_stable=7) as brokers:
        threading.Timer(0.3, lambda: setattr(brokers, "last_stable", 10)).start()
        proof = read_nothing(brokers, tmp_path)
    assert (proof.complete, proof.last_stable, proof.reason) == (True, 10, "")


def test_what_the_leader_alone_holds_at_the_deadline_is_proven_as_its_log_end(tmp_path: Path) -> None:
    ends = {1: 15, 2: 12, 3: 10}
    with ReplicaBrokers(log_start=10, high_watermark=10, log_ends=ends) as brokers:
        begin = time.monotonic()
        proof = read_nothing(brokers, tmp_path, within_s=0.5)
        assert time.monotonic() - begin >= 0.5
    assert (proof.complete, proof.high_watermark, proof.log_end, proof.reason) == (True, 10, 15, "")


def test_the_high_watermark_is_waited_for_until_it_reaches_the_log_end(tmp_path: Path) -> None:
    with ReplicaBrokers(log_start=10, high_watermark=10, log_ends={1: 15, 2: 15, 3: 15}) as brokers:

        def replicate() -> None:
            brokers.log_start = brokers.high_watermark = 15

        threading.Timer(0.3, replicate).start()
        proof = read_nothing(brokers, tmp_path)
    assert (proof.complete, proof.high_watermark, proof.log_end) == (True, 15, 15)


def test_a_partition_that_was_short_of_its_log_end_and_then_lost_a_replica_has_no_proof(
    tmp_path: Path,
) -> None:
    with ReplicaBrokers(log_start=10, high_watermark=10, log_ends={1: 15, 2: 10, 3: 10}) as brokers:
        threading.Timer(0.3, lambda: setattr(brokers, "isr", (1, 2))).start()
        proof = read_nothing(brokers, tmp_path, within_s=1.0)
    assert (proof.complete, proof.reason) == (False, "in sync are [1, 2] of replicas [1, 2, 3]")


def test_how_far_each_replica_reached_is_kept(tmp_path: Path) -> None:
    journal_of = table_journal(tmp_path / "run", (TP,), "replica_offsets", of="final-read")
    before_ns = time.monotonic_ns()
    with ReplicaBrokers(log_start=10, log_ends={1: 10, 2: 10, 3: 9}) as brokers, journal_of as journal:
        read_nothing(brokers, tmp_path, journal=journal)
    (batch,) = read_journal(inspect(tmp_path / "run/journal/replica_offsets-final-read.arrow"))
    rows = batch.to_pylist()
    assert [(row["broker"], row["log_end"], row["source"]) for row in rows] == [
        (1, 10, "live"),
        (2, 10, "live"),
        (3, 9, "live"),
    ]
    assert all(before_ns < row["at_ns"] <= time.monotonic_ns() for row in rows)


def test_what_moved_is_reported_with_both_values() -> None:
    assert moved(state(end=5), state(end=5, isr=(3, 2, 1))) == ""
    change = moved(state(end=5), state(end=7, epoch=2))
    assert change == "leader_epoch 1 became 2, high_watermark 5 became 7 while it was read"


def test_proofs_are_written_as_a_table_of_the_history(tmp_path: Path) -> None:
    with MockKafka(3, t=2) as kafka:
        write_proofs(tmp_path, final_read(kafka.bootstrap, PARTITIONS, tmp_path, within_s=20))
    rows = pq.read_table(tmp_path / "proofs.parquet").to_pylist()
    assert [(row["topic"], row["partition"], row["complete"]) for row in rows] == [
        ("t", 0, True),
        ("t", 1, True),
    ]


def view(leader: int = 1, epoch: int = 1, isr: tuple[int, ...] = (1, 2, 3)) -> PartitionAnswer:
    return PartitionAnswer(
        error=0, partition=0, leader=leader, leader_epoch=epoch, replicas=(1, 2, 3), isr=isr
    )


@pytest.mark.parametrize(
    ("views", "leaders", "reason"),
    [
        ([view(), view(isr=(3, 2, 1))], [state(end=5)], ""),
        ([view(isr=(1, 2))] * 2, [state(end=5, isr=(1, 2))], "in sync are [1, 2] of replicas [1, 2, 3]"),
        ([view(), None], [state(end=5)], "a broker does not know the partition"),
        ([view()] * 2, [], "0 brokers lead it"),
        (
            [view(), view(leader=2, epoch=2)],
            [state(end=5)],
            "brokers disagree: leader 1 in epoch 1 with [1, 2, 3] in sync"
            " / leader 2 in epoch 2 with [1, 2, 3] in sync",
        ),
    ],
)
def test_a_partition_is_settled_when_all_brokers_say_so(
    views: list[PartitionAnswer | None], leaders: list[LeaderState], reason: str
) -> None:
    reports = [BrokerReport(known={TP: known} if known else {}, led=()) for known in views]
    assert unsettled(TP, reports, leaders) == reason


class Scripted:
    """Consumers that deliver what the test wants; one script a consumer, one list a call."""

    def __init__(self, *scripts: list[list[Message]]) -> None:
        self.scripts = list(scripts)
        self.placed: list[int] = []

    def make(self, _config: dict[str, Any]) -> "_One":
        return _One(self, self.scripts.pop(0) if self.scripts else [])


class _One:
    def __init__(self, script: Scripted, batches: list[list[Message]]) -> None:
        self._script, self._batches = script, batches

    def assign(self, positions: list[Position]) -> None:
        self._script.placed += [position.offset for position in positions]

    def consume(self, num_messages: int = 1, timeout: float = -1) -> list[Message]:
        if self._batches:
            return self._batches.pop(0)
        time.sleep(0.01)
        return []

    def close(self) -> None:
        """Nothing to let go."""


def records(*where: int) -> list[Message]:
    return [
        Message(topic="t", partition=0, offset=n, value=b"x", timestamp=(1, 1), leader_epoch=1) for n in where
    ]


def event(code: int, offset: int) -> list[Message]:
    return [Message(topic="t", partition=0, offset=offset, error=KafkaError(code))]


def read(
    tmp_path: Path, clients: Scripted, *states: LeaderState, within_s: float = 2.0
) -> tuple[list[str], int]:
    """Read towards each of `states` in turn: why each was not reached, and where the read ended."""
    log = PartitionLog(TP, tmp_path, exact_reader("x:1", clients.make))
    short = [log.read(target, time.monotonic() + within_s, threading.Event()) for target in states]
    log.finish()
    return short, log.read_to


def test_records_at_or_beyond_the_high_watermark_are_left_out(tmp_path: Path) -> None:
    assert read(tmp_path, Scripted([records(0, 1, 2, 3, 4)]), state(end=3)) == ([""], 3)
    assert offsets(tmp_path) == [0, 1, 2]


def test_an_end_without_a_record_is_reached_when_the_broker_says_so(tmp_path: Path) -> None:
    clients = Scripted([records(0, 1), event(KafkaError._PARTITION_EOF, 4)])
    assert read(tmp_path, clients, state(end=4)) == ([""], 4)
    assert offsets(tmp_path) == [0, 1]


def test_an_end_that_nothing_shows_is_not_reached(tmp_path: Path) -> None:
    clients = Scripted([records(0, 1), event(KafkaError._PARTITION_EOF, 2)])
    short = "read up to 2 of 4 when the time was up"
    assert read(tmp_path, clients, state(end=4), within_s=0.1) == ([short], 2)


def test_a_reader_that_stands_still_is_replaced_where_it_stands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("workloads.observe.partition_log.STALL_S", 0.05)
    clients = Scripted([records(0, 1)], [], [records(1, 2)])
    assert read(tmp_path, clients, state(end=3)) == ([""], 3)
    assert clients.placed == [0, 2, 2]
    assert offsets(tmp_path) == [0, 1, 2]


@pytest.mark.parametrize("again", [state(end=3, epoch=2), state(end=3, log_start=1)])
def test_under_another_epoch_or_log_start_everything_is_read_anew(tmp_path: Path, again: LeaderState) -> None:
    clients = Scripted([records(0, 1)], [records(*range(again.log_start, 3))])
    assert read(tmp_path, clients, state(end=2), again) == (["", ""], 3)
    assert offsets(tmp_path) == list(range(again.log_start, 3))


def test_the_same_log_is_only_read_on(tmp_path: Path) -> None:
    clients = Scripted([records(0, 1)], [records(2)])
    assert read(tmp_path, clients, state(end=2), state(end=3)) == (["", ""], 3)
    assert clients.placed == [0, 2]
    assert offsets(tmp_path) == [0, 1, 2]


def test_a_log_that_is_cut_below_what_was_read_is_read_anew(tmp_path: Path) -> None:
    clients = Scripted([records(0, 1), event(KafkaError._AUTO_OFFSET_RESET, -1)], [records(0, 1, 2)])
    assert read(tmp_path, clients, state(end=3)) == ([""], 3)
    assert clients.placed == [0, 0]
    assert offsets(tmp_path) == [0, 1, 2]
