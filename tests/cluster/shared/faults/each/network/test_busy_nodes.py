"""Slow edges of a node that is slow itself: what the edges add is told from what the node takes."""

import time
from collections.abc import Callable
from typing import Any

import pytest
from fakes.world.ignoring import Ignoring

from compose.cluster.start import DockerCluster
from compose.kafka.view import ClusterView
from compose.protocols import Edge
from faults.schedule.record import FaultRecord
from shared.faults.fault_runs import run
from shared.faults.fault_traffic import traffic

NODE = 3
KINDS = {
    "bandwidth": {"do": "bandwidth", "rate": "50KB/s"},
    "slicing": {"do": "slicing", "size": "200B", "delay": "3ms"},
    "latency": {"do": "latency", "delay": "150ms", "jitter": "30ms"},
}
EACH_KIND = pytest.mark.parametrize("kind", KINDS)


def around_the_node(
    cluster: object,
    real: DockerCluster,
    view: ClusterView,
    topic: str,
    kind: str,
    edges: str = f"all <-> node {NODE}",
) -> FaultRecord:
    """One fault of 3 s on its edges, under load."""
    words = {"name": "it", "at": "1200ms", "for": "3s", "edges": edges}
    with traffic(real.bootstrap, topic, partitions=3):
        (record,) = run(cluster, view, words | KINDS[kind])
    return record


def edges_to_the_node(cluster: DockerCluster) -> list[Edge]:
    return [edge for edge in cluster.mesh.edges if edge.target == NODE]


class Starving(Ignoring):
    """Where edges should be slowed, the node gets a tenth of a processor, until they are mended."""

    def __init__(self, real: DockerCluster) -> None:
        super().__init__(real)
        self.starved = real

    @property
    def mesh(self) -> Any:
        return StarvingMesh(self.starved)


class StarvingMesh(Ignoring):
    """Its edges."""

    def __init__(self, real: DockerCluster) -> None:
        super().__init__(real.mesh)
        self.starved = real

    def impair(self, *_: object, **__: object) -> None:
        self.starved.limit_cpu(NODE, 0.1)

    def mend(self, *_: object, **__: object) -> None:
        self.starved.limit_cpu(NODE, None)


@pytest.mark.parametrize("edges", [f"all <-> node {NODE}", f"client -> node {NODE}"])
@EACH_KIND
def test_that_a_node_becomes_slow_is_no_evidence(
    cluster: DockerCluster, view: ClusterView, make_topic: Callable[..., str], kind: str, edges: str
) -> None:
    """It is starved when its edges should be slowed, which they are not, and is quick again afterwards."""
    topic = make_topic(partitions=3)
    try:
        record = around_the_node(Starving(cluster), cluster, view, topic, kind, edges)
        assert cluster.cpu_limit(NODE) is None, "it was healed"
    finally:
        cluster.limit_cpu(NODE, None)
    assert not record.proven, record.evidence


@EACH_KIND
def test_a_node_that_has_just_started_hides_no_fault(
    cluster: DockerCluster, view: ClusterView, make_topic: Callable[..., str], kind: str
) -> None:
    """Its code is not compiled yet, and it works through what it has missed."""
    topic, edges = make_topic(partitions=3), edges_to_the_node(cluster)
    cluster.kill(NODE)
    cluster.start(NODE)
    deadline = time.monotonic() + 60
    while cluster.mesh.probe(edges, within_s=1) != frozenset(edges):
        assert time.monotonic() < deadline
    record = around_the_node(cluster, cluster, view, topic, kind)
    assert record.proven, record.evidence
    assert record.recovered, record.evidence
