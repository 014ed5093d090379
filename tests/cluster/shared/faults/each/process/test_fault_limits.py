"""A broker with less processor time, or memory, than it wants: counted by the kernel, and over after it."""

import json
import time
from collections.abc import Callable, Mapping

from compose.cluster.start import DockerCluster
from compose.kafka.view import ClusterView
from faults.schedule.record import FaultEvent
from shared.faults.fault_runs import run
from shared.faults.fault_traffic import traffic, wait_for_acks
from shared.partitions import partition

CPU: Mapping[str, object] = {"name": "cpu", "do": "cpu-limit", "cpus": "0.1", "for": "6s"}


def step(words: Mapping[str, object], topic: str) -> Mapping[str, object]:
    """Against the leader, once there is load."""
    return {"at": "1500ms", "target": f"leader({topic}-0)"} | words


def test_a_broker_with_a_tenth_of_a_processor(
    cluster: DockerCluster, view: ClusterView, make_topic: Callable[..., str]
) -> None:
    """It uses no more than that while the limit holds, and more before and after."""
    topic, used = make_topic(), list[float]()

    def measure(event: FaultEvent) -> None:
        print(event)
        if event.stage == "effect":
            used.append(processors(cluster, event.nodes[0], for_s=2.0))

    with traffic(cluster.bootstrap, topic, partitions=1) as acked:
        (cpu,) = run(cluster, view, step(CPU, topic), on_event=measure)
        wait_for_acks(acked, 100)
    assert cpu.proven, cpu.evidence
    assert cpu.recovered, cpu.evidence
    (node,) = cpu.nodes
    assert 0.0 < used[0] <= 0.15
    assert json.loads(cpu.evidence)["effect"]["waited_s"][str(node)] >= 0.05
    assert cluster.cpu_limit(node) is None
    waited_ns = cluster.throttled_ns(node)
    time.sleep(1)
    assert cluster.throttled_ns(node) == waited_ns


def processors(cluster: DockerCluster, node: int, *, for_s: float) -> float:
    """How many processors the node uses on average."""
    begin_ns, began_s = cluster.cpu_ns(node), time.monotonic()
    time.sleep(for_s)
    return (cluster.cpu_ns(node) - begin_ns) / 1e9 / (time.monotonic() - began_s)


def test_a_limit_that_nobody_waits_for_is_no_evidence(
    cluster: DockerCluster, view: ClusterView, make_topic: Callable[..., str]
) -> None:
    """It is above what the node uses."""
    topic = make_topic()
    with traffic(cluster.bootstrap, topic, partitions=1):
        (ample,) = run(cluster, view, step({**CPU, "cpus": "8", "for": "2s"}, topic))
    assert not ample.proven, ample.evidence
    assert ample.recovered, ample.evidence


def test_a_limit_outlives_a_restart_and_ends_with_the_healing(
    cluster: DockerCluster, view: ClusterView, make_topic: Callable[..., str]
) -> None:
    topic = make_topic()
    kill = {"do": "kill", "target": "node 1", "after": "previous.begin + 2s", "for": "1s"}
    with traffic(cluster.bootstrap, topic, partitions=1):
        cpu, killed = run(cluster, view, {**CPU, "at": "1s", "target": "node 1", "for": "5s"}, kill)
    assert (cpu.proven, cpu.recovered) == (True, True), cpu.evidence
    assert (killed.proven, killed.recovered) == (True, True), killed.evidence
    assert cluster.cpu_limit(1) is None


SPARE_MIB = 96
"""For a heap that still grows. What is written fills it within 10 s."""


def test_a_broker_with_hardly_any_cache(
    cluster: DockerCluster, view: ClusterView, make_topic: Callable[..., str]
) -> None:
    """10 MB a second are written: the leader meets a limit somewhat above what it holds itself, lives,
    and has none afterwards."""
    topic = make_topic()
    leader = partition(view, topic).leader
    with traffic(cluster.bootstrap, topic, partitions=1, record_bytes=40_000) as acked:
        wait_for_acks(acked, 1000)  # the young generation of the heap is in use as a whole
        mib = (cluster.memory_use(leader).held_bytes >> 20) + SPARE_MIB
        words = {"name": "memory", "do": "memory-limit", "memory": f"{mib}MiB", "for": "15s"}
        (memory,) = run(cluster, view, step(words, topic))
        wait_for_acks(acked, 100)
        met = cluster.memory_use(leader).limit_met
        wait_for_acks(acked, 300)
        assert cluster.memory_use(leader).limit_met == met
    assert memory.proven, memory.evidence
    assert memory.recovered, memory.evidence
    assert memory.down == ()
    assert json.loads(memory.evidence)["effect"]["limit_mib"] == mib
    assert cluster.memory_limit(leader) is None


def test_a_limit_that_would_end_the_broker_is_refused(
    cluster: DockerCluster, view: ClusterView, make_topic: Callable[..., str]
) -> None:
    """A broker holds more than 128 MiB; nothing is limited."""
    words = {"name": "memory", "do": "memory-limit", "memory": "128MiB", "for": "2s"}
    (memory,) = run(cluster, view, step(words, make_topic()))
    assert "128 MiB would end node" in json.loads(memory.evidence)["reason"]
    assert [cluster.memory_limit(node) for node in cluster.brokers] == [None, None, None]
