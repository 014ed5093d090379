"""How much recording costs: the load's send throughput against two peers on the same running cluster.

    bare loop             the same client, settings and loop, one constant value, a callback that only counts
    ProducerPerformance   Kafka's own producer benchmark, with the same settings

All three run on the host's network and reach the brokers through the same client proxies, one producer each,
the same record size, linger, batch size and partitions, acks=all and idempotent, not compressed. They take
turns (A B C, A B C, …), and medians are compared, for the machine's speed changes within minutes: on two
processors with three brokers one round of each differs from the next by a fifth and more.
Recorded are sends with everything that a run has, the samplers too, but no readers.
"""

import re
import shutil
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import Event

import numpy as np
from confluent_kafka import Producer

from workloads.clients.producer import FULL_S, producer_settings
from workloads.errors import PeerFailed
from workloads.plan import Setting, WorkloadPlan
from workloads.run import start
from workloads.watched_thread import Worker, end

RECORD_BYTES = 100
BATCH_BYTES = 131_072
LINGER_MS = 5
MAX_OUTSTANDING = 200_000
BLOCK = 1000
WARM = 50_000
PERFORMANCE = "org.apache.kafka.tools.ProducerPerformance"

RunKafka = Callable[[Sequence[str]], str]
"""Run a main class of the cluster's Kafka release with arguments, on the host's network; its output."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """One line of the bench: a value, its peer's, their ratio, and whether it meets the target."""

    name: str
    value: float
    unit: str
    peer: str
    peer_value: float
    ratio: float
    target: float
    met: bool


def send_throughput(
    bootstrap: str,
    topic: str,
    partitions: int,
    run_kafka: RunKafka,
    workdir: Path,
    *,
    rounds: int = 9,
    seconds: float = 4.0,
) -> list[Measured]:
    """Measure all three `rounds` times for about `seconds` each, writing to `topic`, which must be settled.

    One round before them warms the brokers up and does not count. Each broker's volume must have room: a
    gigabyte for a minute of measuring at 150,000 records/s.
    """
    settings: dict[str, Setting] = {
        "linger.ms": LINGER_MS,
        "batch.size": BATCH_BYTES,
        "compression.type": "none",
    }
    plan = WorkloadPlan(
        topics={topic: partitions},
        producers=1,
        record_bytes=RECORD_BYTES,
        keyed=False,
        readers=0,
        max_outstanding=MAX_OUTSTANDING,
        client=settings,
    )
    rates: dict[str, list[float]] = {"recorded": [], "bare": [], "performance": []}
    for turn in range(rounds + 1):
        rates["recorded"].append(recorded(plan, bootstrap, workdir / f"bench-{turn}", seconds))
        rates["bare"].append(bare(plan, bootstrap, seconds))
        count = round(rates["bare"][-1] * seconds)
        rates["performance"].append(performance(bootstrap, topic, count, settings, run_kafka))
    return compare({name: statistics.median(values[1:]) for name, values in rates.items()})


def compare(rate: dict[str, float]) -> list[Measured]:
    """Set the rates of "recorded", "bare" and "performance" side by side."""
    peers = (("same loop without recording", "bare", 0.9), ("ProducerPerformance", "performance", 0.8))
    return [
        Measured(
            name=f"recorded send throughput against {peer}",
            value=round(rate["recorded"]),
            unit="records/s",
            peer=peer,
            peer_value=round(rate[key]),
            ratio=round(rate["recorded"] / rate[key], 3),
            target=target,
            met=rate["recorded"] / rate[key] >= target,
        )
        for peer, key, target in peers
    ]


def recorded(plan: WorkloadPlan, bootstrap: str, run_dir: Path, seconds: float) -> float:
    """Acknowledged records a second of the recorded load, once it is warm."""
    with start(plan, bootstrap, run_dir) as load:
        load.wait_warm()
        rate = _rate(lambda: load.stats().acked, seconds)
    shutil.rmtree(run_dir)
    return rate


def bare(plan: WorkloadPlan, bootstrap: str, seconds: float) -> float:
    """Acknowledged records a second of the same loop that records nothing, once it is warm."""
    loop = _BareLoop(plan, bootstrap)
    worker = Worker("bare loop", loop)
    try:
        deadline = time.monotonic() + 30
        while loop.acked < WARM and time.monotonic() < deadline:
            worker.check()
            time.sleep(0.02)
        return _rate(lambda: loop.acked, seconds)
    finally:
        end([worker], within_s=70)


class _BareLoop:
    """What workloads.clients.producer does as fast as it goes, without ids, journals and outcomes."""

    def __init__(self, plan: WorkloadPlan, bootstrap: str) -> None:
        self.acked = 0
        self._plan = plan
        self._client = Producer(producer_settings(plan, bootstrap))

    def __call__(self, stop: Event) -> None:
        """Send until stopped, then flush."""
        value = bytes(self._plan.record_bytes)
        produce, poll, sent = self._client.produce, self._client.poll, 0
        while not stop.is_set():
            if sent - self.acked + BLOCK > self._plan.max_outstanding:
                poll(FULL_S)
                continue
            lanes = self._plan.lanes(np.arange(sent, sent + BLOCK), 1).tolist()
            for topic, partition in map(self._plan.partitions.__getitem__, lanes):
                produce(topic, value, None, partition, self._count)
            sent += BLOCK
            poll(0)
        self._client.flush(60)

    def _count(self, error: object, _message: object) -> None:
        assert error is None, f"bare loop: {error}"
        self.acked += 1


def _rate(count: Callable[[], int], seconds: float) -> float:
    """How fast `count` grows over `seconds`."""
    before, begin = count(), time.monotonic()
    time.sleep(seconds)
    after, done = count(), time.monotonic()
    return (after - before) / (done - begin)


def performance(
    bootstrap: str, topic: str, count: int, settings: dict[str, Setting], run_kafka: RunKafka
) -> float:
    """Records a second of ProducerPerformance for `count` records after a quarter as many to warm up."""
    properties = {"bootstrap.servers": bootstrap, "acks": "all", "enable.idempotence": "true", **settings}
    warm_up = count // 4
    output = run_kafka(
        [
            PERFORMANCE,
            *("--topic", topic, "--num-records", str(count + warm_up), "--warmup-records", str(warm_up)),
            *("--record-size", str(RECORD_BYTES), "--throughput", "-1"),
            *("--producer-props", *(f"{key}={value}" for key, value in properties.items())),
        ]
    )
    return last_rate(output)


def last_rate(output: str) -> float:
    """The figure of the last summary in ProducerPerformance's output."""
    rates = re.findall(r"records sent, ([0-9.]+) records/sec", output)
    if not rates:
        raise PeerFailed(f"ProducerPerformance gave no figures; the end of its output: {output[-500:]}")
    return float(rates[-1])
