"""A log directory of a real broker that fails: the broker goes on, and has it again after a restart.

And other faults of one disk of a broker that has two.
"""

import json
import time
from collections.abc import Callable, Mapping
from typing import Any

import pytest
from shared.faults.fault_runs import run
from shared.faults.fault_traffic import traffic, wait_for_acks
from shared.faults.switched_off_runs import not_proven, proven_once_healed, with_effect_off

from compose.cluster.start import DockerCluster
from compose.errors import NodeStateError
from compose.kafka.view import ClusterView
from compose.protocols import ProcessEvent
from faults.schedule.record import FaultEvent, FaultRecord

PARTITIONS = 12
"""Each broker leads two in each of its directories."""
NODE, FIRST, SECOND = 1, "/data/kafka", "/data-2/kafka"
FAILURE = {"name": "disk", "at": "1500ms", "do": "log-dir-failure", "target": f"node {NODE}", "for": "8s"}


def second_of(cluster: DockerCluster, topic: str, *, within_s: float = 10.0) -> set[int]:
    """The partitions whose replica lies in the node's second directory, once it has all of the topic: a new
    one has a leader before every broker has made its logs."""
    deadline = time.monotonic() + within_s
    while True:
        first, second = (
            {number for name, number in cluster.log_ends(NODE, log_dir=each) if name == topic}
            for each in (1, 2)
        )
        if len(first | second) == PARTITIONS:
            return second
        assert time.monotonic() < deadline, f"{topic}: {first} and {second} after {within_s} s"
        time.sleep(0.1)


def with_traffic(
    cluster: DockerCluster,
    view: ClusterView,
    topic: str,
    words: Mapping[str, object],
    at_effect: Callable[[], object] = lambda: None,
) -> FaultRecord:
    """The record of a step under load, which goes on during the fault and after it."""

    def look(event: FaultEvent) -> None:
        print(event)
        if event.stage == "effect":
            at_effect()
            wait_for_acks(acked, 100)

    with traffic(cluster.bootstrap, topic, partitions=PARTITIONS) as acked:
        (record,) = run(cluster, view, words, on_event=look)
        wait_for_acks(acked, 100)
    assert record.proven, record.evidence
    assert record.recovered, record.evidence
    view.wait_for_full_isr([topic], within_s=30)
    return record


def effect(record: FaultRecord) -> dict[str, Any]:
    shown = json.loads(record.evidence)["effect"]
    assert isinstance(shown, dict)
    return shown


def test_a_topic_is_spread_over_both_directories(
    cluster: DockerCluster, view: ClusterView, make_topic: Callable[..., str]
) -> None:
    """The replicas, and those that are led: else a failure would show nothing."""
    topic = make_topic(partitions=PARTITIONS)
    second = second_of(cluster, topic)
    led = {state.partition for state in view.describe(topic) if state.leader == NODE}
    assert len(second) == PARTITIONS // 2
    assert led & second
    assert led - second
    assert view.log_dirs(NODE) == {FIRST: True, SECOND: True}


def test_a_broker_without_a_log_directory(
    cluster: DockerCluster, view: ClusterView, make_topic: Callable[..., str]
) -> None:
    """It is the same process, says that the directory is offline, leads and follows nothing of it, and goes
    on with the other one. Its restart, which is planned, brings the directory back."""
    topic, ends, seen = make_topic(partitions=PARTITIONS), list[ProcessEvent](), dict[str, Any]()
    second, life = second_of(cluster, topic), cluster.state(NODE)
    led = {state.partition for state in view.describe(topic) if state.leader == NODE}

    def look() -> None:
        seen["life"], seen["online"] = cluster.state(NODE), dict(view.log_dirs(NODE))
        seen["states"] = view.describe(topic)

    watch = cluster.watch(ends.append)
    try:
        failure = with_traffic(cluster, view, topic, FAILURE, look)
    finally:
        watch.close()
    assert (seen["life"].pid, seen["life"].started_at) == (life.pid, life.started_at)
    assert seen["online"] == {FIRST: True, SECOND: False}
    for state in seen["states"]:
        if state.partition in second:
            assert state.leader != NODE
            assert NODE not in state.isr
        else:
            assert NODE in state.isr
            assert (state.leader == NODE) is (state.partition in led)
    assert {each for each in failure.replicas if topic in each} == {
        f"{NODE}/{topic}-{number}" for number in second
    }
    moved = effect(failure)["leaders_moved"]
    assert {f"{topic}-{number}" for number in led & second} <= moved.keys()
    assert (failure.down, failure.unclean, failure.data_lost) == ((NODE,),) * 3
    ended = [event for event in ends if event.event == "exited"]
    assert [(event.node, event.planned, event.owner) for event in ended] == [(NODE, True, "disk")]
    assert view.log_dirs(NODE) == {FIRST: True, SECOND: True}
    assert second_of(cluster, topic) == second


def test_the_evidence_can_fail(
    cluster: DockerCluster, view: ClusterView, make_topic: Callable[..., str]
) -> None:
    """A directory that can be written is no evidence, nor is one that cannot be one of a recovery."""
    topic = make_topic(partitions=PARTITIONS)
    failure = with_effect_off(cluster, view, topic, "log-dir-failure", partitions=PARTITIONS)
    not_proven(failure)
    assert f"log directory 2 is online by the word of [{NODE}]" in json.loads(failure.evidence)["reason"]
    proven_once_healed(cluster, view, topic, "log-dir-failure", partitions=PARTITIONS)


def test_the_directory_with_the_metadata_log_does_not_fail_this_way(cluster: DockerCluster) -> None:
    """Nor that of a node that is down, nor one that there is not."""
    for number in (1, 3):
        with pytest.raises(NodeStateError, match="has 2 log directories; only a running node can lose one"):
            cluster.fail_log_dir(NODE, log_dir=number)
    with pytest.raises(NodeStateError, match="has 1 log directories"):
        cluster.fail_log_dir(101, log_dir=2)
    cluster.kill(NODE)
    with pytest.raises(NodeStateError, match=f"node {NODE} is exited"):
        cluster.fail_log_dir(NODE, log_dir=2)


def test_a_broker_with_a_full_log_directory(
    cluster: DockerCluster, view: ClusterView, make_topic: Callable[..., str]
) -> None:
    """It goes on as well, and has lost nothing that was written."""
    topic, room_bytes = make_topic(partitions=PARTITIONS), list[int]()
    life, lives = cluster.state(NODE), list[Any]()

    def look() -> None:
        room_bytes.extend(cluster.room_bytes(NODE, log_dir=number) for number in (1, 2))
        lives.append(cluster.state(NODE))

    words = {**FAILURE, "name": "full", "do": "disk-full", "log_dir": 2, "for": "12s"}
    full = with_traffic(cluster, view, topic, words, look)
    assert (lives[0].pid, lives[0].started_at) == (life.pid, life.started_at)
    assert room_bytes[0] > 0
    assert room_bytes[1] == 0
    assert (full.down, full.unclean, full.data_lost) == ((NODE,), (NODE,), ())
    assert effect(full)["offline"] == {str(NODE): SECOND}
    assert cluster.room_bytes(NODE, log_dir=2) > 0


def test_a_broker_whose_log_directory_is_replaced(
    cluster: DockerCluster, view: ClusterView, make_topic: Callable[..., str]
) -> None:
    """What lay there is fetched anew, what lay in the other one is still there."""
    topic, left = make_topic(partitions=PARTITIONS), list[int]()

    def look() -> None:
        left.extend(cluster.log_bytes(NODE, log_dir=number) for number in (1, 2))

    words = {**FAILURE, "name": "wipe", "do": "disk-wipe", "log_dir": 2, "for": "1s"}
    wipe = with_traffic(cluster, view, topic, words, look)
    assert left[0] > 0
    assert left[1] == 0
    gone = {log.partition for log in wipe.logs if (log.topic, log.source) == (topic, "after-wipe")}
    assert {f"{NODE}/{topic}-{number}" for number in gone} == {
        each for each in wipe.replicas if topic in each
    }
    assert len(gone) == PARTITIONS // 2


def test_a_broker_that_waits_for_one_of_its_log_directories(
    cluster: DockerCluster, view: ClusterView, make_topic: Callable[..., str]
) -> None:
    topic = make_topic(partitions=PARTITIONS)
    with traffic(cluster.bootstrap, topic, partitions=PARTITIONS):
        words = {**FAILURE, "name": "stall", "do": "disk-stall", "log_dir": 2, "for": "3s"}
        (stall,) = run(cluster, view, words)
    assert stall.proven, stall.evidence
    assert stall.recovered, stall.evidence
    assert not cluster.is_frozen(NODE)


def test_a_broker_that_loses_its_power_loses_what_was_unsynced_in_both(
    cluster: DockerCluster, view: ClusterView, make_topic: Callable[..., str]
) -> None:
    topic = make_topic(partitions=PARTITIONS)
    second = second_of(cluster, topic)
    words = {**FAILURE, "name": "power", "do": "power-loss", "for": "6s"}
    power = with_traffic(cluster, view, topic, words)
    assert (power.down, power.unclean, power.data_lost, power.replicas) == (*((NODE,),) * 3, ())
    its = [log for log in power.logs if log.topic == topic]
    before, after = (
        {log.partition: log.log_end for log in its if log.source == source}
        for source in ("before-power-loss", "after-power-loss")
    )
    lost = {number for number in before if after.get(number, 0) < before[number]}
    assert lost & second
    assert lost - second


def test_the_replicas_of_both_directories_are_copied(
    cluster: DockerCluster, make_topic: Callable[..., str], tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Each to a folder of its own."""
    topic, into = make_topic(partitions=PARTITIONS), tmp_path_factory.mktemp("replicas")
    second = second_of(cluster, topic)
    cluster.kill(NODE)
    saved = cluster.save_replicas([topic], into)
    assert saved[NODE] == ""
    copied = {
        label: {int(path.name.rpartition("-")[2]) for path in (into / label).glob(f"{topic}-*")}
        for label in (f"{NODE}", f"{NODE}-2")
    }
    assert copied == {f"{NODE}": set(range(PARTITIONS)) - second, f"{NODE}-2": second}
