"""What the faults of a run have read from the disks of nodes that were down, beside the live samples."""

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from checkers.history.rows import TopicPartition
from checkers.history.tables import NONE
from faults.kinds.fault.base import MeasuredLog
from workloads.record.recorder import table_journal


def write_measured_logs(
    run_dir: Path, partitions: Sequence[TopicPartition], measured: Sequence[MeasuredLog], run: str
) -> None:
    """Journal the measurements of the run's `partitions`; the history gets them with all other log ends."""
    rows = [_row(log) for log in measured if (log.topic, log.partition) in partitions]
    with table_journal(run_dir, partitions, "replica_offsets", of="faults", run=run) as journal:
        journal.write_rows(rows)


def _row(log: MeasuredLog) -> dict[str, object]:
    """A disk does not say in which epoch it was read."""
    columns = asdict(log)
    return {**columns, "broker": columns.pop("node"), "leader_epoch": NONE, "asked_ns": NONE}
