"""Only leaders are believed, and a silent broker costs the others no sample."""

import time
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from confluent_kafka import Producer
from fakes.world.mock_kafka import MockKafka

from checkers.history.rows import TopicPartition
from compose.errors import BrokerSilent
from compose.kafka.brokers import Brokers, addresses
from workloads.observe.leaders import LeaderState, state_of
from workloads.observe.replica_offsets import ReplicaOffsets
from workloads.observe.sampler import Sampler
from workloads.record.recorder import Recorder
from workloads.record.seal import seal
from workloads.watched_thread import Worker, end

PARTITIONS = (TopicPartition("t", 0), TopicPartition("t", 1))


def fill(kafka: MockKafka, records: dict[int, int]) -> None:
    producer = Producer({"bootstrap.servers": kafka.bootstrap, "log_level": 0})
    for partition, count in records.items():
        for _ in range(count):
            producer.produce("t", b"x", partition=partition)
    assert producer.flush(5) == 0


def new_sampler(brokers: Brokers, recorder: Recorder) -> Sampler:
    replicas = ReplicaOffsets(recorder.replica_offsets())
    return Sampler(brokers, PARTITIONS, recorder.watermarks(), replicas)


def test_each_broker_reports_the_offsets_of_just_those_partitions_that_it_leads() -> None:
    with MockKafka(3, t=2) as kafka:
        kafka.lead("t", 0, 3)
        kafka.lead("t", 1, 1)
        fill(kafka, {0: 4, 1: 2})
        with Brokers(kafka.bootstrap, within_s=2) as brokers:
            reports = brokers.ask_all(state_of(PARTITIONS)).given
    led = {
        number: [(s.tp.partition, s.leader, s.high_watermark) for s in report.led]
        for number, report in reports.items()
    }
    assert led == {1: [(1, 1, 2)], 2: [], 3: [(0, 3, 4)]}


def test_a_leader_reports_the_whole_state_of_its_partition() -> None:
    with MockKafka(3, t=2) as kafka:
        kafka.lead("t", 0, 2)
        fill(kafka, {0: 1})
        with Brokers(kafka.bootstrap, within_s=2) as brokers:
            report = brokers.ask(2, state_of(PARTITIONS))
            (state,) = [s for s in report.led if s.tp.partition == 0]
    assert state == LeaderState(
        tp=PARTITIONS[0],
        leader=2,
        leader_epoch=state.leader_epoch,
        replicas=(1, 2, 3),
        isr=(1, 2, 3),
        log_start=0,
        high_watermark=1,
        last_stable=1,
        log_end=1,
    )
    assert state.leader_epoch >= 0


def test_a_broker_that_does_not_answer_is_silent_and_one_that_is_back_answers_again() -> None:
    with MockKafka(1, t=2) as kafka:
        (address,) = addresses(kafka.bootstrap)
        with Brokers(kafka.bootstrap, within_s=0.5) as brokers:
            assert len(brokers.ask(1, state_of(PARTITIONS)).led) == 2
            kafka.down(1)
            with pytest.raises(BrokerSilent, match=rf"broker at 127.0.0.1:{address[1]}: .*"):
                brokers.ask(1, state_of(PARTITIONS))
            kafka.up(1)
            assert len(brokers.ask(1, state_of(PARTITIONS)).led) == 2


def test_samples_of_living_leaders_go_on_while_another_broker_is_dead(tmp_path: Path) -> None:
    with (
        MockKafka(2, t=2) as kafka,
        Recorder(tmp_path, PARTITIONS) as recorder,
        Brokers(kafka.bootstrap, within_s=1) as brokers,
    ):
        kafka.lead("t", 0, 1)
        kafka.lead("t", 1, 2)
        fill(kafka, {0: 3, 1: 5})
        kafka.down(1)
        sampler = new_sampler(brokers, recorder)
        assert sampler.high_watermark(PARTITIONS[1]) == -1
        workers = [Worker(str(n), sampler.sampling(n)) for n in brokers.numbers]
        begin_ns, deadline = time.monotonic_ns(), time.monotonic() + 5
        while sampler.samples < 2 and time.monotonic() < deadline:
            time.sleep(0.02)
        end(workers, within_s=5)
        assert sampler.high_watermark(PARTITIONS[1]) == 5
        assert sampler.high_watermark(PARTITIONS[0]) == -1
    seal(tmp_path)
    rows = pq.read_table(tmp_path / "history/watermarks.parquet").to_pylist()
    assert len(rows) == sampler.samples
    assert {(row["partition"], row["leader"], row["high_watermark"], tuple(row["isr"])) for row in rows} == {
        (1, 2, 5, (1, 2))
    }
    assert all(begin_ns < row["asked_ns"] < row["at_ns"] for row in rows)


def test_the_newest_epoch_counts_however_high_an_older_one_had_been(tmp_path: Path) -> None:
    with Recorder(tmp_path, PARTITIONS) as recorder, Brokers("127.0.0.1:1", within_s=1) as brokers:
        sampler = new_sampler(brokers, recorder)
        for epoch, high_watermark in ((4, 900), (5, 700), (4, 950)):
            sampler._record(1, [state(epoch, high_watermark)])
    assert sampler.high_watermark(PARTITIONS[0]) == 700


def state(leader_epoch: int, high_watermark: int) -> LeaderState:
    return LeaderState(
        tp=PARTITIONS[0],
        leader=1,
        leader_epoch=leader_epoch,
        replicas=(1, 2),
        isr=(1, 2),
        log_start=0,
        high_watermark=high_watermark,
        last_stable=high_watermark,
    )
