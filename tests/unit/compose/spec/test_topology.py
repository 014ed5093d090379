"""What a topology is, and which ones are refused before anything starts."""

import re
from typing import Any

import pytest

from compose.errors import TopologyError
from compose.protocols import Edge
from compose.spec.topology import Topology, edges, memory_mib


def test_default_nodes() -> None:
    """Three brokers and three separate controllers, numbered apart."""
    topology = Topology()
    assert topology.broker_ids == (1, 2, 3)
    assert topology.controller_ids == (101, 102, 103)
    assert topology.nodes == (1, 2, 3, 101, 102, 103)


def test_combined_nodes() -> None:
    """With combined roles the first nodes are both, and there are no others."""
    topology = Topology(brokers=5, controllers=3, combined=True)
    assert topology.broker_ids == topology.nodes == (1, 2, 3, 4, 5)
    assert topology.controller_ids == (1, 2, 3)


def test_default_edges() -> None:
    """3 client edges, 6 between brokers, 9 from brokers to controllers, 6 between controllers."""
    text = [str(edge) for edge in edges(Topology())]
    assert len(text) == len(set(text)) == 24
    assert text[:5] == ["client->1", "client->2", "client->3", "1->2", "1->3"]
    assert sum(edge.startswith("10") and "->10" in edge for edge in text) == 6
    assert not [edge for edge in text if edge.startswith("10") and "->10" not in edge]


def test_combined_edges() -> None:
    """Combined nodes have one edge for both roles, and all three are joined in both directions."""
    got = {str(edge) for edge in edges(Topology(combined=True))}
    assert got == {"client->1", "client->2", "client->3", "1->2", "1->3", "2->1", "2->3", "3->1", "3->2"}


@pytest.mark.parametrize(
    ("release", "asked", "on"),
    [("3.9.1", None, False), ("4.0.0", None, False), ("4.0.0", True, True), ("4.1.1", None, True),
     ("4.3.1", None, True), ("4.3.1", False, False)],
)  # fmt: skip
def test_elr(release: str, asked: bool | None, on: bool) -> None:
    """ELR is off up to 4.0 and on from 4.1, unless the topology sets it."""
    assert Topology(kafka=release, elr=asked).elr_on is on


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"brokers": 0}, "brokers: 0; give 1 to 50"),
        ({"clocks": (1, 9)}, "clocks: of 9, and the nodes are 1, 2, 3, 101, 102, 103"),
        ({"brokers": 2, "controllers": 3, "combined": True}, "each controller is one of the brokers"),
        ({"kafka": "latest"}, "'latest' is not a release"),
        ({"kafka": "2.8.1"}, "2.8.1 is too old"),
        ({"kafka_by_node": {2: "2.8.1"}}, "2.8.1 is too old"),
        ({"kafka_by_node": {2: "4"}}, "'4' is not a release"),
        ({"kafka_by_node": {4: "4.0.0"}}, "a release for 4, and the nodes are 1, 2, 3, 101, 102, 103"),
        ({"kafka_by_node": {101: "3.9.1"}, "elr": True}, "do not exist in 3.9.1"),
        ({"kafka": "3.9.1", "elr": True}, "do not exist in 3.9.1"),
        ({"later": ("4",)}, "'4' is not a release"),
        ({"kafka": "3.9.1", "formatted": "4.0.0"}, "formatted: 3.9.1 does not know the metadata.version of"),
        ({"later": ("4.0.0",)}, "formatted: 4.0.0 does not know the metadata.version of 4.3.1"),
        ({"formatted": "3.5.2"}, "3.5.2 is too old"),
        ({"formatted": "3.9.1", "elr": True}, "do not exist in 3.9.1"),
        ({"transaction_version": 3}, "transaction_version: 3; there are 0, 1, 2"),
        ({"transaction_version": 1, "kafka": "3.9.1"}, "3.9.1 has no such feature; use 4.0.0 or newer"),
        ({"transaction_version": 1, "formatted": "3.9.1"}, "3.9.1 has no such feature; use 4.0.0"),
        ({"volume_mib": 10}, "at least 64 MiB"),
        ({"log_dirs": 0}, "log_dirs: 0; give 1 to 4"),
        ({"log_dirs": 5}, "log_dirs: 5; give 1 to 4"),
        ({"log_dirs": 2, "kafka": "3.6.1"}, "do not work with KRaft in 3.6.1 (KIP-858); use 3.7.0 or newer"),
        ({"log_dirs": 2, "kafka_by_node": {101: "3.6.2"}}, "do not work with KRaft in 3.6.2"),
        ({"client_port": 80}, "client port: 80"),
        ({"broker_config": {"node.id": 7}}, "node.id is set by highwater"),
        ({"broker_config": {"Min ISR": 2}}, "'Min ISR' is not the name of a Kafka setting"),
        ({"broker_config": {"broker.session.timeout.ms": 9000}}, "only controllers read"),
        ({"broker_config": {"min.insync.replicas": 4}, "kafka": "3.6.2"}, "4 with 3 brokers can never"),
        ({"broker_config": {"min.insync.replicas": 0}}, "0 with 3 brokers can never be met"),
        ({"broker_config": {"offsets.topic.replication.factor": 4}}, "4 with 3 brokers can never be met"),
        ({"broker_config": {"min.insync.replicas": "two"}}, "'two' is not a whole number"),
        ({"broker_config": {"a": "1\nb=2"}}, "more than one line"),
        ({"broker_config": {"a": "1\rb=2"}}, "more than one line"),
        ({"controller_config": {"a": "1\0"}}, "another control character ('\\x00')"),
        ({"controller_config": {"log.flush.interval.messages": 1}}, "only brokers read"),
        (
            {"combined": True, "broker_config": {"a": 1}, "controller_config": {"a": 2}},
            "a=2, and 1 in the broker config; a combined node has one value",
        ),
    ],
)  # fmt: skip
def test_impossible(wrong: dict[str, Any], message: str) -> None:
    """A cluster that cannot exist is refused with the value and what would be right."""
    with pytest.raises(TopologyError, match=re.escape(message)):
        Topology(**wrong)


def test_release_of_a_node() -> None:
    """A node runs the cluster's release unless it has one of its own; the oldest one limits the features."""
    mixed = Topology(kafka="4.3.1", kafka_by_node={2: "4.0.1", 101: "4.3.1"})
    assert [mixed.release_of(node) for node in (1, 2, 101)] == ["4.3.1", "4.0.1", "4.3.1"]
    assert mixed.releases == ("4.0.1", "4.3.1")
    assert (mixed.oldest_version, mixed.elr_on) == ((4, 0), False)
    assert Topology().releases == ("4.3.1",)
    assert Topology(kafka="3.9.1", kafka_by_node={1: "3.10.0"}).releases == ("3.9.1", "3.10.0")


def test_releases_that_come_later() -> None:
    """Their images are needed; what is on in the cluster is by the release that formatted it."""
    upgraded = Topology(kafka="4.0.0", later=("4.3.1", "4.1.1", "4.3.1"))
    assert (upgraded.releases, upgraded.format_release) == (("4.0.0",), "4.0.0")
    assert upgraded.every_release == ("4.0.0", "4.1.1", "4.3.1")
    assert (upgraded.oldest_version, upgraded.elr_on) == ((4, 0), False)
    not_finalized = Topology(kafka="4.3.1", formatted="4.0.0")
    assert (not_finalized.releases, not_finalized.every_release) == (("4.3.1",), ("4.0.0", "4.3.1"))
    assert (not_finalized.oldest_version, not_finalized.elr_on) == ((4, 0), False)
    assert Topology(kafka="4.3.0", later=("4.3.1",), formatted="4.3.1").format_release == "4.3.1"


def test_log_directories_of_a_node() -> None:
    """Brokers have as many as were asked for, a controller that is none has one."""
    topology = Topology(log_dirs=2, kafka="3.7.0")
    assert [topology.log_dirs_of(node) for node in topology.nodes] == [2, 2, 2, 1, 1, 1]
    assert [Topology(log_dirs=2, combined=True).log_dirs_of(node) for node in (1, 2, 3)] == [2, 2, 2]


def test_defaults() -> None:
    """A user who asks for nothing gets this release and disks of this size."""
    assert (Topology().kafka, Topology().volume_mib) == ("4.3.1", 1024)


def test_memory() -> None:
    """The need is counted per node and role."""
    assert memory_mib(Topology()) == 3 * (512 + 64) + 3 * (256 + 64)


@pytest.mark.parametrize("text", ["1", "1->", "->1", "a->1", "1->client", "1-2"])
def test_bad_edge(text: str) -> None:
    """A text that is no edge is refused with the right form."""
    with pytest.raises(ValueError, match="SOURCE->TARGET"):
        Edge.parse(text)


def test_edge_text() -> None:
    """An edge is written as it is read."""
    assert str(Edge.parse("client->3")) == "client->3"
    assert Edge.parse("2->1") == Edge(source="2", target=1)
