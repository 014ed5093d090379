"""Every kind of fault on a real cluster that is not changed, or not healed: then nothing is proven.

Those that need a cluster of their own are beside the other tests of that: log_directories, clock,
test_rolling_upgrade.py.
"""

from collections.abc import Callable

import pytest
from fakes.run.switched_off import SWITCHED_OFF
from fakes.world.ignoring import Ignoring

from compose.cluster.start import DockerCluster
from compose.kafka.view import ClusterView
from shared.faults.fault_runs import run
from shared.faults.fault_traffic import traffic
from shared.faults.switched_off_runs import (
    PARTITIONS,
    not_proven,
    proven_once_healed,
    with_effect_off,
)

HERE = {name: off for name, off in SWITCHED_OFF.items() if off.where == "shared"}
PARTLY = [name for name, off in HERE.items() if off.is_partial]
HEALED = [name for name, off in HERE.items() if off.recovery]
WHOLLY = {name: off for name, off in HERE.items() if not off.is_partial}
TOGETHER = {
    "edges": [name for name, off in WHOLLY.items() if "edges" in off.words],
    "nodes": [name for name, off in WHOLLY.items() if "target" in off.words],
    "cluster": [name for name, off in WHOLLY.items() if not {"edges", "target"} & off.words.keys()],
}
"""By what they hit. Nothing happens to the cluster, so they are injected all at once."""


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A roll does not wait for long for a broker that will not end, or not start."""
    monkeypatch.setattr("faults.kinds.process.roll.PATIENCE_S", 3.0)


@pytest.mark.parametrize("hits", TOGETHER)
def test_what_does_not_reach_the_cluster_is_not_proven(
    cluster: DockerCluster, view: ClusterView, make_topic: Callable[..., str], hits: str
) -> None:
    """Whatever the calls returned. The edges to a node that is not ended stay open too."""
    topic = make_topic(partitions=PARTITIONS, config={"min.insync.replicas": "2"})
    calls = {call for name in TOGETHER[hits] for call in HERE[name].effect}
    steps = [
        step
        for name in TOGETHER[hits]
        for step in HERE[name].steps(name.replace(" ", "-"), topic, memory="2GiB")
    ]
    with traffic(cluster.bootstrap, topic, partitions=PARTITIONS):
        records = run(Ignoring(cluster, "cut", *calls), view, *steps)
    assert len(records) == len(TOGETHER[hits])
    for record in records:
        not_proven(record)


@pytest.mark.parametrize("name", PARTLY)
def test_without_what_makes_it_that_fault_it_is_not_proven(
    cluster: DockerCluster, view: ClusterView, make_topic: Callable[..., str], name: str
) -> None:
    """As a power loss after which everything is on the disk."""
    topic = make_topic(partitions=PARTITIONS, config=HERE[name].settings)
    not_proven(with_effect_off(cluster, view, topic, name))


@pytest.mark.parametrize("name", HEALED)
def test_what_is_not_healed_has_not_recovered(
    cluster: DockerCluster, view: ClusterView, make_topic: Callable[..., str], name: str
) -> None:
    """Its effect is proven. What heals it is done a while after it should have been, and only then does the
    recovery come."""
    topic = make_topic(partitions=PARTITIONS, config=HERE[name].settings)
    proven_once_healed(cluster, view, topic, name)
    assert cluster.mesh.disturbed() == {}
