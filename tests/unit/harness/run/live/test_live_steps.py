"""The parts of the real steps that need no cluster: what the manifest gets, and one line for each event."""

from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from fakes.run.run_directories import make_run
from fakes.world.cluster import FakeCluster

from checkers.history.rows import TopicPartition
from compose.errors import DiskError
from compose.protocols import ProcessEvent, StartTimings
from compose.spec.images import kafka_image, toxiproxy_image
from faults.schedule.record import FaultEvent
from harness.errors import StepFailed
from harness.run.live import live_steps
from harness.run.live.live_steps import LiveRunSteps, ended_unplanned, event_text
from harness.run.steps import StartedCluster
from harness.run_directory import layout
from harness.run_directory.manifest import ClusterReady
from harness.scenario.resolve import resolve
from workloads.record.recorder import Recorder

SCENARIO = "{name: demo, topics: [{name: orders, partitions: 1, replication: 3}]}"

TIMINGS = StartTimings(
    proxy_s=1.5,
    networks_s=3.0,
    format_s=2.5,
    disks_s=3.0,
    nodes_s=6.0,
    mesh_s=7.0,
    ready_s=16.0,
    appcds=True,
)


def test_the_manifest_gets_the_images_and_the_timings_of_the_cluster() -> None:
    started = LiveRunSteps("local[1]").describe(FakeCluster(timings=TIMINGS))
    assert started == StartedCluster(
        run_id="fake",
        images=(kafka_image("4.3.1"), toxiproxy_image()),
        ready=ClusterReady(
            proxy_s=1.5,
            networks_s=3.0,
            format_s=2.5,
            disks_s=3.0,
            nodes_s=6.0,
            mesh_s=7.0,
            ready_s=16.0,
            appcds=True,
        ),
    )


def test_a_cluster_without_timings_has_none_in_the_manifest() -> None:
    assert LiveRunSteps("local[1]").describe(FakeCluster()).ready is None


def test_the_manifest_has_a_key_for_each_timing_of_a_start() -> None:
    assert [field.name for field in fields(StartTimings)] == list(ClusterReady.model_fields)


def test_an_event_is_one_line_that_names_what_was_hit() -> None:
    cut = FaultEvent(at_ns=1, index=0, name="cut", kind="partition", stage="injected", edges=("2->1", "3->1"))
    assert event_text(cut) == "cut (partition of 2->1, 3->1) injected"
    power = FaultEvent(
        at_ns=1, index=1, name="power", kind="power-loss", stage="healed", nodes=(1, 2, 3, 4, 5), detail="x"
    )
    assert event_text(power) == ("power (power-loss of node 1, node 2, node 3, node 4 and 1 more) healed: x")


def test_a_broker_that_ended_unplanned_is_never_started_again() -> None:
    """Only what a fault has left down is, and for that fault."""
    cluster = FakeCluster()
    cluster.kill(1, owner="kill-leader")
    cluster.die(2, exit_code=137)
    cluster.die(101, exit_code=1)
    reported: list[ProcessEvent] = []
    cluster.watch(reported.append)
    resolved = resolve(SCENARIO, "demo.yaml", seed=1)
    with pytest.raises(StepFailed, match="brokers that ended unplanned stay down, not all is in sync: 2"):
        LiveRunSteps("local[1]").wait_in_sync(cluster, resolved)
    assert [call for call in cluster.calls if call.startswith("start")] == ["start 1"]
    starts = [each for each in reported[6:] if each.event == "started"]
    assert [(each.node, each.planned, each.owner) for each in starts] == [(1, True, "kill-leader")]
    assert ended_unplanned(cluster) == (2,)


def test_a_clock_that_a_fault_has_left_wrong_is_set_right_before_anything_is_waited_for() -> None:
    cluster = FakeCluster(clocks={1: 0, 2: 300_000})
    cluster.die(3, exit_code=137)
    with pytest.raises(StepFailed, match="stay down"):
        LiveRunSteps("local[1]").wait_in_sync(cluster, resolve(SCENARIO, "demo.yaml", seed=1))
    assert [call for call in cluster.calls if call.startswith("set_clock")] == ["set_clock 0 2"]


def test_what_cannot_be_healed_keeps_nothing_else_from_being_healed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As where the proxy is gone, and a disk does not answer."""
    cluster = FakeCluster()
    cluster.kill(1, owner="kill-leader")
    cluster.pause(2)
    cluster.freeze(3)
    thaw = cluster.thaw

    def refuse(*_: object) -> None:
        raise DiskError("gone")

    monkeypatch.setattr(cluster.mesh, "mend_all", refuse)
    monkeypatch.setattr(cluster, "thaw", lambda node: refuse() if node == 1 else thaw(node))
    with pytest.raises(DiskError, match="gone"):
        LiveRunSteps("local[1]").wait_in_sync(cluster, resolve(SCENARIO, "demo.yaml", seed=1))
    assert [cluster.state(node).status for node in (1, 2, 3)] == ["running"] * 3
    assert not cluster.is_frozen(3)


def record(offset: int, kind: str, **data: Any) -> dict[str, Any]:
    """A decoded record of the metadata log."""
    return {"offset": offset, "timestamp_ms": 5_000 + offset, "type": kind, "data": data}


def created(offset: int, topic: str) -> list[dict[str, Any]]:
    """A topic of one partition, whose id is its name."""
    partition = {"partitionId": 0, "replicas": [1], "isr": [1], "leader": 1}
    return [
        record(offset, "TOPIC_RECORD", name=topic, topicId=topic),
        record(offset + 1, "PARTITION_RECORD", topicId=topic, leaderEpoch=0, partitionEpoch=0, **partition),
    ]


def test_the_metadata_log_becomes_four_tables(tmp_path: Path) -> None:
    """Internal topics, and those that a fault has made, are left out; settings that no record has are those
    that a broker reported."""
    cluster = FakeCluster()
    cluster.records = [
        record(1, "REGISTER_BROKER_RECORD", brokerId=1, brokerEpoch=1, fenced=False),
        *created(2, "orders"),
        *created(4, "__consumer_offsets"),
        record(6, "CONFIG_RECORD", resourceType=2, resourceName="orders", name="flush.ms", value="7"),
        record(7, "NO_OP_RECORD"),
        *created(8, "fault-topic"),
    ]
    run = make_run(tmp_path, None)
    resolved = resolve(SCENARIO, "demo.yaml", seed=1)
    LiveRunSteps("local[1]").save_timeline(cluster.copy_metadata(), resolved, run)
    assert not (run.history / "coordinators.parquet").exists()
    metadata, brokers, configs, appends = (
        pq.read_table(run.history / f"{name}.parquet").to_pylist()
        for name in ("metadata", "brokers", "configs", "metadata_appends")
    )
    assert [(row["topic"], row["at_ms"], row["log_offset"]) for row in metadata] == [("orders", 5_003, 3)]
    assert [(row["node"], row["log_offset"], row["fenced"]) for row in brokers] == [(1, 1, False)]
    assert [(row["kind"], row["key"], row["value"], row["log_offset"]) for row in configs] == [
        ("reported", "min.insync.replicas", "2", -1),
        ("topic", "flush.ms", "7", 6),
    ]
    assert appends == [
        {"at_ms": 5_000 + offset, "log_offset": offset, "controller": -1} for offset in range(1, 10)
    ]


def led(offset: int, partition: int, leader: int) -> dict[str, Any]:
    """Another leader of a partition of the transaction log."""
    data = {"partitionId": partition, "topicId": "__transaction_state", "leader": leader}
    return record(offset, "PARTITION_CHANGE_RECORD", **data)


def test_a_load_with_transactions_has_the_states_of_its_coordinators(tmp_path: Path) -> None:
    """Of the partitions that have its ids: two of four, payments-1 and payments-2."""
    cluster = FakeCluster()
    log = [
        record(
            offset,
            "PARTITION_RECORD",
            topicId="__transaction_state",
            partitionId=number,
            replicas=[1, 2, 3],
            isr=[1, 2, 3],
            leader=1,
            leaderEpoch=0,
            partitionEpoch=0,
        )
        for offset, number in enumerate(range(4), 11)
    ]
    cluster.records = [
        *created(2, "orders"),
        record(9, "LEADER_CHANGE", leaderId=101),
        record(10, "TOPIC_RECORD", name="__transaction_state", topicId="__transaction_state"),
        *log,
        led(20, 0, 3),
        led(21, 1, 2),
    ]
    load = "workload: {producers: 2, transactions: {ids: payments}}"
    resolved = resolve(f"{{{SCENARIO[1:-1]}, {load}}}", "demo.yaml", seed=1)
    run = make_run(tmp_path, None)
    LiveRunSteps("local[1]").save_timeline(cluster.copy_metadata(), resolved, run)
    rows = pq.read_table(run.history / "coordinators.parquet").to_pylist()
    found = [(row["log_offset"], row["partition"], row["leader"], row["controller"]) for row in rows]
    assert found == [(12, 1, 1, 101), (13, 2, 1, 101), (21, 1, 2, 101)]
    metadata = pq.read_table(run.history / "metadata.parquet").to_pylist()
    assert {row["topic"] for row in metadata} == {"orders"}


def test_a_large_load_is_sealed_in_another_process_and_a_small_one_in_this(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    small, large = layout.create(tmp_path, "small", 1), layout.create(tmp_path, "large", 1)
    for run in (small, large):
        with Recorder(run.path, (TopicPartition("orders", 0),), run.id) as recorder:
            producer = recorder.sends(acks="all", idempotent=True)
            producer.sent(np.array([0], np.int16), 10, np.array([100], np.int64))
            producer.close()
    here = LiveRunSteps("local[1]").seal_load(small)
    monkeypatch.setattr(live_steps, "APART_BYTES", 0)
    monkeypatch.delattr(live_steps, "seal_load")
    assert LiveRunSteps("local[1]").seal_load(large) == here
    assert [(producer.producer, producer.acks) for producer in here] == [(1, "all")]
    sends = "history/sends/orders-0.parquet"
    assert pq.read_table(large.path / sends).equals(pq.read_table(small.path / sends))
