"""What faults have measured on disks is in the history beside the live samples."""

from pathlib import Path

import pyarrow.parquet as pq

from checkers.history.rows import TopicPartition
from faults.kinds.fault.base import MeasuredLog
from harness.run.live.measured_logs import write_measured_logs
from workloads.record.seal import seal

ORDERS = TopicPartition("orders", 0)
MEASURED = MeasuredLog(
    at_ns=7, node=2, topic="orders", partition=0, log_start=3, log_end=9838, source="disk-down"
)
OTHER = MeasuredLog(at_ns=7, node=2, topic="other", partition=0, log_start=0, log_end=1, source="disk-down")


def test_a_measurement_is_a_row_of_replica_offsets(tmp_path: Path) -> None:
    """Of the run's partitions only: topics that are no part of it may lie on the same disk."""
    write_measured_logs(tmp_path, (ORDERS,), (MEASURED, OTHER), "")
    seal(tmp_path)
    assert pq.read_table(tmp_path / "history/replica_offsets.parquet").to_pylist() == [
        {
            "at_ns": 7,
            "asked_ns": -1,
            "topic": "orders",
            "partition": 0,
            "broker": 2,
            "leader_epoch": -1,
            "log_start": 3,
            "log_end": 9838,
            "source": "disk-down",
        }
    ]


def test_a_run_without_a_measurement_was_measured_all_the_same(tmp_path: Path) -> None:
    write_measured_logs(tmp_path, (ORDERS,), (), "")
    seal(tmp_path)
    assert pq.read_table(tmp_path / "history/replica_offsets.parquet").num_rows == 0
