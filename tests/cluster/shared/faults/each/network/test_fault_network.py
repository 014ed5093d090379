"""Bad connections and named cuts on a real cluster under load: proven, felt, and gone after healing."""

import json
import time
from collections.abc import Callable, Mapping

import pytest

from compose.cluster.start import DockerCluster
from compose.kafka.view import ClusterView
from faults.schedule.record import FaultEvent, FaultRecord
from shared.faults.fault_runs import run
from shared.faults.fault_traffic import traffic
from shared.partitions import partition

PARTITIONS = 3

BANDWIDTH = {"do": "bandwidth", "rate": "20KB/s"}
SLICING = {"do": "slicing", "size": "100B", "delay": "5ms"}
LATENCY = {"do": "latency", "delay": "300ms", "jitter": "50ms"}
RESET = {"do": "reset"}
HALF_OPEN = {"do": "partition", "mode": "blackhole"}


def step(topic: str, words: Mapping[str, str], *, seconds: float = 4) -> dict[str, str]:
    """A step against the followers' fetches, if the words name no other edges."""
    edges = f"followers({topic}-0) -> leader({topic}-0)"
    return {"name": "it", "at": "1500ms", "for": f"{seconds}s", "edges": edges, **words}


def ran(
    cluster: object, real: DockerCluster, view: ClusterView, topic: str, words: Mapping[str, str]
) -> FaultRecord:
    """The record of one step under load."""
    with traffic(real.bootstrap, topic, partitions=PARTITIONS):
        (record,) = run(cluster, view, words)
    return record


@pytest.mark.parametrize("words", [LATENCY, BANDWIDTH, SLICING, RESET], ids=lambda words: words["do"])
def test_each_is_proven_of_requests_too(
    cluster: DockerCluster,
    view: ClusterView,
    make_topic: Callable[..., str],
    words: dict[str, str],
) -> None:
    """On the followers' fetches, soon after its injection."""
    topic = make_topic(partitions=PARTITIONS)
    record = ran(cluster, cluster, view, topic, step(topic, words | {"direction": "to"}))
    assert record.proven, record.evidence
    assert record.recovered, record.evidence
    assert record.effect_ns - record.inject_ns < 3_000_000_000
    assert len(record.edges) == 2
    assert cluster.mesh.disturbed() == {}


@pytest.mark.parametrize("words", [BANDWIDTH, SLICING, RESET], ids=lambda words: words["do"])
def test_around_a_node_each_is_proven_on_every_edge(
    cluster: DockerCluster, view: ClusterView, make_topic: Callable[..., str], words: dict[str, str]
) -> None:
    """Those of clients, peers and controllers; quiet ones too."""
    topic = make_topic(partitions=PARTITIONS)
    around = {"edges": "all <-> node 2"}
    record = ran(cluster, cluster, view, topic, step(topic, words | around))
    assert len(record.edges) == 1 + 2 + 2 + 3
    assert record.proven, record.evidence
    assert record.recovered, record.evidence


@pytest.mark.parametrize(("direction", "end"), [("to", "proxy"), ("from", "target")])
def test_one_way_follower_fetch(
    cluster: DockerCluster, view: ClusterView, make_topic: Callable[..., str], direction: str, end: str
) -> None:
    """Lost requests and lost answers alike cost a follower its place in the ISR, and it returns."""
    topic, shrunk = make_topic(partitions=PARTITIONS), list[tuple[int, ...]]()

    def wait_for_the_leader_alone(event: FaultEvent) -> None:
        print(event)
        deadline = time.monotonic() + 15
        while event.stage == "effect" and time.monotonic() < deadline:
            shrunk.append(partition(view, topic).isr)
            if len(shrunk[-1]) == 1:
                return
            time.sleep(0.1)

    words = step(topic, HALF_OPEN | {"direction": direction}, seconds=12)
    with traffic(cluster.bootstrap, topic, partitions=PARTITIONS):
        (record,) = run(cluster, view, words, on_event=wait_for_the_leader_alone)
    assert (record.proven, record.recovered) == (True, True), record.evidence
    ends = json.loads(record.evidence)["effect"]["requests_come_to"]
    assert ends == dict.fromkeys(record.edges, end)
    assert len(shrunk[-1]) == 1
    assert len(partition(view, topic).isr) == 3


NAMED = {
    "split controllers": 4,
    "split node 1 | nodes 2+3": 4,
    "bridge active controller between controllers": 2,
    "bridge node 2 between brokers": 2,
    "ring nodes": 11,
    "client -> leader({topic}-0)": 1,
}
"""How many edges of three brokers and three controllers each cuts."""


@pytest.mark.parametrize(("edges", "count"), NAMED.items())
def test_named_cuts(
    cluster: DockerCluster, view: ClusterView, make_topic: Callable[..., str], edges: str, count: int
) -> None:
    """Each is proven on all of its edges, and the cluster is whole afterwards."""
    topic = make_topic(partitions=PARTITIONS)
    words = step(topic, {"do": "partition", "edges": edges.format(topic=topic)}, seconds=3)
    record = ran(cluster, cluster, view, topic, words)
    assert len(record.edges) == count
    assert record.proven, record.evidence
    assert record.recovered, record.evidence


def test_an_edge_is_narrow_and_reset_at_once(
    cluster: DockerCluster, view: ClusterView, make_topic: Callable[..., str]
) -> None:
    """Faults that overlap on one edge are all healed, the one that began first after the others too."""
    topic = make_topic(partitions=PARTITIONS)
    narrow = step(topic, BANDWIDTH | {"name": "narrow"}, seconds=9)
    reset = step(topic, RESET | {"name": "reset", "at": "4500ms"}, seconds=3)
    with traffic(cluster.bootstrap, topic, partitions=PARTITIONS):
        first, second = run(cluster, view, narrow, reset)
    assert (first.proven, second.proven) == (True, True), (first.evidence, second.evidence)
    assert (first.recovered, second.recovered) == (True, True), (first.evidence, second.evidence)
    assert cluster.mesh.disturbed() == {}


@pytest.mark.parametrize("late_at", ["1500ms", "4600ms"], ids=["late before", "late since"])
@pytest.mark.parametrize("words", [BANDWIDTH, SLICING], ids=lambda words: words["do"])
def test_an_edge_is_late_and_slow(
    cluster: DockerCluster,
    view: ClusterView,
    make_topic: Callable[..., str],
    words: dict[str, str],
    late_at: str,
) -> None:
    """Each is proven by what it adds, though slow bytes pass while late ones are waited for."""
    topic = make_topic(partitions=PARTITIONS)
    slow = step(topic, words | {"name": "slow", "at": "4500ms"}, seconds=5)
    late = step(topic, LATENCY | {"name": "late", "at": late_at}, seconds=9)
    with traffic(cluster.bootstrap, topic, partitions=PARTITIONS):
        records = run(cluster, view, slow, late)
    assert [record.proven for record in records] == [True, True], [each.evidence for each in records]
    assert [record.recovered for record in records] == [True, True], [each.evidence for each in records]
    assert cluster.mesh.disturbed() == {}
