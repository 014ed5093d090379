"""What can be done to the processes of a real cluster, and what it reports of itself."""

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from compose.cluster.ready import wait_until_ready
from compose.cluster.start import DockerCluster
from compose.errors import NodeStateError
from compose.kafka.view import ClusterView
from shared.partitions import partition


def test_pause(cluster: DockerCluster) -> None:
    """A paused node uses no CPU time, and goes on with the same process."""
    before = cluster.state(2)
    cluster.pause(2)
    cluster.pause(2)
    assert cluster.state(2).status == "paused"
    used = cluster.cpu_ns(2)
    time.sleep(1)
    assert cluster.cpu_ns(2) == used
    cluster.unpause(2)
    cluster.unpause(2)
    time.sleep(1)
    assert cluster.cpu_ns(2) > used
    assert cluster.state(2) == before


def test_kill(cluster: DockerCluster) -> None:
    """A killed node, paused or not, has exit code 137, and comes back as another process with its data."""
    before, logs = cluster.state(3), cluster.log_bytes(3)
    cluster.pause(3)
    cluster.kill(3)
    cluster.kill(3)
    assert (cluster.state(3).status, cluster.state(3).exit_code) == ("exited", 137)
    assert cluster.log_bytes(3) == logs
    cluster.start(3)
    cluster.start(3)
    after = cluster.state(3)
    assert (after.status, after.restarts) == ("running", before.restarts + 1)
    assert after.pid != before.pid
    wait_until_ready(cluster, within_s=30)


def test_clean_stop(cluster: DockerCluster, view: ClusterView, make_topic: Callable[..., str]) -> None:
    """A stopped broker hands over its leadership before it exits."""
    topic = make_topic()
    leader = partition(view, topic).leader
    cluster.stop(leader, within_s=30)
    assert cluster.state(leader).exit_code == 143
    assert partition(view, topic).leader not in (leader, -1)
    assert leader not in partition(view, topic).isr
    cluster.start(leader)
    view.wait_for_full_isr([topic], within_s=60)


def test_stop_of_a_paused_node(cluster: DockerCluster) -> None:
    """A paused node cannot be stopped cleanly; that is refused at once."""
    cluster.pause(1)
    with pytest.raises(NodeStateError, match="unpause it first"):
        cluster.stop(1, within_s=10)


def test_active_controller(cluster: DockerCluster) -> None:
    """When the active controller dies another one takes over within seconds."""
    first = cluster.active_controller()
    assert first in cluster.controllers
    cluster.kill(first)
    assert cluster.active_controller() != first
    deadline = time.monotonic() + 15
    while cluster.active_controller() is None:
        assert time.monotonic() < deadline
        time.sleep(0.2)
    assert cluster.active_controller() in set(cluster.controllers) - {first}


def test_metadata_records(cluster: DockerCluster, make_topic: Callable[..., str]) -> None:
    """The metadata log has a topic's creation, in order of offsets, also while a controller is down."""
    topic = make_topic(partitions=2)
    cluster.kill(103)
    records = cluster.metadata_records()
    offsets = [record["offset"] for record in records]
    assert offsets == sorted(offsets)
    created = [r["data"] for r in records if r["type"] == "TOPIC_RECORD" and r["data"]["name"] == topic]
    assert len(created) == 1
    partitions = [
        r["data"]
        for r in records
        if r["type"] == "PARTITION_RECORD" and r["data"]["topicId"] == created[0]["topicId"]
    ]
    assert [partition["partitionId"] for partition in partitions] == [0, 1]
    assert all(sorted(partition["replicas"]) == [1, 2, 3] for partition in partitions)


def test_collect(cluster: DockerCluster, tmp_path: Path) -> None:
    """Logs and settings of every node are written, also of one that has ended."""
    cluster.kill(2)
    cluster.collect(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["1", "101", "102", "103", "2", "3"]
    assert "started (kafka.server.KafkaRaftServer)" in (tmp_path / "2/server.log").read_text()
    assert "process.roles=controller\n" in (tmp_path / "101/server.properties").read_text()


def test_unknown_node(cluster: DockerCluster) -> None:
    """A node that is not there is named, with those that are."""
    with pytest.raises(NodeStateError, match="no node 7 in this cluster; it has 1, 2, 3, 101, 102, 103"):
        cluster.pause(7)
