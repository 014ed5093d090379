"""Faults of real file systems: a frozen one, and one that loses its power."""

import time
from collections.abc import Callable

import pytest
from confluent_kafka import Producer

from compose.cluster.start import DockerCluster
from compose.errors import NodeStateError
from compose.kafka.view import ClusterView
from compose.setup import doctor
from faults.kinds.fault.evidence import shorter_by
from shared.partitions import partition

RECORDS, BYTES = 300, 1000
OLD = "old-0"


def produce(cluster: DockerCluster, topic: str, *, within_s: float) -> int:
    """Send records with acks=all, and return how many of them were acknowledged in time."""
    acked = []
    producer = Producer({"bootstrap.servers": cluster.bootstrap, "acks": "all", "linger.ms": 5})
    for _ in range(RECORDS):
        producer.produce(topic, b"x" * BYTES, on_delivery=lambda error, _: acked.append(error is None))
    producer.flush(within_s)
    producer.purge()
    return sum(acked)


def on_disk(cluster: DockerCluster, node: int, script: str) -> None:
    """Run a script in the node's data directory."""
    disks = cluster._disks
    mounted = f'mount -t ext4 -o noatime "$0" /mnt; cd /mnt/kafka; {script}'
    privately = ["unshare", "--mount", "--propagation", "private", "sh", "-euc", mounted]
    disks.helper.run([*privately, *disks.devices[node]])


def test_frozen_disk(cluster: DockerCluster, view: ClusterView, make_topic: Callable[..., str]) -> None:
    """A leader on a frozen disk acknowledges nothing, and goes on where it stopped when it thaws."""
    topic = make_topic()
    leader = partition(view, topic).leader
    assert produce(cluster, topic, within_s=10) == RECORDS
    cluster.freeze(leader)
    cluster.freeze(leader)
    assert cluster.is_frozen(leader)
    assert produce(cluster, topic, within_s=2) == 0
    cluster.thaw(leader)
    cluster.thaw(leader)
    assert not cluster.is_frozen(leader)
    assert produce(cluster, topic, within_s=10) == RECORDS


def test_power_cut(cluster: DockerCluster, view: ClusterView, make_topic: Callable[..., str]) -> None:
    """A power cut takes what was not synced; the node comes back with the rest, and fetches what it lost."""
    topic = make_topic()
    node = partition(view, topic).leader
    assert produce(cluster, topic, within_s=10) == RECORDS
    assert cluster.unsynced_bytes(node) >= RECORDS * BYTES
    cluster.pause(node)
    before, unsynced = cluster.log_sizes(node), cluster.unsynced_bytes(node)
    assert cluster.drop_unsynced(node) == ("Input/output error",)
    cluster.kill(node)
    assert unsynced > 0
    assert shorter_by(before, cluster.log_sizes(node)) >= unsynced
    assert cluster.unsynced_bytes(node) == 0
    cluster.start(node)
    view.wait_for_full_isr([topic], within_s=60)
    assert cluster.log_bytes(node) >= RECORDS * BYTES


def test_a_power_cut_may_undo_a_deletion(
    cluster: DockerCluster, view: ClusterView, make_topic: Callable[..., str]
) -> None:
    """A larger file that was just deleted, and is back after the cut, hides nothing of a topic's loss."""
    topic = make_topic()
    node = partition(view, topic).leader
    on_disk(cluster, node, f"mkdir {OLD}; head -c 8M /dev/zero >{OLD}/0.log; sync -f .")
    assert produce(cluster, topic, within_s=10) == RECORDS
    cluster.pause(node)
    on_disk(cluster, node, f"rm -r {OLD}")
    before, unsynced = cluster.log_sizes(node), cluster.unsynced_bytes(node)
    cluster.drop_unsynced(node)
    cluster.kill(node)
    after = cluster.log_sizes(node)
    on_disk(cluster, node, f"rm -r {OLD}")
    cluster.start(node)
    view.wait_for_full_isr([topic], within_s=60)
    assert unsynced >= RECORDS * BYTES
    assert after.keys() - before.keys() == {f"1/{OLD}/0.log"}
    assert sum(after.values()) > sum(before.values())
    assert shorter_by(before, after) >= unsynced


def test_synced_records_survive(
    cluster: DockerCluster, view: ClusterView, make_topic: Callable[..., str]
) -> None:
    """With flush.messages=1 what is acknowledged is on the disk, and a power cut has nothing to take."""
    topic = make_topic(config={"flush.messages": "1"})
    node = partition(view, topic).leader
    of_other_topics = cluster.unsynced_bytes(node)
    assert produce(cluster, topic, within_s=20) == RECORDS
    assert cluster.unsynced_bytes(node) < of_other_topics + RECORDS * BYTES / 10
    cluster.pause(node)
    before = cluster.log_bytes(node)
    cluster.drop_unsynced(node)
    cluster.kill(node)
    assert before - cluster.log_bytes(node) < of_other_topics + RECORDS * BYTES / 10
    cluster.start(node)
    view.wait_for_full_isr([topic], within_s=60)


def test_power_cut_needs_a_pause(cluster: DockerCluster) -> None:
    """A running node would meet EIO and halt by itself, which is another fault, so it is refused."""
    with pytest.raises(NodeStateError, match="pause it before its power cut"):
        cluster.drop_unsynced(1)


def test_kill_on_a_frozen_disk(cluster: DockerCluster) -> None:
    """A node that waits for its frozen disk can be killed, at once."""
    cluster.freeze(101)
    time.sleep(1)
    began = time.monotonic()
    cluster.kill(101)
    assert time.monotonic() - began < 5
    assert cluster.state(101).status == "exited"
    assert not cluster.is_frozen(101)


def test_the_doctor_misses_nothing_where_clusters_run() -> None:
    """It makes a disk, and freezes and thaws it, as a cluster does."""
    found = [doctor.check(need) for need in doctor.NEEDS]
    assert [each.seen for each in found if not each.ok] == []
    assert "disks" in {need.name for need in doctor.NEEDS}
