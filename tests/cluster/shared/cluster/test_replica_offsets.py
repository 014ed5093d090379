"""How far each replica's log reaches, while followers are cut off and the leader goes on alone."""

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
from fakes.waiting import until

from compose.cluster.start import DockerCluster
from compose.kafka.view import ClusterView
from compose.protocols import Edge, PartitionOffsets
from shared.faults.fault_runs import run
from shared.partitions import partition
from workloads.observe.final_read import final_read
from workloads.plan import WorkloadPlan
from workloads.record.recorder import table_journal
from workloads.record.seal import seal
from workloads.run import start

MIN_ISR_2 = {"min.insync.replicas": "2"}
"""A leader alone in sync then leaves its high watermark where it is."""


def one_producer(topic: str) -> WorkloadPlan:
    return WorkloadPlan(topics={topic: 1}, producers=1, acks="1", rate_per_s=400.0, readers=0)


def offsets(view: ClusterView, topic: str) -> PartitionOffsets:
    found = view.with_offsets(partition(view, topic)).offsets
    assert found is not None
    return found


def rows(run_dir: Path, table: str) -> list[dict[str, Any]]:
    listed: list[dict[str, Any]] = pq.read_table(run_dir / f"history/{table}.parquet").to_pylist()
    return listed


def stays(samples: list[dict[str, Any]], broker: int, log_end: int, until_ns: int) -> bool:
    """Whether a replica's log ends there for a while, beyond `until_ns`, and nowhere else in between."""
    own = sorted((row["at_ns"], row["log_end"]) for row in samples if row["broker"] == broker)
    times = [at_ns for at_ns, end in own if end == log_end]
    between = {end for at_ns, end in own if times and times[0] <= at_ns <= times[-1]}
    return between == {log_end} and times[-1] > until_ns


def test_a_leader_alone_goes_beyond_its_high_watermark_and_the_followers_stay(
    cluster: DockerCluster, view: ClusterView, make_topic: Callable[..., str], tmp_path: Path
) -> None:
    topic = make_topic(config=MIN_ISR_2)
    plan, leader = one_producer(topic), partition(view, topic).leader
    followers = [broker for broker in cluster.brokers if broker != leader]
    fetches = [Edge(source=str(follower), target=leader) for follower in followers]
    with start(plan, cluster.bootstrap, tmp_path) as load:
        load.wait_warm()
        until(lambda: any(state.high_watermark > 200 for state in load.states()), 20)
        cluster.mesh.cut(fetches, mode="refuse", owner="test")
        time.sleep(1.0)
        cut_ns, before = time.monotonic_ns(), offsets(view, topic)
        until(lambda: offsets(view, topic).log_end(leader) > before.log_end(leader) + 1000, 20)
        apart, apart_ns = offsets(view, topic), time.monotonic_ns()
        cluster.mesh.mend(fetches, owner="test")
        load.stop_producers(within_s=30)
        view.wait_for_full_isr([topic], within_s=60)
        with table_journal(tmp_path, plan.partitions, "replica_offsets", of="final-read") as journal:
            (proof,) = final_read(
                cluster.bootstrap, plan.partitions, tmp_path / "history", within_s=60, replica_offsets=journal
            )
        load.stop()
    seal(tmp_path)
    assert apart.high_watermark == before.high_watermark < before.log_end(leader)
    stay = {follower: before.log_end(follower) for follower in followers}
    assert {follower: apart.log_end(follower) for follower in followers} == stay
    assert 0 < apart.high_watermark <= min(stay.values())
    assert (proof.complete, proof.reason) == (True, "")
    assert proof.log_end == proof.high_watermark == proof.last_stable >= apart.log_end(leader)
    samples = rows(tmp_path, "replica_offsets")
    assert {row["source"] for row in samples} == {"live"}
    newest = {row["broker"]: row["log_end"] for row in sorted(samples, key=lambda row: row["at_ns"])}
    assert newest == dict.fromkeys(cluster.brokers, proof.log_end)
    meanwhile = [row for row in samples if cut_ns < row["at_ns"] < apart_ns]
    assert all(stays(samples, follower, end, cut_ns) for follower, end in stay.items())
    alone = [row["log_end"] for row in meanwhile if row["broker"] == leader]
    assert len(set(alone)) >= 3
    assert alone == sorted(alone)
    watermarks = {row["at_ns"]: row["high_watermark"] for row in rows(tmp_path, "watermarks")}
    beside = [(watermarks[row["at_ns"]], row["log_end"]) for row in meanwhile if row["at_ns"] in watermarks]
    assert {high_watermark for high_watermark, _ in beside} == {apart.high_watermark}


def test_steps_wait_for_what_is_not_replicated(
    cluster: DockerCluster, view: ClusterView, make_topic: Callable[..., str], tmp_path: Path
) -> None:
    """Neither event comes while all replicas keep up; both come once the followers are cut off."""
    topic = make_topic(config=MIN_ISR_2)
    of = f"({topic}-0)"
    pause = {"do": "pause", "target": f"follower{of}", "for": "1s"}
    with start(one_producer(topic), cluster.bootstrap, tmp_path) as load:
        load.wait_warm()
        early, cut, beyond, behind = run(
            cluster,
            view,
            pause | {"when": f"hw{of} < leo - 300", "within": "3s"},
            {"at": "4s", "do": "partition", "edges": f"followers{of} -> leader{of}", "for": "8s"},
            pause | {"when": f"hw{of} < leo - 300"},
            pause | {"when": f"follower 2{of} behind by 600"},
        )
        load.stop_producers(within_s=30)
    assert early.inject_ns == -1
    assert "did not come within 3 s" in json.loads(early.evidence)["reason"]
    assert cut.proven, cut.evidence
    assert beyond.proven, beyond.evidence
    assert behind.proven, behind.evidence
    assert cut.inject_ns < beyond.inject_ns < behind.inject_ns < cut.heal_ns
    assert beyond.inject_ns - cut.inject_ns < 4_000_000_000
