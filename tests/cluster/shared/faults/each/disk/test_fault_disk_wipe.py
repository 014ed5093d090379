"""A wiped disk of a real broker: it comes back under its own id, empty, and fetches everything anew."""

import json
from collections.abc import Callable, Mapping

import pytest

from compose.cluster.start import DockerCluster
from compose.errors import NodeStateError
from compose.kafka.view import ClusterView
from faults.schedule.record import FaultEvent
from shared.faults.fault_runs import run
from shared.faults.fault_traffic import traffic, wait_for_acks
from shared.partitions import partition


def words(topic: str) -> Mapping[str, object]:
    """Against the leader, once there is load."""
    target = f"leader({topic}-0)"
    return {"name": "wipe", "at": "1500ms", "do": "disk-wipe", "target": target, "for": "1s"}


@pytest.mark.parametrize("disk", ["new", "emptied"])
def test_a_broker_whose_disk_is_gone(
    cluster: DockerCluster, view: ClusterView, make_topic: Callable[..., str], disk: str
) -> None:
    """Nothing of its log is left, another broker leads on, and in the end its own log is as long as that."""
    topic = make_topic()
    leader, left_bytes = partition(view, topic).leader, list[int]()

    def look(event: FaultEvent) -> None:
        print(event)
        if event.stage == "effect":
            left_bytes.append(cluster.log_bytes(leader))

    with traffic(cluster.bootstrap, topic, partitions=1) as acked:
        (wipe,) = run(cluster, view, {**words(topic), "disk": disk}, on_event=look)
        wait_for_acks(acked, 100)
    assert wipe.proven, wipe.evidence
    assert wipe.recovered, wipe.evidence
    assert (wipe.nodes, wipe.down, wipe.unclean, wipe.data_lost) == ((leader,),) * 4
    assert left_bytes == [0]
    before_bytes = json.loads(wipe.evidence)["effect"]["log_bytes_before"][str(leader)]
    assert cluster.log_bytes(leader) >= before_bytes
    before, after = (
        next(log for log in wipe.logs if log.source == source and log.topic == topic)
        for source in ("before-wipe", "after-wipe")
    )
    assert before.log_end > after.log_end == 0
    view.wait_for_full_isr([topic], within_s=10)
    found = partition(view, topic)
    assert set(found.isr) == set(cluster.brokers)
    held = dict(view.with_offsets(found).offsets.log_ends)  # type: ignore[union-attr]
    assert held[leader] == max(held.values()) > before.log_end  # the load went on without it


def test_a_disk_that_is_in_use_is_not_wiped(cluster: DockerCluster) -> None:
    """Nor is that of a controller, which would forget its vote."""
    with pytest.raises(NodeStateError, match="node 1 is running; only a broker that has exited can be wiped"):
        cluster.wipe(1, new=True)
    cluster.kill(103)
    with pytest.raises(NodeStateError, match="node 103 is exited; only a broker that has exited"):
        cluster.wipe(103, new=True)
