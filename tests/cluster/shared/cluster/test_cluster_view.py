"""What the brokers report of topics, asked one by one."""

from collections.abc import Callable

import pytest

from compose.cluster.start import DockerCluster
from compose.errors import ViewError
from compose.kafka.view import ClusterView
from shared.partitions import partition


def test_new_topic(view: ClusterView, make_topic: Callable[..., str]) -> None:
    """A settled topic has a leader, all replicas in sync and an epoch for each partition."""
    topic = make_topic(partitions=3)
    states = view.describe(topic)
    assert [state.partition for state in states] == [0, 1, 2]
    assert {state.leader for state in states} == {1, 2, 3}
    assert all(state.isr == (1, 2, 3) == tuple(sorted(state.replicas)) for state in states)
    assert all(state.leader_epoch == 0 for state in states)
    assert view.leaders()[(topic, 0)] == partition(view, topic).leader


def test_silent_broker(cluster: DockerCluster, view: ClusterView, make_topic: Callable[..., str]) -> None:
    """With one broker cut off the others answer, but nothing is settled while a live broker is silent."""
    topic = make_topic()
    cut = [edge for edge in cluster.mesh.edges if str(edge) == "client->2"]
    cluster.mesh.cut(cut, mode="blackhole", owner="test")
    assert partition(view, topic).isr == (1, 2, 3)
    with pytest.raises(ViewError, match=r"no answer from \[2\]"):
        view.wait_until_settled(topic, within_s=3)
    cluster.mesh.mend(cut, owner="test")
    view.wait_until_settled(topic, within_s=10)


def test_unknown_topic(view: ClusterView) -> None:
    """A topic that nobody knows has no partitions and no full ISR."""
    assert view.describe("nowhere") == ()
    with pytest.raises(ViewError, match="no broker that answers knows nowhere"):
        view.wait_for_full_isr(["nowhere"], within_s=0.2)
