"""Slow edges of a real cluster under load: proven, felt by the producers, gone after healing."""

import json
import time
from collections.abc import Callable

import pytest

from compose.cluster.start import DockerCluster
from compose.kafka.view import ClusterView
from shared.fault_runs import Ignoring, run
from shared.fault_traffic import Acked, traffic


def words(topic: str) -> dict[str, str]:
    """The followers fetch from their leader over slow edges."""
    edges = f"followers({topic}-0) -> leader({topic}-0)"
    return {"name": "slow", "at": "1500ms", "do": "latency", "edges": edges, "for": "4s"} | {
        "delay": "250ms",
        "jitter": "50ms",
    }


def quickest(acked: Acked, since_s: float, until_s: float) -> float:
    """The shortest time that an acknowledgement took which came between two times (monotonic)."""
    return min(seconds for at_s, seconds in acked.latencies if since_s < at_s < until_s)


def test_slow_edges(cluster: DockerCluster, view: ClusterView, make_topic: Callable[..., str]) -> None:
    """Round trips are longer by the delay while it holds, acks=all waits for them, and both end with it."""
    topic = make_topic()
    with traffic(cluster.bootstrap, topic, partitions=1) as acked:
        (slow,) = run(cluster, view, words(topic))
        time.sleep(2.0)
    assert slow.proven, slow.evidence
    assert slow.recovered, slow.evidence
    evidence = json.loads(slow.evidence)
    before, during = evidence["effect"]["round_trip_before_s"], evidence["effect"]["round_trip_during_s"]
    assert set(before) == set(slow.edges)
    assert len(slow.edges) == 2
    for edge in slow.edges:
        assert 0.18 <= during[edge] - before[edge] <= 1.0
        assert evidence["recovery"]["round_trip_since_heal_s"][edge] <= before[edge] + 0.1
    assert slow.effect_ns - slow.inject_ns < 2_000_000_000
    injected_s, healed_s = slow.inject_ns / 1e9, slow.heal_ns / 1e9
    slowed_s = quickest(acked, injected_s + 1, healed_s)
    assert slowed_s >= 0.18
    assert quickest(acked, 0, injected_s) < slowed_s - 0.1
    assert quickest(acked, healed_s + 1, float("inf")) < slowed_s - 0.1
    assert not any(cluster.mesh.is_cut(edge) for edge in cluster.mesh.edges)


@pytest.mark.parametrize(("ignored", "verdict"), [("slow", (False, True)), ("mend", (True, False))])
def test_the_evidence_can_fail(
    cluster: DockerCluster,
    view: ClusterView,
    make_topic: Callable[..., str],
    monkeypatch: pytest.MonkeyPatch,
    ignored: str,
    verdict: tuple[bool, bool],
) -> None:
    """Where no edge becomes slow, nothing is proven; where it stays slow, nothing has recovered."""
    monkeypatch.setattr("faults.schedule.scheduler.RECOVERY_S", 3.0)
    topic = make_topic()
    with traffic(cluster.bootstrap, topic, partitions=1):
        (slow,) = run(Ignoring(cluster, ignored), view, words(topic))
    assert (slow.proven, slow.recovered) == verdict, slow.evidence
