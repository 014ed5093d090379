"""What the driver knows of a history before any bulk row is read: its partitions, its proofs, what was
sampled.

Every file is opened here and its footer checked, so that a file that is missing, truncated, foreign or
of another partition is found before Spark gets any job.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from checkers.errors import MalformedHistory
from checkers.history.load import load_context, open_unit, read_unit
from checkers.history.records.markers import EVERY_HOLE, empty_offsets
from checkers.history.records.transactions import ledger_of
from checkers.history.rows import Context, Proof, TopicPartition
from checkers.history.tables import NONE, PARTITIONED, unit_path
from checkers.judgement import PartitionUndecided
from checkers.places import Place, as_text
from checkers.reference.control_plane.early_read import ReadLimits, read_limits
from checkers.reference.facts import unanswered
from spark_verify.partition_task import BATCH_ROWS, PartitionTask, SampledEpoch, Window
from spark_verify.passes.control_plane import spans_by_partition, times_of
from spark_verify.passes.partition.committed_reads import READS
from spark_verify.passes.partition.transactions import TransactionTask, transaction_tasks
from spark_verify.passes.replicas.open_replicas import open_replicas
from spark_verify.passes.replicas.scan_replicas import ReplicaTask


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenedHistory:
    """A history as the driver has it: files checked, small tables read, no bulk row yet."""

    history_dir: Place
    proofs: Sequence[Proof]
    context: Context
    """The tables of one file."""
    tasks: Sequence[PartitionTask]
    """One for each partition, in order."""
    replica_tasks: Sequence[ReplicaTask] = ()
    """The same; none if no replica was collected."""
    transaction_tasks: Sequence[TransactionTask] = ()
    """The same; none if the load had no transactions."""
    read_limits: ReadLimits | None = None
    """None: what was read early is not decided."""

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


def open_history(history_dir: Place, *, batch_rows: int = BATCH_ROWS) -> OpenedHistory:
    """Check the footer of every file of a history and read its small tables; raises MalformedHistory."""
    history_dir = history_dir.absolute()  # workers have a working directory of their own
    context = load_context(history_dir)
    found, proofs = context.partitions, context.proofs
    ack_spans, limits = spans_by_partition(context), read_limits(context)
    limit_times = times_of(limits)
    no_answer, empty = tuple(sorted(unanswered(context.producers))), empty_offsets(context)
    sampled = _sampled(history_dir)
    windows = {proof.tp: _window(proof) for proof in proofs if proof.complete}
    tasks = tuple(
        PartitionTask(
            history_dir=as_text(history_dir),
            topic=tp.topic,
            partition=tp.partition,
            rows=sum(_check_file(unit_path(history_dir, table, *tp), table, tp) for table in PARTITIONED),
            window=windows.get(tp),
            highest=max((epoch.highest for epoch in sampled.get(tp, ())), default=NONE),
            epochs=tuple(epoch for epoch in sampled.get(tp, ()) if epoch.leader_epoch >= 0),
            ack_spans=ack_spans.get(tp),
            read_limits=limit_times.get(tp),
            unanswered=no_answer,
            empty=empty.get(tp, EVERY_HOLE),
            committed=bool(context.transaction_reads),
            batch_rows=batch_rows,
        )
        for tp in found
    )
    return OpenedHistory(
        history_dir=history_dir,
        proofs=proofs,
        context=context,
        tasks=tasks,
        replica_tasks=open_replicas(history_dir, tasks, proofs),
        transaction_tasks=transaction_tasks(
            tasks, ledger_of(context), proofs, has_reads=READS in context.collected
        ),
        read_limits=limits,
    )


def _window(proof: Proof) -> Window:
    return Window(log_start=proof.log_start, high_watermark=proof.high_watermark, log_end=proof.log_end)


def _check_file(path: Place, table: str, tp: TopicPartition) -> int:
    """The number of rows of a bulk file; raises MalformedHistory if a row is of another partition, or has a
    null: also in a column that nobody may read."""
    with open_unit(path, table, *tp) as file:
        footer = file.metadata
        names = file.schema_arrow.names
        for group in range(footer.num_row_groups if footer.num_rows else 0):
            for at in range(footer.num_columns):
                chunk = footer.row_group(group).column(at)
                if chunk.statistics is None or chunk.statistics.null_count:
                    read_unit(path, table, *tp, columns=[chunk.path_in_schema.split(".")[0]])
            for name, expected in (("topic", tp.topic), ("partition", tp.partition)):
                chunk = footer.row_group(group).column(names.index(name)).statistics
                if chunk is None or not chunk.has_min_max:
                    read_unit(path, table, *tp, columns=("topic", "partition"))
                    break
                for value in (chunk.min, chunk.max):
                    if value != expected:
                        raise MalformedHistory(
                            path, f"a row has {name} {value!r}, the file is of {expected!r}"
                        )
        return int(footer.num_rows)


def _sampled(history_dir: Place) -> dict[TopicPartition, list[SampledEpoch]]:
    """All that the rules need of the samples: one row for each leader epoch, however many there were."""
    keys = ["topic", "partition", "leader_epoch"]
    columns = [*keys, "at_ns", "high_watermark"]
    samples = read_unit(unit_path(history_dir, "watermarks"), "watermarks", columns=columns)
    epochs = samples.group_by(keys, use_threads=False).aggregate(
        [("at_ns", "min"), ("at_ns", "max"), ("high_watermark", "max")]
    )
    found: dict[TopicPartition, list[SampledEpoch]] = defaultdict(list)
    for row in epochs.to_pylist():
        epoch = SampledEpoch(
            leader_epoch=row["leader_epoch"],
            first_ns=row["at_ns_min"],
            last_ns=row["at_ns_max"],
            highest=row["high_watermark_max"],
        )
        found[TopicPartition(row["topic"], row["partition"])].append(epoch)
    return found
