"""What the disks of nodes that are down hold: read batch by batch, copied, and as the brokers report it."""

from collections.abc import Callable
from pathlib import Path

from confluent_kafka import Producer

from compose.cluster.start import DockerCluster
from compose.kafka import broker_log
from compose.kafka.view import ClusterView
from compose.protocols import LogExtent
from harness.run.live.brokers_end import stop
from shared.partitions import partition

RECORDS = 300


def produce(cluster: DockerCluster, topic: str) -> None:
    """Send RECORDS records with acks=all, all of them acknowledged."""
    errors = []
    producer = Producer({"bootstrap.servers": cluster.bootstrap, "acks": "all", "linger.ms": 5})
    for _ in range(RECORDS):
        producer.produce(topic, b"x" * 1000, on_delivery=lambda error, _: errors.append(error))
    producer.flush(20)
    assert errors == [None] * RECORDS


def loaded(cluster: DockerCluster, topic: str, node: int, into: Path) -> list[int]:
    """The log ends that a broker has found when it was started, in order."""
    cluster.collect(into)
    lines = broker_log.parse((into / str(node) / "server.log").read_text())
    return [line.offset for line in lines if (line.kind, line.topic) == ("loaded", topic)]


def test_a_dead_follower_holds_what_it_had_and_a_paused_leader_more(
    cluster: DockerCluster, view: ClusterView, make_topic: Callable[..., str], tmp_path: Path
) -> None:
    """When it starts, the broker itself reports the log end that was read from its disk."""
    topic = make_topic()
    state = partition(view, topic)
    follower = next(node for node in state.replicas if node != state.leader)
    produce(cluster, topic)
    cluster.kill(follower)
    produce(cluster, topic)
    assert cluster.log_ends(follower)[topic, 0] == LogExtent(log_start=0, log_end=RECORDS)
    cluster.pause(state.leader)
    assert cluster.log_ends(state.leader)[topic, 0] == LogExtent(log_start=0, log_end=2 * RECORDS)
    cluster.unpause(state.leader)
    cluster.start(follower)
    view.wait_for_full_isr([topic], within_s=60)
    assert loaded(cluster, topic, follower, tmp_path) == [RECORDS]


def test_a_power_cut_shortens_the_log_to_what_the_broker_then_finds(
    cluster: DockerCluster, view: ClusterView, make_topic: Callable[..., str], tmp_path: Path
) -> None:
    topic = make_topic()
    node = partition(view, topic).leader
    produce(cluster, topic)
    cluster.pause(node)
    before = cluster.log_ends(node)[topic, 0]
    cluster.drop_unsynced(node)
    cluster.kill(node)
    after = cluster.log_ends(node).get((topic, 0), LogExtent(log_start=0, log_end=0))
    assert before == LogExtent(log_start=0, log_end=RECORDS)
    assert after.log_end < RECORDS
    cluster.start(node)
    view.wait_for_full_isr([topic], within_s=60)
    assert loaded(cluster, topic, node, tmp_path) in ([after.log_end], [])
    assert cluster.log_ends(node)[topic, 0].log_end == RECORDS


def test_the_replicas_of_brokers_that_were_stopped_are_copied_and_equal(
    cluster: DockerCluster, make_topic: Callable[..., str], tmp_path: Path
) -> None:
    """Of other topics nothing is copied; of a broker that runs, neither."""
    topic, other = make_topic(partitions=2), make_topic()
    produce(cluster, topic)
    assert set(cluster.save_replicas([topic], tmp_path / "early").values()) == {"it has not ended: running"}
    assert stop(cluster) == {}
    assert cluster.save_replicas([topic], tmp_path / "copy") == {1: "", 2: "", 3: ""}
    for number in (0, 1):
        logs = {
            (tmp_path / f"copy/{node}/{topic}-{number}/00000000000000000000.log").read_bytes()
            for node in cluster.brokers
        }
        assert len(logs) == 1
    for node in cluster.brokers:
        names = {path.name for path in (tmp_path / f"copy/{node}").iterdir()}
        assert {".kafka_cleanshutdown", "meta.properties", "replication-offset-checkpoint"} <= names
        assert {f"{topic}-0", f"{topic}-1"} <= names
        assert f"{other}-0" not in names
        files = {path.suffix for path in (tmp_path / f"copy/{node}/{topic}-0").iterdir()}
        assert ".log" in files
        assert not files & {".index", ".timeindex"}
