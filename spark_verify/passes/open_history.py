"""What the driver knows of a history before any bulk row is read: its partitions, its proofs, what was
sampled.

Every file is opened here and its footer checked, so that a file that is missing, truncated, foreign or
of another partition is found before Spark gets any job.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from checkers.errors import MalformedHistory
from checkers.history.load import load_proofs, open_unit, read_unit
from checkers.history.rows import Proof, TopicPartition, Watermark
from checkers.history.tables import NONE, PARTITIONED, unit_path
from checkers.judgement import PartitionUndecided
from spark_verify.partition_task import BATCH_ROWS, PartitionTask, Window
from spark_verify.passes.open_replicas import open_replicas
from spark_verify.passes.scan_replicas import ReplicaTask


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenedHistory:
    """A history as the driver has it: files checked, small tables read, no bulk row yet."""

    history_dir: Path
    proofs: Sequence[Proof]
    watermarks: Sequence[Watermark]
    """Two for each leader epoch of a partition: its first and last time, with its greatest high watermark."""
    tasks: Sequence[PartitionTask]
    """One for each partition, in order."""
    replica_tasks: Sequence[ReplicaTask] = ()
    """The same; none if no replica was collected."""

    def undecided_partitions(self) -> tuple[PartitionUndecided, ...]:
        """The partitions without a complete proof, with the reason why."""
        reasons = {p.tp: p.reason or "the final read is not proven complete" for p in self.proofs}
        return tuple(
            PartitionUndecided(
                topic=task.topic, partition=task.partition, reason=reasons.get(task.tp, "no final read")
            )
            for task in self.tasks
            if task.window is None
        )


def open_history(history_dir: Path, *, batch_rows: int = BATCH_ROWS) -> OpenedHistory:
    """Check the footer of every file of a history and read its small tables; raises MalformedHistory."""
    history_dir = history_dir.absolute()  # workers have a working directory of their own
    found, proofs = load_proofs(history_dir)
    for table in ("faults", "metadata"):
        read_unit(unit_path(history_dir, table), table)
    watermarks = _watermarks(history_dir)
    highest: dict[TopicPartition, int] = {}
    for sample in watermarks:
        highest[sample.tp] = max(highest.get(sample.tp, NONE), sample.high_watermark)
    windows = {proof.tp: _window(proof) for proof in proofs if proof.complete}
    tasks = tuple(
        PartitionTask(
            history_dir=str(history_dir),
            topic=tp.topic,
            partition=tp.partition,
            rows=sum(_check_file(unit_path(history_dir, table, *tp), table, tp) for table in PARTITIONED),
            window=windows.get(tp),
            highest=highest.get(tp, NONE),
            batch_rows=batch_rows,
        )
        for tp in found
    )
    return OpenedHistory(
        history_dir=history_dir,
        proofs=proofs,
        watermarks=watermarks,
        tasks=tasks,
        replica_tasks=open_replicas(history_dir, tasks, proofs),
    )


def _window(proof: Proof) -> Window:
    return Window(log_start=proof.log_start, high_watermark=proof.high_watermark, log_end=proof.log_end)


def _check_file(path: Path, table: str, tp: TopicPartition) -> int:
    """The number of rows of a bulk file; raises MalformedHistory if a row is of another partition."""
    with open_unit(path, table, *tp) as file:
        footer = file.metadata
        names = file.schema_arrow.names
        for group in range(footer.num_row_groups if footer.num_rows else 0):
            for name, expected in (("topic", tp.topic), ("partition", tp.partition)):
                chunk = footer.row_group(group).column(names.index(name)).statistics
                if chunk is None or not chunk.has_min_max or chunk.null_count:
                    read_unit(path, table, *tp, columns=("topic", "partition"))
                    break
                for value in (chunk.min, chunk.max):
                    if value != expected:
                        raise MalformedHistory(
                            path, f"a row has {name} {value!r}, the file is of {expected!r}"
                        )
        return int(footer.num_rows)


def _watermarks(history_dir: Path) -> tuple[Watermark, ...]:
    """All that the rules need of the samples, in two rows for each leader epoch instead of thousands."""
    keys = ["topic", "partition", "leader_epoch"]
    samples = read_unit(unit_path(history_dir, "watermarks"), "watermarks").select(
        [*keys, "at_ns", "high_watermark"]
    )
    epochs = samples.group_by(keys, use_threads=False).aggregate(
        [("at_ns", "min"), ("at_ns", "max"), ("high_watermark", "max")]
    )
    return tuple(
        Watermark(
            topic=row["topic"],
            partition=row["partition"],
            leader_epoch=row["leader_epoch"],
            at_ns=at_ns,
            high_watermark=row["high_watermark_max"],
        )
        for row in epochs.to_pylist()
        for at_ns in (row["at_ns_min"], row["at_ns_max"])
    )
