"""How much recording costs: the load's send throughput against two peers on the same running cluster.

    bare loop             the same client, settings and loop, one constant value, a callback that only counts
    ProducerPerformance   Kafka's own producer benchmark, with the same settings

All three run on the host's network and reach the brokers through the same client proxies, one producer each,
the same partitions and settings, records as large as a run's are by default, acks=all and idempotent, not
compressed. They linger for long enough to fill their batches, as a producer does that is set for throughput:
librdkafka's threads take half as much CPU time again while batches that have lingered wait for a request to
return. Of smaller records ProducerPerformance sends more: with 100 bytes, recorded sends reached 0.7 of it,
and so did the same loop without recording.

The machine's speed changes within minutes: on two processors with three brokers one round differs from the
next by a fifth or more. So they take turns, in every order equally often; a ratio is that of two rates of one
round, and a line has the median of those. Each is measured after WARM acknowledgements, for a client that has
just connected is slower, and begins when what the one before has written, half a GB a broker, is on the disk:
the kernel would write it back meanwhile, at the expense of whoever is measured then.

Recorded are sends with everything that a run has, the samplers too, but no readers.
"""

import os
import re
import shutil
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations
from pathlib import Path
from threading import Event

import numpy as np
from confluent_kafka import Producer

from workloads.clients.producer import FULL_S, producer_settings
from workloads.errors import NotWarm, PeerFailed
from workloads.plan import Setting, WorkloadPlan
from workloads.run import start
from workloads.watched_thread import Worker, end

BATCH_BYTES = 131_072
LINGER_MS = 100
MAX_OUTSTANDING = 200_000
BLOCK = 1000
WARM = 250_000
"""About a second's."""

WARM_WITHIN_S = 60.0
RECORDED, BARE, PERFORMANCE = "recorded sends", "same loop without recording", "ProducerPerformance"
PEERS: Mapping[str, float] = {BARE: 0.9, PERFORMANCE: 0.8}
"""With the ratio that is asked for."""
ORDERS = tuple(permutations((RECORDED, *PEERS)))
"""The bare loop is before ProducerPerformance in the first, which needs its rate."""

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
    seconds: float = 10.0,
) -> list[Measured]:
    """Measure all three in each order for about `seconds` each, writing to `topic`, which must be settled.

    One round before them warms the brokers up and does not count. Each broker's volume must have room: some
    4 GiB for a minute at 300,000 records/s.
    """
    settings: dict[str, Setting] = {
        "linger.ms": LINGER_MS,
        "batch.size": BATCH_BYTES,
        "compression.type": "none",
    }
    plan = WorkloadPlan(
        topics={topic: partitions},
        producers=1,
        keyed=False,
        readers=0,
        max_outstanding=MAX_OUTSTANDING,
        client=settings,
    )
    rates: dict[str, list[float]] = {name: [] for name in (RECORDED, *PEERS)}
    measure: Mapping[str, Callable[[], float]] = {
        RECORDED: lambda: recorded(plan, bootstrap, workdir / "recorded", seconds),
        BARE: lambda: bare(plan, bootstrap, seconds),
        PERFORMANCE: lambda: performance(plan, bootstrap, round(rates[BARE][-1] * seconds), run_kafka),
    }
    for turns in (ORDERS[0], *ORDERS):
        for name in turns:
            os.sync()
            rates[name].append(measure[name]())
    return compare({name: values[1:] for name, values in rates.items()})


def compare(rates: Mapping[str, Sequence[float]]) -> list[Measured]:
    """Set the rates of all rounds of RECORDED and its PEERS side by side; not empty, and equally many."""
    lines = []
    for peer, target in PEERS.items():
        ratio = statistics.median(own / its for own, its in zip(rates[RECORDED], rates[peer], strict=True))
        lines.append(
            Measured(
                name=f"recorded send throughput against {peer}",
                value=round(statistics.median(rates[RECORDED])),
                unit="records/s",
                peer=peer,
                peer_value=round(statistics.median(rates[peer])),
                ratio=round(ratio, 3),
                target=target,
                met=ratio >= target,
            )
        )
    return lines


def recorded(plan: WorkloadPlan, bootstrap: str, run_dir: Path, seconds: float) -> float:
    """Acknowledged records a second of the recorded load, once it is warm."""
    with start(plan, bootstrap, run_dir) as load:
        rate = _rate(lambda: load.stats().acked, load.check, seconds)
    shutil.rmtree(run_dir)
    return rate


def bare(plan: WorkloadPlan, bootstrap: str, seconds: float) -> float:
    """Acknowledged records a second of the same loop that records nothing, once it is warm."""
    loop = _BareLoop(plan, bootstrap)
    worker = Worker("bare loop", loop)
    try:
        return _rate(lambda: loop.acked, worker.check, seconds)
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


def _rate(count: Callable[[], int], check: Callable[[], None], seconds: float) -> float:
    """How fast `count` grows over `seconds`, once it is WARM; `check` raises if what it counts has died."""
    deadline = time.monotonic() + WARM_WITHIN_S
    while count() < WARM:
        check()
        if time.monotonic() > deadline:
            raise NotWarm(f"{count()} of {WARM} acknowledgements after {WARM_WITHIN_S:g} s")
        time.sleep(0.005)
    before, begin = count(), time.monotonic()
    time.sleep(seconds)
    after, done = count(), time.monotonic()
    check()
    return (after - before) / (done - begin)


def performance(plan: WorkloadPlan, bootstrap: str, count: int, run_kafka: RunKafka) -> float:
    """Records a second of ProducerPerformance for `count` records after WARM ones; the plan has one topic."""
    (topic,) = plan.topics
    properties = {"bootstrap.servers": bootstrap, "acks": "all", "enable.idempotence": "true", **plan.client}
    output = run_kafka(
        [
            f"org.apache.kafka.tools.{PERFORMANCE}",
            *("--topic", topic, "--num-records", str(WARM + count), "--warmup-records", str(WARM)),
            *("--record-size", str(plan.record_bytes), "--throughput", "-1"),
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
