"""Clocks of real nodes, set while they run: shown by their own processes, kept over a restart, right again.

On a cluster of its own, of three nodes with both roles: the others start without clocks that can be set.
"""

import json
import os
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest
from confluent_kafka import TIMESTAMP_LOG_APPEND_TIME, Message, Producer

from checkers.history.metadata_log.records import LEADER_CHANGE, with_controllers
from compose.cluster.ready import wait_until_ready
from compose.cluster.start import DockerCluster, start
from compose.kafka.view import ClusterView
from compose.spec.topology import Topology
from faults.schedule.record import FaultEvent
from shared.faults.fault_runs import run
from shared.faults.fault_traffic import traffic, wait_for_acks
from shared.faults.switched_off_runs import (
    PARTITIONS,
    not_proven,
    proven_once_healed,
    with_effect_off,
)
from shared.partitions import partition

AHEAD: Mapping[str, object] = {
    "name": "ahead",
    "at": "1500ms",
    "do": "clock-skew",
    "offset": "+5m",
    "for": "6s",
}
AHEAD_MS = 300_000
NEAR_MS = 5_000
"""What a record and the reading of a clock may be apart on a busy machine."""
BY_BROKER = {"message.timestamp.type": "LogAppendTime"}
READY_S = 60.0


@pytest.fixture(scope="module")
def own_cluster() -> Iterator[DockerCluster]:
    topology = Topology(combined=True, clocks=(1, 2, 3))
    with start(topology, run_id=f"tests-clocks-{os.getpid()}") as cluster:
        yield cluster


@pytest.fixture
def cluster(own_cluster: DockerCluster) -> Iterator[DockerCluster]:
    """The cluster with clocks; after the test they are right, and all nodes are new processes: timers of the
    old ones have seen a later time."""
    yield own_cluster
    for node in own_cluster.brokers:
        own_cluster.set_clock(node, 0)
        own_cluster.kill(node)
    for node in own_cluster.brokers:
        own_cluster.start(node)
    wait_until_ready(own_cluster, within_s=READY_S)


def appended_ms(cluster: DockerCluster, topic: str) -> int:
    """When the leader of partition 0 appended a record, by its own clock."""
    seen: list[Message] = []
    producer = Producer({"bootstrap.servers": cluster.bootstrap, "acks": "all"})
    producer.produce(topic, b"x", partition=0, on_delivery=lambda error, message: seen.append(message))
    assert producer.flush(20) == 0
    kind, at_ms = seen[0].timestamp()
    assert (kind, seen[0].error()) == (TIMESTAMP_LOG_APPEND_TIME, None)
    return at_ms


def true_ms(cluster: DockerCluster) -> int:
    """What the engine's clock shows."""
    return cluster.read_clocks().engine_ns // 1_000_000


@pytest.mark.parametrize(("offset", "ahead_ms"), [("+5m", AHEAD_MS), ("-1h", -3_600_000)])
def test_a_leader_dates_by_the_clock_that_was_set(
    cluster: DockerCluster, view: ClusterView, make_topic: Callable[..., str], offset: str, ahead_ms: int
) -> None:
    topic, off = make_topic(config=BY_BROKER), list[int]()

    def measure(event: FaultEvent) -> None:
        print(event)
        if event.stage == "effect":
            off.append(appended_ms(cluster, topic) - true_ms(cluster))

    (skew,) = run(cluster, view, AHEAD | {"target": f"leader({topic}-0)", "offset": offset}, on_event=measure)
    assert (skew.proven, skew.recovered, skew.down) == (True, True, ()), skew.evidence
    (node,) = skew.nodes
    shown = json.loads(skew.evidence)["effect"]["ahead_ms"][str(node)]
    assert abs(shown - ahead_ms) <= 500
    assert abs(off[0] - ahead_ms) <= NEAR_MS
    assert abs(appended_ms(cluster, topic) - true_ms(cluster)) <= NEAR_MS
    assert cluster.clock_setting(node) == 0


def test_the_evidence_can_fail(
    cluster: DockerCluster, view: ClusterView, make_topic: Callable[..., str]
) -> None:
    """A clock that is not set is not ahead; one that is not set right has not recovered."""
    topic = make_topic(partitions=PARTITIONS)
    unset = with_effect_off(cluster, view, topic, "clock-skew")
    not_proven(unset)
    assert "ms ahead" in json.loads(unset.evidence)["reason"]
    proven_once_healed(cluster, view, topic, "clock-skew")


def test_a_clock_outlives_a_restart_and_ends_with_the_healing(
    cluster: DockerCluster, view: ClusterView, make_topic: Callable[..., str]
) -> None:
    topic, shown = make_topic(), list[int]()

    def measure(event: FaultEvent) -> None:
        print(event)
        if (event.name, event.stage) == ("kill", "recovered"):
            shown.append(cluster.clock_ahead(2).most_ms)

    kill = {"name": "kill", "do": "kill", "target": "node 2", "after": "previous.begin + 2s", "for": "1s"}
    with traffic(cluster.bootstrap, topic, partitions=1) as acked:
        skew, killed = run(cluster, view, AHEAD | {"target": "node 2", "for": "30s"}, kill, on_event=measure)
        wait_for_acks(acked, 100)
    assert (skew.proven, skew.recovered) == (True, True), skew.evidence
    assert (killed.proven, killed.recovered) == (True, True), killed.evidence
    assert abs(shown[0] - AHEAD_MS) <= NEAR_MS
    assert cluster.clock_ahead(2).least_ms <= 500


def test_the_metadata_log_says_whose_clock_dated_it(
    cluster: DockerCluster, view: ClusterView, make_topic: Callable[..., str]
) -> None:
    """All controllers are ahead: a topic that is made meanwhile is dated ahead, by a controller that is
    named."""
    made: list[tuple[str, int]] = []

    def make(event: FaultEvent) -> None:
        print(event)
        if event.stage == "effect":
            made.append((make_topic(), true_ms(cluster)))

    (skew,) = run(cluster, view, AHEAD | {"target": "controllers", "for": "20s"}, on_event=make)
    assert (skew.proven, skew.recovered) == (True, True), skew.evidence
    ((topic, at_ms),) = made
    records: list[dict[str, Any]] = cluster.metadata_records()
    assert [record["data"]["leaderId"] for record in records if record["type"] == LEADER_CHANGE] != []
    topics = [each for each in with_controllers(records) if each["type"] == "TOPIC_RECORD"]
    (its,) = (record for record in topics if record["data"]["name"] == topic)
    assert abs(its["timestamp_ms"] - at_ms - AHEAD_MS) <= 30_000
    assert its["controller"] in cluster.controllers


def test_waits_last_as_long_as_before(
    cluster: DockerCluster, view: ClusterView, make_topic: Callable[..., str]
) -> None:
    """Only the wall clock is another: a process whose timed waits returned at once would never be idle."""
    topic = make_topic()
    leader, used = partition(view, topic).leader, list[float]()

    def measure(event: FaultEvent) -> None:
        print(event)
        if event.stage == "effect":
            begin_ns, began_s = cluster.cpu_ns(leader), time.monotonic()
            time.sleep(4)
            used.append((cluster.cpu_ns(leader) - begin_ns) / 1e9 / (time.monotonic() - began_s))

    (skew,) = run(cluster, view, AHEAD | {"target": f"node {leader}", "for": "8s"}, on_event=measure)
    assert skew.proven, skew.evidence
    assert used[0] < 0.5
