"""Power loss of real controllers: their metadata log is flushed, so that they come back with all of it."""

import json
from collections.abc import Callable

import pytest

from compose.cluster.start import DockerCluster
from compose.kafka.view import ClusterView
from shared.faults.fault_runs import run
from shared.faults.fault_traffic import traffic, wait_for_acks

POWER = {"name": "power", "at": "1500ms", "do": "power-loss", "for": "1s"}


@pytest.mark.parametrize("target", ["active controller", "controllers"])
def test_controllers_lose_their_power(
    cluster: DockerCluster, view: ClusterView, make_topic: Callable[..., str], target: str
) -> None:
    """The quorum comes back, and knows what it knew: the topic, its leaders, its brokers."""
    topic = make_topic(partitions=3)
    before = {state.partition: state.leader_epoch for state in view.describe(topic)}
    with traffic(cluster.bootstrap, topic, partitions=3) as acked:
        (power,) = run(cluster, view, POWER | {"target": target})
        wait_for_acks(acked, 100)
    assert power.proven, power.evidence
    assert power.recovered, power.evidence
    assert set(power.nodes) <= set(cluster.controllers)
    assert power.down == power.unclean == power.nodes
    effect = json.loads(power.evidence)["effect"]
    assert set(effect["exit_codes"].values()) == {137}
    assert effect["reads_failed_with"] == {str(node): ["Input/output error"] for node in power.nodes}
    assert cluster.active_controller() in cluster.controllers
    after = {state.partition: state.leader_epoch for state in view.describe(topic)}
    assert all(after[partition] >= epoch for partition, epoch in before.items())
    make_topic()  # a quorum that cannot append could not make one
