"""Pulses of a pause and of a stall on real brokers: felt by a producer, proven, over after healing."""

import json
import time
from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Any

import pytest

from compose.cluster.start import DockerCluster
from compose.kafka.view import ClusterView
from faults.schedule.record import FaultRecord
from shared.faults.fault_runs import run
from shared.faults.fault_traffic import traffic, wait_for_acks

PULSES: Mapping[str, object] = {"do": "pulses", "on": "200ms", "off": "300ms", "for": "5s"}
STUTTER: Mapping[str, object] = {"do": "disk-stutter", "on": "1s", "off": "500ms", "for": "10s"}
BOTH = (PULSES, STUTTER)


def step(words: Mapping[str, object], topic: str) -> Mapping[str, object]:
    """Against the leader of the topic's only partition, once there is load."""
    return {"name": "it", "at": "1500ms", "target": f"leader({topic}-0)"} | words


def effect(record: FaultRecord) -> dict[str, Any]:
    """The values that prove the effect."""
    values = json.loads(record.evidence)["effect"]
    assert isinstance(values, dict)
    return values


def longest_gap_s(at_s: list[float], since_s: float, until_s: float) -> float:
    """The longest time without an acknowledgement in [since_s, until_s]."""
    times = [since_s, *(each for each in at_s if since_s < each < until_s), until_s]
    return max(after - before for before, after in pairwise(times))


@pytest.mark.parametrize("words", BOTH, ids=lambda words: str(words["do"]))
def test_pulses(
    cluster: DockerCluster,
    view: ClusterView,
    make_topic: Callable[..., str],
    words: Mapping[str, object],
) -> None:
    """The leader acknowledges in gaps as long as a pulse, keeps its leadership, and recovers at once."""
    topic = make_topic()
    with traffic(cluster.bootstrap, topic, partitions=1) as acked:
        (record,) = run(cluster, view, step(words, topic))
        healed_s = time.monotonic()
        wait_for_acks(acked, 100)
        assert time.monotonic() - healed_s < 5
    assert record.proven, record.evidence
    assert record.recovered, record.evidence
    assert record.down == ()
    on_s = {"200ms": 0.2, "1s": 1.0}[str(words["on"])]
    assert min(effect(record)["still_for_s"]) >= on_s
    assert min(effect(record)["moved_between"].values()) > 0
    at_s = [at for at, _, _ in acked.records]
    assert longest_gap_s(at_s, record.begin_ns / 1e9, record.end_ns / 1e9) >= on_s * 0.9
    (node,) = record.nodes
    assert cluster.state(node).status == "running"
    assert not cluster.is_frozen(node)
