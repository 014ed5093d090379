"""Other topologies than the usual one, and clusters that do not come up."""

import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic
from shared.faults.fault_runs import run

from compose.cluster.start import start
from compose.docker import networks as docker_nets
from compose.errors import DiskError, NodeNotReady, PortTaken
from compose.kafka.view import ClusterView
from compose.spec.topology import Topology
from faults.schedule.record import FaultEvent

ELR = "eligible.leader.replicas.version"


@pytest.fixture
def run_id(request: pytest.FixtureRequest) -> Iterator[str]:
    """A run of which nothing may be left."""
    made = f"{request.node.name.replace('_', '-')}-{os.getpid()}"
    yield made
    things = [*docker_nets.our_containers(), *docker_nets.our_networks(), *docker_nets.our_volumes()]
    assert [thing.name for thing in things if made in thing.name] == []


def test_combined_roles(run_id: str) -> None:
    """Nodes with both roles serve, lose their power and come back; ELR is as in the topology."""
    topology = Topology(combined=True, elr=False)
    with start(topology, run_id=run_id) as cluster, ClusterView(cluster.bootstrap) as view:
        assert cluster.brokers == cluster.controllers == (1, 2, 3)
        admin = AdminClient({"bootstrap.servers": cluster.bootstrap})
        admin.create_topics([NewTopic("orders", 3, 3)])["orders"].result(20)
        view.wait_until_settled("orders", within_s=20)
        producer = Producer({"bootstrap.servers": cluster.bootstrap, "acks": "all"})
        for _ in range(500):
            producer.produce("orders", b"x" * 1000)
        assert producer.flush(20) == 0

        node = cluster.active_controller()
        assert node in cluster.brokers
        cluster.pause(node)
        before = cluster.log_bytes(node)
        cluster.drop_unsynced(node)
        with pytest.raises(DiskError):
            cluster.log_bytes(node)
        cluster.kill(node)
        assert cluster.log_bytes(node) < before
        cluster.start(node)
        view.wait_for_full_isr(["orders"], within_s=60)

        levels = {
            record["data"]["name"]: record["data"]["featureLevel"]
            for record in cluster.metadata_records()
            if record["type"] == "FEATURE_LEVEL_RECORD"
        }
        assert levels.get(ELR, 0) == 0
        assert levels["metadata.version"] > 0
        timings = cluster.timings
        assert timings is not None
        assert 0 < timings.proxy_s < timings.disks_s < timings.nodes_s < timings.mesh_s < timings.ready_s


def test_elr_on_where_it_was_off(run_id: str) -> None:
    """A fault turns it on in a cluster that was formatted without it, and off again."""
    with (
        start(Topology(combined=True, elr=False), run_id=run_id) as cluster,
        ClusterView(cluster.bootstrap) as view,
    ):
        seen: list[set[int]] = []

        def levels() -> set[int]:
            return {known.level for known in cluster.admin.features(ELR).values()}

        def look(event: FaultEvent) -> None:
            print(event)
            if event.stage == "effect":
                seen.append(levels())

        admin = AdminClient({"bootstrap.servers": cluster.bootstrap})
        admin.create_topics([NewTopic("orders", 3, 3)])["orders"].result(20)
        view.wait_until_settled("orders", within_s=20)
        assert levels() == {0}
        step = {"name": "on", "at": "1500ms", "do": "feature", "set": f"{ELR}=1", "for": "4s"}
        (on,) = run(cluster, view, step, on_event=look)
        assert on.proven, on.evidence
        assert on.recovered, on.evidence
        assert seen == [{1}]
        assert levels() == {0}


def test_broker_that_refuses_its_settings(run_id: str, tmp_path: Path) -> None:
    """A node that ends while it starts is named at once, with its last lines, and its log is kept."""
    wrong = Topology(brokers=1, controllers=1, broker_config={"num.io.threads": "many"})
    with pytest.raises(NodeNotReady) as caught, start(wrong, run_id=run_id, workdir=tmp_path):
        pass
    assert "node 1 does not run: exited with exit code 1" in str(caught.value)
    assert "num.io.threads" in str(caught.value)
    assert "num.io.threads=many" in (tmp_path / "nodes/1/server.properties").read_text()
    assert "num.io.threads" in (tmp_path / "nodes/1/server.log").read_text()


def test_cluster_that_does_not_get_ready(run_id: str) -> None:
    """When time runs out the message has the brokers, what they lack, and their last lines."""
    with (
        pytest.raises(NodeNotReady) as caught,
        start(Topology(brokers=1, controllers=1), run_id=run_id, ready_within_s=0.1),
    ):
        pass
    assert "brokers that are not ready: none: not so after" in str(caught.value)
    assert "last seen: {1: 'no answer" in str(caught.value)
    assert "last lines of node 1:" in str(caught.value)


def test_taken_port(run_id: str) -> None:
    """A host port that somebody else has is named."""
    with socket.create_server(("0.0.0.0", 0)) as server:
        port = server.getsockname()[1]
        topology = Topology(brokers=1, controllers=1, client_port=port - 1)
        with pytest.raises(PortTaken, match=str(port)), start(topology, run_id=run_id):
            pass
