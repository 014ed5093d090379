"""Only leaders are believed, and a silent broker costs nobody else a sample."""

import time
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from confluent_kafka import Producer
from fakes.mock_kafka import MockKafka

from checkers.history.rows import TopicPartition
from workloads.errors import BrokerSilent
from workloads.observe.leaders import Broker, LeaderState, addresses
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


def test_each_broker_tells_the_offsets_of_just_those_partitions_that_it_leads() -> None:
    with MockKafka(3, t=2) as kafka:
        kafka.lead("t", 0, 3)
        kafka.lead("t", 1, 1)
        fill(kafka, {0: 4, 1: 2})
        led = {}
        for address in addresses(kafka.bootstrap):
            with Broker(address, within_s=2) as broker:
                led[address] = [
                    (s.tp.partition, s.leader, s.high_watermark) for s in broker.ask(PARTITIONS).led
                ]
    assert list(led.values()) == [[(1, 1, 2)], [], [(0, 3, 4)]]


def test_a_broker_tells_all_that_it_knows_of_a_partition() -> None:
    with MockKafka(3, t=2) as kafka:
        kafka.lead("t", 0, 2)
        fill(kafka, {0: 1})
        with Broker(addresses(kafka.bootstrap)[1], within_s=2) as broker:
            (state,) = [s for s in broker.ask(PARTITIONS).led if s.tp.partition == 0]
    assert state == LeaderState(
        tp=PARTITIONS[0],
        leader=2,
        leader_epoch=state.leader_epoch,
        replicas=(1, 2, 3),
        isr=(1, 2, 3),
        log_start=0,
        high_watermark=1,
        last_stable=1,
    )
    assert state.leader_epoch >= 0


def test_a_broker_that_does_not_answer_is_silent_and_one_that_is_back_answers_again() -> None:
    with MockKafka(1, t=2) as kafka:
        (address,) = addresses(kafka.bootstrap)
        with Broker(address, within_s=0.5) as broker:
            assert len(broker.ask(PARTITIONS).led) == 2
            kafka.down(1)
            with pytest.raises(BrokerSilent, match=rf"broker at 127.0.0.1:{address[1]}: .*"):
                broker.ask(PARTITIONS)
            kafka.up(1)
            assert len(broker.ask(PARTITIONS).led) == 2


def test_samples_of_living_leaders_go_on_while_another_broker_is_dead(tmp_path: Path) -> None:
    with MockKafka(2, t=2) as kafka, Recorder(tmp_path, PARTITIONS) as recorder:
        kafka.lead("t", 0, 1)
        kafka.lead("t", 1, 2)
        fill(kafka, {0: 3, 1: 5})
        kafka.down(1)
        sampler = Sampler(PARTITIONS, recorder.watermarks())
        assert sampler.high_watermark(PARTITIONS[1]) == -1
        workers = [Worker(str(a), sampler.watch(a)) for a in addresses(kafka.bootstrap)]
        deadline = time.monotonic() + 5
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


def test_the_newest_epoch_counts_however_high_an_older_one_had_been(tmp_path: Path) -> None:
    with Recorder(tmp_path, PARTITIONS) as recorder:
        sampler = Sampler(PARTITIONS, recorder.watermarks())
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
