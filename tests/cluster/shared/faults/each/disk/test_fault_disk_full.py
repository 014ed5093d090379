"""A full disk of a real broker: it halts by itself, others lead on, and it comes back when there is room."""

import json
from collections.abc import Callable, Mapping

from compose.cluster.start import DockerCluster
from compose.kafka.view import ClusterView
from compose.protocols import ProcessEvent
from faults.schedule.record import FaultEvent
from shared.faults.fault_runs import run
from shared.faults.fault_traffic import traffic, wait_for_acks
from shared.partitions import partition


def words(topic: str) -> Mapping[str, object]:
    """Against the leader, once there is load."""
    target = f"leader({topic}-0)"
    return {"name": "full", "at": "1500ms", "do": "disk-full", "target": target, "for": "8s"}


def test_a_broker_without_room(
    cluster: DockerCluster, view: ClusterView, make_topic: Callable[..., str]
) -> None:
    """It halts, which is a planned end; the others acknowledge; and once there is room it catches up."""
    topic, ends = make_topic(), list[ProcessEvent]()
    leader, room_bytes = partition(view, topic).leader, list[int]()

    def look(event: FaultEvent) -> None:
        print(event)
        if event.stage == "effect":
            room_bytes.append(cluster.room_bytes(leader))
            wait_for_acks(acked, 100)

    watch = cluster.watch(ends.append)
    try:
        with traffic(cluster.bootstrap, topic, partitions=1) as acked:
            (full,) = run(cluster, view, words(topic), on_event=look)
            wait_for_acks(acked, 100)
    finally:
        watch.close()
    assert full.proven, full.evidence
    assert full.recovered, full.evidence
    assert (full.nodes, full.down, full.unclean, full.data_lost) == (*((leader,),) * 3, ())
    assert room_bytes == [0]
    assert json.loads(full.evidence)["effect"]["exit_codes"] == {str(leader): 1}
    ended = [event for event in ends if event.event == "exited"]
    assert [(event.node, event.planned, event.owner) for event in ended] == [(leader, True, "full")]
    assert abs(ended[0].at_ns - full.down_ns[0]) < 2_000_000_000
    assert cluster.room_bytes(leader) > 0
    view.wait_for_full_isr([topic], within_s=30)


def test_a_broker_gets_none_of_what_becomes_free(
    cluster: DockerCluster, view: ClusterView, make_topic: Callable[..., str]
) -> None:
    """All that was taken becomes free as soon as it is taken: it is taken again, and the broker halts."""
    topic = make_topic()
    leader = partition(view, topic).leader
    freed = list[int]()

    def look(event: FaultEvent) -> None:
        print(event)
        if event.stage == "injected":
            cluster.free_up(leader)
            freed.append(cluster.room_bytes(leader))

    with traffic(cluster.bootstrap, topic, partitions=1):
        (full,) = run(cluster, view, words(topic), on_event=look)
    assert full.proven, full.evidence
    assert full.recovered, full.evidence
    assert full.down == (leader,)
    assert freed[0] > 1 << 20, "it had none of what was taken"
    view.wait_for_full_isr([topic], within_s=30)


def test_a_disk_is_filled_and_freed(cluster: DockerCluster) -> None:
    """That of a node that is down: nothing else writes to it."""
    cluster.kill(1)
    before_bytes = cluster.room_bytes(1)
    cluster.fill_up(1)
    cluster.fill_up(1)
    assert cluster.room_bytes(1) == 0
    cluster.free_up(1)
    cluster.free_up(1)
    assert cluster.room_bytes(1) >= before_bytes - (1 << 20)
