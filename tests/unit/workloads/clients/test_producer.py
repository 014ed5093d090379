"""A producer accounts for each of its sends exactly once, whatever becomes of the client and its brokers."""

import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow.dataset as ds
import pytest
from confluent_kafka import Consumer, KafkaError, Producer
from confluent_kafka import TopicPartition as Position
from fakes.world.mock_kafka import PRODUCE, MockKafka

from workloads.clients.producer import ProducerLoop
from workloads.clients.send_counts import SendCounts
from workloads.plan import WorkloadPlan
from workloads.record import journal
from workloads.record.recorder import Recorder
from workloads.record.seal import seal
from workloads.watched_thread import Worker

OK, FAIL, INFO = 0, 1, 2


@contextmanager
def producing(plan: WorkloadPlan, bootstrap: str, run: Path, within_s: float = 5.0) -> Iterator[SendCounts]:
    """One producer of `plan` at work; `within_s` is what it has to flush."""
    with Recorder(run, plan.partitions) as recorder:
        work = ProducerLoop(plan, bootstrap, recorder, Producer)
        work.finish_within_s = within_s
        worker = Worker("producer", work)
        try:
            yield work.counts
        finally:
            worker.stop()
            worker.join(time.monotonic() + 20)
        worker.check()


def until(what: Callable[[], object], within_s: float = 10.0) -> None:
    deadline = time.monotonic() + within_s
    while not what():
        assert time.monotonic() < deadline, "it never came to that"
        time.sleep(0.01)


def sealed(run: Path) -> list[dict[str, Any]]:
    """Every send of the run; asserts that each sequence is there once."""
    seal(run)
    rows: list[dict[str, Any]] = ds.dataset(run / "history/sends").to_table().to_pylist()
    per_producer = Counter(row["producer"] for row in rows)
    assert {(row["producer"], row["sequence"]) for row in rows} == {
        (producer, sequence) for producer, count in per_producer.items() for sequence in range(count)
    }
    assert len(rows) == sum(per_producer.values())
    return rows


def outcomes(rows: list[dict[str, Any]]) -> Counter[tuple[int, str]]:
    return Counter((row["outcome"], row["error"]) for row in rows)


def plan(**changes: Any) -> WorkloadPlan:
    return WorkloadPlan(**({"topics": {"t": 2}, "producers": 1, "rate_per_s": 500.0} | changes))


def test_every_acknowledged_send_has_the_offset_where_it_is(tmp_path: Path) -> None:
    with MockKafka(3, t=2) as kafka:
        with producing(plan(), kafka.bootstrap, tmp_path) as counts:
            until(lambda: counts.acked >= 50)
        rows = sealed(tmp_path)
        assert outcomes(rows) == {(OK, ""): len(rows)}
        assert not counts.cold_lanes
        assert (counts.acked, counts.failed, counts.indeterminate) == (len(rows), 0, 0)
        assert all(row["invoked_ns"] < row["completed_ns"] for row in rows)
        for partition in (0, 1):
            offsets = [row["offset"] for row in rows if row["partition"] == partition]
            assert offsets == list(range(len(offsets)))


def test_a_client_that_goes_fatal_is_replaced_and_what_it_had_outstanding_is_unknown(tmp_path: Path) -> None:
    with MockKafka(1, t=2) as kafka, producing(plan(), kafka.bootstrap, tmp_path) as counts:
        until(lambda: not counts.cold_lanes)
        kafka.answer(PRODUCE, KafkaError.OUT_OF_ORDER_SEQUENCE_NUMBER)
        until(lambda: counts.instances == 2 and not counts.cold_lanes)
    rows = sealed(tmp_path)
    first = [row for row in rows if row["producer"] == 1]
    lost = {row["error"] for row in first if row["outcome"] == INFO}
    assert "OUT_OF_ORDER_SEQUENCE_NUMBER" in lost
    assert outcomes([row for row in rows if row["producer"] == 2]).keys() == {(OK, "")}


def test_what_is_purged_from_a_queue_may_be_in_the_log_and_is_unknown(tmp_path: Path) -> None:
    """The one record is written, its answer is lost, it waits to be sent again, and is purged there."""
    patient = {"retry.backoff.ms": 60_000, "retry.backoff.max.ms": 60_000, "linger.ms": 0}
    one = plan(topics={"t": 1}, max_outstanding=1, idempotence=False, client=patient)
    with MockKafka(1, t=1) as kafka:
        kafka.answer_late(1, PRODUCE, after_ms=60_000)
        reader = Consumer({"group.id": "t", "bootstrap.servers": kafka.bootstrap, "log_level": 0})
        with producing(one, kafka.bootstrap, tmp_path, within_s=0.0):
            until(lambda: reader.get_watermark_offsets(Position("t", 0), timeout=5)[1] == 1)  # it is written
            kafka.down(1)
            time.sleep(0.3)
        kafka.up(1)
        assert [(row["outcome"], row["error"]) for row in sealed(tmp_path)] == [(INFO, "_PURGE_QUEUE")]
        reader.assign([Position("t", 0, 0)])
        assert [message.offset() for message in reader.consume(1, 5)] == [0]
        reader.close()


def test_what_was_not_acknowledged_within_the_delivery_time_out_is_unknown(tmp_path: Path) -> None:
    with MockKafka(1, t=2) as kafka:
        impatient = plan(delivery_timeout_s=0.5)
        with producing(impatient, kafka.bootstrap, tmp_path) as counts:
            until(lambda: not counts.cold_lanes)
            kafka.down(1)
            until(lambda: counts.indeterminate > 0)
            kafka.up(1)
    errors = {error for outcome, error in outcomes(sealed(tmp_path)) if outcome == INFO}
    assert errors == {"_MSG_TIMED_OUT"}


def test_an_unreachable_cluster_does_not_keep_a_producer_from_ending(tmp_path: Path) -> None:
    with MockKafka(1, t=2) as kafka:
        kafka.down(1)
        begin = time.monotonic()
        with producing(plan(), kafka.bootstrap, tmp_path, within_s=0.2) as counts:
            until(lambda: counts.sent > 10)
        assert time.monotonic() - begin < 3
    rows = sealed(tmp_path)
    assert {row["outcome"] for row in rows} == {INFO}
    assert counts.indeterminate == len(rows)


def test_a_producer_with_a_rate_takes_no_processor_while_a_broker_does_not_answer(tmp_path: Path) -> None:
    """More records wait behind those in flight; librdkafka would ask without a pause whether they may go."""
    with MockKafka(1, t=2) as kafka, producing(plan(), kafka.bootstrap, tmp_path) as counts:
        until(lambda: not counts.cold_lanes)
        kafka.answer_late(1, PRODUCE, after_ms=2000)
        time.sleep(0.5)
        begin_s, used_s, acked = time.monotonic(), time.process_time(), counts.acked
        time.sleep(1.2)
        took_s, used_s = time.monotonic() - begin_s, time.process_time() - used_s
        assert counts.acked == acked
        assert used_s < took_s / 3


def test_outstanding_sends_are_bounded_as_fast_as_it_goes(tmp_path: Path) -> None:
    with MockKafka(1, t=2) as kafka:
        kafka.down(1)
        bounded = plan(rate_per_s=None, max_outstanding=2000)
        with producing(bounded, kafka.bootstrap, tmp_path, within_s=0.0) as counts:
            until(lambda: counts.sent == 2000)
            time.sleep(0.1)
        assert len(sealed(tmp_path)) == counts.sent == 2000


def test_a_cold_cluster_is_not_flooded(tmp_path: Path) -> None:
    """Until both partitions have acknowledged it, a producer has at most four records each outstanding."""
    with MockKafka(2, t=2) as kafka:
        kafka.lead("t", 0, 1)
        kafka.lead("t", 1, 2)
        kafka.down(2)
        with producing(plan(slow_start=True, rate_per_s=30.0), kafka.bootstrap, tmp_path) as counts:
            until(lambda: counts.acked)
            time.sleep(1.5)  # 45 records, half of them to the broker that is down
            assert 1 <= counts.sent - counts.acked <= 8
            assert counts.cold_lanes == [1]
            kafka.up(2)
            until(lambda: not counts.cold_lanes)
            kafka.down(2)  # warm once: the next trouble is not made smaller
            until(lambda: counts.sent - counts.acked > 40)
            kafka.up(2)


def test_a_record_that_the_client_does_not_take_failed(tmp_path: Path) -> None:
    with MockKafka(1, t=2) as kafka:
        large = plan(record_bytes=3000, client={"message.max.bytes": 1000})
        with producing(large, kafka.bootstrap, tmp_path) as counts:
            until(lambda: counts.failed >= 5)
    assert outcomes(sealed(tmp_path)).keys() == {(FAIL, "MSG_SIZE_TOO_LARGE")}


def test_a_record_that_finds_the_queue_full_failed_and_the_next_ones_go_on(tmp_path: Path) -> None:
    with MockKafka(1, t=2) as kafka:
        narrow = plan(rate_per_s=None, client={"queue.buffering.max.messages": 10})
        with producing(narrow, kafka.bootstrap, tmp_path) as counts:
            until(lambda: counts.failed and counts.acked)
    assert outcomes(sealed(tmp_path)).keys() == {(FAIL, "_QUEUE_FULL"), (OK, "")}


@pytest.mark.parametrize(
    ("acks", "client", "expected"),
    [("1", {"retries": 0}, FAIL), ("1", {}, INFO), ("all", {}, INFO)],
    ids=["a single attempt", "acks=1 with retries", "idempotent"],
)
def test_a_refusal_is_definite_only_for_a_single_attempt(
    tmp_path: Path, acks: Any, client: dict[str, Any], expected: int
) -> None:
    refused_once = plan(acks=acks, client=client)
    with MockKafka(1, t=2) as kafka, producing(refused_once, kafka.bootstrap, tmp_path) as counts:
        until(lambda: not counts.cold_lanes)
        kafka.answer(PRODUCE, KafkaError.MSG_SIZE_TOO_LARGE)
        until(lambda: counts.errors)
    refused = {outcome for outcome, error in outcomes(sealed(tmp_path)) if error == "MSG_SIZE_TOO_LARGE"}
    assert refused == {expected}


def test_refusals_for_too_few_replicas_are_tried_again_until_acknowledged(tmp_path: Path) -> None:
    with MockKafka(1, t=2) as kafka, producing(plan(), kafka.bootstrap, tmp_path) as counts:
        kafka.answer(PRODUCE, *[KafkaError.NOT_ENOUGH_REPLICAS] * 3)
        until(lambda: not counts.cold_lanes)
    assert outcomes(sealed(tmp_path)).keys() == {(OK, "")}


def test_acks_0_is_acknowledged_without_offsets_and_counted_apart(tmp_path: Path) -> None:
    with MockKafka(1, t=2) as kafka:
        with producing(plan(acks="0"), kafka.bootstrap, tmp_path) as counts:
            until(lambda: not counts.cold_lanes)
        rows = sealed(tmp_path)
    assert {(row["outcome"], row["offset"]) for row in rows} == {(OK, -1)}
    assert counts.acked_without_offset == counts.acked == len(rows)


def test_a_seeded_spread_is_the_same_for_the_same_seed_and_reaches_every_partition() -> None:
    import numpy as np

    sequences = np.arange(1000)
    spread = [plan(topics={"a": 3, "b": 4}, spread="seeded", seed=s).lanes(sequences, 1) for s in (7, 7, 8)]
    assert (spread[0] == spread[1]).all()
    assert (spread[0] != spread[2]).any()
    assert Counter(spread[0].tolist()).keys() == set(range(7))


class JournalReader:
    """A client that reads the journal whenever it is given a record."""

    def __init__(self, run: Path) -> None:
        self.run = run
        self.journaled_first: list[bool] = []

    def produce(self, *_: object) -> None:
        path = self.run / "journal/sends-1.invoked.arrow"
        rows = sum(batch.num_rows for batch in journal.read(journal.inspect(path)))
        self.journaled_first.append(rows > len(self.journaled_first))

    def poll(self, timeout: float) -> int:
        time.sleep(timeout)
        return 0

    def flush(self, timeout: float) -> int:
        return self.poll(timeout)

    def purge(self) -> None:
        """Nothing is ever reported: the harness might as well have been killed."""


def test_no_record_is_given_to_the_client_before_it_is_on_file(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr("workloads.clients.producer.PURGED_WITHIN_S", 0.1)
    client = JournalReader(tmp_path)
    with Recorder(tmp_path, plan().partitions) as recorder:
        work = ProducerLoop(plan(), "nowhere:1", recorder, lambda _config: client)
        work.finish_within_s = 0.0
        worker = Worker("producer", work)
        until(lambda: len(client.journaled_first) >= 20)
        worker.stop()
        worker.join(time.monotonic() + 5)
    assert all(client.journaled_first)
    rows = sealed(tmp_path)
    assert {(row["outcome"], row["completed_ns"]) for row in rows} == {(INFO, -1)}
    assert work.counts.indeterminate == len(rows) == len(client.journaled_first)
