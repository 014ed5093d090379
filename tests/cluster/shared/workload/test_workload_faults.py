"""What the load records while a leader dies: nothing lost with acks=all, what was lost with less."""

import time
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow.dataset as ds
from fakes.waiting import until

from compose.cluster.start import DockerCluster
from compose.kafka.view import ClusterView
from compose.protocols import Edge
from shared.partitions import partition
from workloads.observe.final_read import final_read
from workloads.plan import WorkloadPlan
from workloads.record.seal import seal
from workloads.run import Workload, start

OK = 0
MIN_ISR_2 = {"min.insync.replicas": "2"}


def rows(run: Path, table: str) -> list[dict[str, Any]]:
    listed: list[dict[str, Any]] = ds.dataset(run / "history" / table).to_table().to_pylist()
    return listed


def kill(cluster: DockerCluster, broker: int) -> None:
    """SIGKILL, and close every edge to the broker: the proxy in front of it would still accept."""
    cluster.kill(broker)
    cluster.mesh.cut([e for e in cluster.mesh.edges if e.target == broker], mode="refuse", owner="kill")


def revive(cluster: DockerCluster, view: ClusterView, broker: int, topic: str) -> None:
    cluster.start(broker)
    cluster.mesh.mend_all()
    view.wait_for_full_isr([topic], within_s=60)


def finish(load: Workload, cluster: DockerCluster, plan: WorkloadPlan, run: Path) -> set[tuple[int, int]]:
    """End the load, read to a proven end, seal; the ids in the final log."""
    load.stop_producers(within_s=30)
    proofs = final_read(cluster.bootstrap, plan.partitions, run / "history", within_s=60)
    assert [proof.reason for proof in proofs] == [""] * len(proofs)
    load.stop()
    seal(run)
    return {(r["producer"], r["sequence"]) for r in rows(run, "final_log")}


def test_with_acks_all_a_killed_leader_costs_no_acknowledged_record(
    cluster: DockerCluster, view: ClusterView, make_topic: Any, tmp_path: Path
) -> None:
    topic = make_topic(partitions=3, config=MIN_ISR_2)
    plan = WorkloadPlan(topics={topic: 3}, producers=2, rate_per_s=1000.0, readers=1)
    leader = partition(view, topic).leader
    with start(plan, cluster.bootstrap, tmp_path) as load:
        load.wait_warm()
        kill(cluster, leader)
        killed_ns = time.monotonic_ns()
        until(lambda: load.stats().last_ack_ns[plan.partitions[0]] > killed_ns + 1_000_000_000, 30)
        revive(cluster, view, leader, topic)
        log = finish(load, cluster, plan, tmp_path)
    sends = rows(tmp_path, "sends")
    assert max(Counter((s["producer"], s["sequence"]) for s in sends).values()) == 1
    lost = [s for s in sends if s["outcome"] == OK and (s["producer"], s["sequence"]) not in log]
    assert lost == []
    reads = [r for r in rows(tmp_path, "reads") if r["partition"] == 0]
    assert max(r["leader_epoch"] for r in reads) > min(r["leader_epoch"] for r in reads)
    by_generation: dict[int, list[int]] = {}
    for read in reads:
        by_generation.setdefault(read["generation"], []).append(read["offset"])
    assert all(offsets == sorted(set(offsets)) for offsets in by_generation.values())


def test_a_reader_of_a_truncated_log_goes_back_and_reads_what_replaced_the_lost_records(
    cluster: DockerCluster, view: ClusterView, make_topic: Any, tmp_path: Path
) -> None:
    """The leader is alone in sync, exposes what only it has, dies, and a stale follower is elected."""
    topic = make_topic(config={"min.insync.replicas": "1", "unclean.leader.election.enable": "true"})
    leader = partition(view, topic).leader
    fetches = [Edge(source=str(b), target=leader) for b in cluster.brokers if b != leader]
    plan = WorkloadPlan(topics={topic: 1}, producers=1, rate_per_s=1000.0, readers=1)
    with start(plan, cluster.bootstrap, tmp_path) as load:
        load.wait_warm()
        cluster.mesh.cut(fetches, mode="refuse", owner="test")
        until(lambda: partition(view, topic).isr == (leader,), 30)
        time.sleep(2.0)
        kill(cluster, leader)
        killed_ns = time.monotonic_ns()
        cluster.mesh.mend(fetches, owner="test")
        until(lambda: load.stats().last_ack_ns[plan.partitions[0]] > killed_ns + 3_000_000_000, 60)
        revive(cluster, view, leader, topic)
        finish(load, cluster, plan, tmp_path)
    final = {r["offset"]: (r["producer"], r["sequence"]) for r in rows(tmp_path, "final_log")}
    reads = rows(tmp_path, "reads")
    replaced = [r for r in reads if final.get(r["offset"]) != (r["producer"], r["sequence"])]
    assert len(replaced) > 500
    assert {r["generation"] for r in replaced} == {1}
    assert max(r["generation"] for r in reads) >= 2
    for generation in {r["generation"] for r in reads}:
        offsets = [r["offset"] for r in reads if r["generation"] == generation]
        assert offsets == list(range(offsets[0], offsets[0] + len(offsets)))
    later = {r["offset"] for r in reads if r["generation"] > 1}
    assert {r["offset"] for r in replaced} & final.keys() <= later
