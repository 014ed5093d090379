"""Slow edges of a real cluster: proven, felt by a producer, gone after healing."""

import json
import time
from collections.abc import Callable

from confluent_kafka import Producer

from compose.cluster.start import DockerCluster
from compose.kafka.view import ClusterView
from faults.schedule.record import FaultEvent
from shared.faults.fault_runs import run


def words(topic: str) -> dict[str, str]:
    """The followers fetch from their leader over slow edges."""
    edges = f"followers({topic}-0) -> leader({topic}-0)"
    return {"name": "slow", "at": "1500ms", "do": "latency", "edges": edges, "for": "4s"} | {
        "delay": "250ms",
        "jitter": "50ms",
    }


def quickest_ack_s(producer: Producer, topic: str) -> float:
    """The shortest of five acknowledgements, each of a record that is sent alone."""
    took: list[float] = []
    for _ in range(5):
        began_s = time.monotonic()
        producer.produce(topic, b"x", partition=0)
        assert producer.flush(10) == 0
        took.append(time.monotonic() - began_s)
    return min(took)


def test_slow_edges(cluster: DockerCluster, view: ClusterView, make_topic: Callable[..., str]) -> None:
    """Round trips are longer by the delay while it holds, acks=all waits for them, and both end with it."""
    topic, during_s = make_topic(), list[float]()
    producer = Producer({"bootstrap.servers": cluster.bootstrap, "acks": "all", "linger.ms": 0})
    before_s = quickest_ack_s(producer, topic)

    def measure(event: FaultEvent) -> None:
        print(event)
        if event.stage == "effect":
            during_s.append(quickest_ack_s(producer, topic))

    (slow,) = run(cluster, view, words(topic), on_event=measure)
    after_s = quickest_ack_s(producer, topic)
    assert slow.proven, slow.evidence
    assert slow.recovered, slow.evidence
    assert slow.effect_ns - slow.inject_ns < 2_000_000_000
    assert len(slow.edges) == 2
    evidence = json.loads(slow.evidence)
    for edge in slow.edges:
        before, during, after = (
            evidence[part][key][edge]
            for part, key in (
                ("effect", "round_trip_before_s"),
                ("effect", "round_trip_during_s"),
                ("recovery", "round_trip_since_heal_s"),
            )
        )
        assert 0.18 <= during - before <= 1.0
        assert after - before <= 0.1
    (slowed_s,) = during_s
    assert slowed_s >= 0.18
    assert max(before_s, after_s) < slowed_s - 0.1
