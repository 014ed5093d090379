"""What real brokers refuse, and what a killed harness leaves of a real log."""

import time
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow.dataset as ds
import pytest
from fakes.run.killed_load import assert_every_record_is_explained, kill_a_load
from fakes.waiting import until

from compose.cluster.start import DockerCluster
from compose.kafka.view import ClusterView
from shared.partitions import partition
from workloads.observe.final_read import final_read
from workloads.plan import WorkloadPlan
from workloads.record.seal import seal
from workloads.run import start

OK, FAIL, INFO = 0, 1, 2


def outcomes(run: Path) -> set[tuple[int, str]]:
    seal(run)
    rows = ds.dataset(run / "history/sends").to_table().to_pylist()
    assert max(Counter((row["producer"], row["sequence"]) for row in rows).values()) == 1
    return {(row["outcome"], row["error"]) for row in rows}


@pytest.mark.parametrize(
    ("acks", "client", "outcome"),
    [("1", {"retries": 0}, FAIL), ("all", {}, INFO)],
    ids=["single", "idempotent"],
)
def test_records_too_large_for_the_topic_are_refused_and_not_in_the_log(
    cluster: DockerCluster, make_topic: Any, tmp_path: Path, acks: Any, client: Any, outcome: int
) -> None:
    topic = make_topic(config={"max.message.bytes": "1000"})
    plan = WorkloadPlan(
        topics={topic: 1},
        producers=1,
        acks=acks,
        rate_per_s=200.0,
        record_bytes=2000,
        readers=0,
        client=client,
    )
    with start(plan, cluster.bootstrap, tmp_path) as load:
        until(lambda: load.stats().errors, 20)
        load.stop_producers(within_s=10)
        (proof,) = final_read(cluster.bootstrap, plan.partitions, tmp_path / "history", within_s=30)
    assert (proof.complete, proof.high_watermark) == (True, 0)
    assert outcomes(tmp_path) == {(outcome, "MSG_SIZE_TOO_LARGE")}


def test_what_too_few_replicas_refuse_is_tried_again_until_they_are_back(
    cluster: DockerCluster, view: ClusterView, make_topic: Any, tmp_path: Path
) -> None:
    topic = make_topic(config={"min.insync.replicas": "3"})
    leader = partition(view, topic).leader
    fetches = [e for e in cluster.mesh.edges if e.target == leader and e.source in map(str, cluster.brokers)]
    plan = WorkloadPlan(topics={topic: 1}, producers=1, rate_per_s=200.0, readers=0)
    with start(plan, cluster.bootstrap, tmp_path) as load:
        load.wait_warm()
        cluster.mesh.cut(fetches, mode="refuse", owner="test")
        until(lambda: len(partition(view, topic).isr) < 3, 30)
        time.sleep(1.0)
        stalled = load.stats()
        assert stalled.outstanding > 100
        cluster.mesh.mend(fetches, owner="test")
        until(lambda: load.stats().acked > stalled.sent, 30)
        load.stop_producers()
    assert outcomes(tmp_path) == {(OK, "")}


def test_every_record_in_the_log_of_a_killed_run_has_its_send(
    cluster: DockerCluster, make_topic: Any, tmp_path: Path
) -> None:
    topic = make_topic(partitions=2)
    kill_a_load(cluster.bootstrap, topic, tmp_path, after_s=1.5)
    assert_every_record_is_explained(cluster.bootstrap, topic, tmp_path)
