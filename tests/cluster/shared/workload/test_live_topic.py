"""A topic of a running cluster as a configuration: what is read, and that nothing is changed."""

from collections.abc import Callable

import pytest
from confluent_kafka.admin import AdminClient

from checkers.history.metadata_log.settings import ELR_FEATURE
from compose.cluster.start import DockerCluster
from harness.api import of_topic, promise
from workloads.clients.live_topic import read_topic
from workloads.errors import TopicUnreadable


@pytest.fixture
def topic(make_topic: Callable[..., str]) -> str:
    """A topic of four partitions with three replicas, of which two must be in sync."""
    return make_topic(partitions=4, config={"min.insync.replicas": "2"})


def test_the_replicas_and_the_settings_of_topic_and_brokers_are_read(
    cluster: DockerCluster, topic: str
) -> None:
    live = read_topic(topic, cluster.bootstrap, {})
    assert [sorted(replicas) for replicas in live.replicas] == [[1, 2, 3]] * 4
    assert live.config["min.insync.replicas"] == "2"
    assert [broker.number for broker in live.brokers] == [1, 2, 3]
    assert {broker.config["replica.lag.time.max.ms"] for broker in live.brokers} == {"3000"}


def test_a_live_topic_has_its_promise_and_reading_it_changes_nothing(
    cluster: DockerCluster, topic: str
) -> None:
    before = read_topic(topic, cluster.bootstrap, {})
    record = promise(of_topic(topic, cluster.bootstrap, sets=["producer.acks=all"]))
    release = ".".join(cluster.topology.kafka.split(".")[:2])
    assert record.settings.startswith(f"Kafka {release}, 3 replicas, min.insync.replicas 2, acks=all, ")
    elr = {said.level for said in cluster.admin.features(ELR_FEATURE).values()}
    assert record.settings.endswith("ELR off" if elr == {0} else "ELR on")
    (remark,) = record.remarks
    assert remark.startswith("broker.session.timeout.ms=4000 is what brokers have: that of the controllers ")
    assert {"process-kill", "broker-loss", "spare-replicas"} <= {clause.id for clause in record.clauses}
    assert {"no-racks", "no-spare-broker"} <= {trap.id for trap in record.traps}
    assert read_topic(topic, cluster.bootstrap, {}) == before


def test_a_topic_that_there_is_not_is_named_and_is_not_made(cluster: DockerCluster) -> None:
    with pytest.raises(TopicUnreadable, match=r"^topic nowhere at "):
        read_topic("nowhere", cluster.bootstrap, {})
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap})
    assert "nowhere" not in admin.list_topics(timeout=30).topics
