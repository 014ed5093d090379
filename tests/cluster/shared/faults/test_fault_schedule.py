"""Schedules on a real cluster: what survives a power cut, and how Ctrl-C heals."""

from collections.abc import Callable
from threading import Event

from confluent_kafka import Consumer, TopicPartition

from compose.cluster.start import DockerCluster
from compose.kafka.view import ClusterView
from faults.schedule.record import FaultEvent
from shared.faults.fault_runs import run
from shared.faults.fault_traffic import Acked, traffic, wait_for_acks

PARTITIONS = 3
POWER = {"at": "2s", "do": "power-loss", "target": "brokers", "for": "500ms"}


def vanished(cluster: DockerCluster, topic: str, acked: Acked, until_s: float) -> int:
    """How many records acknowledged before `until_s` (monotonic) lie beyond the end of their log."""
    consumer = Consumer({"bootstrap.servers": cluster.bootstrap, "group.id": "none"})
    ends = {
        partition: consumer.get_watermark_offsets(TopicPartition(topic, partition), timeout=30)[1]
        for partition in range(PARTITIONS)
    }
    consumer.close()
    return sum(at < until_s and offset >= ends[partition] for at, partition, offset in acked.records)


def test_a_power_cut_takes_nothing_that_was_flushed(
    cluster: DockerCluster, view: ClusterView, make_topic: Callable[..., str]
) -> None:
    """Every broker loses power under load; with `flush.messages=1` all that was acknowledged survives."""
    topic = make_topic(partitions=PARTITIONS, config={"min.insync.replicas": "2", "flush.messages": "1"})
    with traffic(cluster.bootstrap, topic, partitions=PARTITIONS) as acked:

        def end_the_load(event: FaultEvent) -> None:
            if event.stage == "effect":
                acked.stop.set()

        (record,) = run(cluster, view, POWER, on_event=end_the_load)
    view.wait_for_full_isr([topic], within_s=60)
    assert record.proven, record.evidence
    assert record.recovered, record.evidence
    assert vanished(cluster, topic, acked, record.inject_ns / 1e9) == 0


def test_ctrl_c_heals(cluster: DockerCluster, view: ClusterView, make_topic: Callable[..., str]) -> None:
    """Set in the middle of four faults in force, `stop` heals all of them, and the load goes on."""
    topic, stop = make_topic(partitions=PARTITIONS), Event()
    hour = {"at": "1s", "for": "1h"}
    kill = {"do": "kill", "target": "node 3", "after": "previous.begin", "for": "1h"}

    def stop_at_the_kill(event: FaultEvent) -> None:
        if (event.kind, event.stage) == ("kill", "effect"):
            stop.set()

    with traffic(cluster.bootstrap, topic, partitions=PARTITIONS) as acked:
        records = run(
            cluster,
            view,
            hour | {"do": "partition", "edges": "1 <-> 2", "mode": "blackhole"},
            hour | {"do": "pause", "target": "active controller"},
            hour | {"do": "disk-stall", "target": "node 2"},
            kill,
            stop=stop,
            on_event=stop_at_the_kill,
        )
        wait_for_acks(acked, 100)
    assert [record.heal_ns > record.inject_ns > 0 for record in records] == [True] * 4
    assert {cluster.state(node).status for node in (*cluster.brokers, *cluster.controllers)} == {"running"}
    assert not any(cluster.is_frozen(node) for node in cluster.brokers)
    assert not any(cluster.mesh.is_cut(edge) for edge in cluster.mesh.edges)
