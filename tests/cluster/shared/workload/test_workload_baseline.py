"""The load on a real cluster without faults: every send ends once, and is where it was acknowledged to be."""

import time
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

from checkers.history.rows import TopicPartition
from compose.cluster.start import DockerCluster
from compose.kafka.view import ClusterView
from shared.partitions import partition
from workloads.observe.final_read import final_read, write_proofs
from workloads.plan import WorkloadPlan
from workloads.record.seal import seal
from workloads.run import Workload, start

OK = 0


def rows(run: Path, table: str) -> list[dict[str, Any]]:
    listed: list[dict[str, Any]] = ds.dataset(run / "history" / table).to_table().to_pylist()
    return listed


def baseline(load: Workload, seconds: float) -> None:
    load.wait_warm(within_s=30)
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        load.check()
        time.sleep(0.1)


@pytest.mark.parametrize("acks", ["all", "1", "0"])
def test_every_send_has_one_outcome_and_every_acknowledged_one_is_in_the_final_log(
    cluster: DockerCluster, make_topic: Any, tmp_path: Path, acks: Any
) -> None:
    topic = make_topic(partitions=3, config={"min.insync.replicas": "2"})
    plan = WorkloadPlan(topics={topic: 3}, producers=2, acks=acks, rate_per_s=2000.0, readers=1)
    with start(plan, cluster.bootstrap, tmp_path) as load:
        baseline(load, 2.0)
        load.stop_producers()
        stats = load.stats()
        proofs = final_read(cluster.bootstrap, plan.partitions, tmp_path / "history", within_s=30)
    write_proofs(tmp_path / "history", proofs)
    sealed = seal(tmp_path)

    sends = rows(tmp_path, "sends")
    assert sealed.sends == len(sends) == stats.sent > 3000
    assert max(Counter((s["producer"], s["sequence"]) for s in sends).values()) == 1
    assert Counter(s["outcome"] for s in sends) == {OK: stats.acked}
    assert [proof.reason for proof in proofs] == [""] * 3
    log = {(r["partition"], r["offset"]): r for r in rows(tmp_path, "final_log")}
    assert len(log) == sum(proof.high_watermark for proof in proofs) == len(sends)
    ids = {(r["producer"], r["sequence"]): r for r in log.values()}
    for send in sends:
        there = ids[send["producer"], send["sequence"]]
        assert (there["partition"], there["checksum"]) == (send["partition"], send["checksum"])
        assert send["offset"] == (-1 if acks == "0" else there["offset"])
    assert (stats.acked_without_offset == stats.acked) is (acks == "0")


def test_readers_and_samples_see_what_was_written(
    cluster: DockerCluster, make_topic: Any, tmp_path: Path
) -> None:
    topic = make_topic(partitions=2)
    plan = WorkloadPlan(topics={topic: 2}, producers=1, rate_per_s=1000.0, readers=2)
    with start(plan, cluster.bootstrap, tmp_path) as load:
        baseline(load, 2.0)
        load.stop_producers()
        deadline = time.monotonic() + 15
        while load.stats().delivered < 2 * load.stats().acked and time.monotonic() < deadline:
            time.sleep(0.1)
        time.sleep(0.6)
    seal(tmp_path)
    sends = {(s["producer"], s["sequence"]): s for s in rows(tmp_path, "sends")}
    reads = rows(tmp_path, "reads")
    assert len(reads) == 2 * len(sends)
    for read in reads:
        send = sends[read["producer"], read["sequence"]]
        assert (read["partition"], read["offset"], read["checksum"]) == (
            send["partition"],
            send["offset"],
            send["checksum"],
        )
        assert read["read_ns"] > send["invoked_ns"]
    assert {(read["reader"], read["generation"]) for read in reads} == {(1, 1), (2, 1)}
    samples = pq.read_table(tmp_path / "history/watermarks.parquet").to_pylist()
    for number in (0, 1):
        marks = [s for s in samples if s["partition"] == number]
        assert len(marks) >= 6
        assert {len(s["isr"]) for s in marks} == {3}
        assert {s["leader_epoch"] for s in marks} == {0}
        highs = [s["high_watermark"] for s in marks]
        assert highs == sorted(highs)
        assert highs[-1] == sum(s["partition"] == number for s in sends.values())
        assert all(s["log_start"] == 0 <= s["last_stable"] <= s["high_watermark"] for s in marks)


def test_keys_and_headers_arrive_as_they_were_sent(
    cluster: DockerCluster, make_topic: Any, tmp_path: Path
) -> None:
    topic = make_topic()
    headers = (("origin", b"highwater"), ("nothing", None))
    plan = WorkloadPlan(topics={topic: 1}, producers=1, rate_per_s=500.0, readers=0, headers=headers)
    with start(plan, cluster.bootstrap, tmp_path) as load:
        baseline(load, 0.5)
        load.stop_producers()
    final_read(cluster.bootstrap, plan.partitions, tmp_path / "history", within_s=30)
    seal(tmp_path)
    sent = {s["sequence"]: s["checksum"] for s in rows(tmp_path, "sends")}
    assert {r["sequence"]: r["checksum"] for r in rows(tmp_path, "final_log")} == sent


def test_a_partition_that_lacks_a_replica_has_no_proof(
    cluster: DockerCluster, view: ClusterView, make_topic: Any, tmp_path: Path
) -> None:
    topic = make_topic()
    tp = TopicPartition(topic, 0)
    victim = next(b for b in cluster.brokers if b != partition(view, topic).leader)
    plan = WorkloadPlan(topics={topic: 1}, producers=1, rate_per_s=500.0, readers=0)
    with start(plan, cluster.bootstrap, tmp_path) as load:
        load.wait_warm()
        cluster.mesh.cut(
            [
                edge
                for edge in cluster.mesh.edges
                if edge.source == str(victim) and edge.target in cluster.brokers
            ],
            mode="refuse",
            owner="test",
        )
        deadline = time.monotonic() + 20
        while len(partition(view, topic).isr) == 3 and time.monotonic() < deadline:
            time.sleep(0.1)
        load.stop_producers()
    (proof,) = final_read(cluster.bootstrap, [tp], tmp_path / "history", within_s=2)
    assert not proof.complete
    assert proof.reason == f"in sync are {sorted(set(cluster.brokers) - {victim})} of replicas [1, 2, 3]"
    assert proof.high_watermark > 0
    cluster.mesh.mend_all()
    (proof,) = final_read(cluster.bootstrap, [tp], tmp_path / "history", within_s=30)
    assert (proof.complete, proof.reason, proof.isr and sorted(proof.isr)) == (True, "", [1, 2, 3])
