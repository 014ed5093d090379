"""The transactions of one partition, on a worker: its sends, its log, and what read_committed readers were
given of it.

Memory: the columns of the partition that this takes, as a whole. A history without transactions has no task.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from checkers.history.records.transactions import Ledger, PartitionShown, is_decided
from checkers.history.rows import Proof
from spark_verify.kernels.final_log import read_final_log
from spark_verify.kernels.transactions import COMMITTED_COLUMNS, SENT_COLUMNS, LedgerColumns, shown
from spark_verify.partition_task import PartitionTask, joined
from spark_verify.passes.partition.committed_reads import committed_reads


@dataclass(frozen=True, slots=True, kw_only=True)
class TransactionTask:
    """One partition of a history with transactions."""

    partition: PartitionTask
    ledger: LedgerColumns
    decided: bool
    """Whether all that is committed was read of it."""
    has_reads: bool
    """Whether what read_committed readers were given was collected."""


def transaction_tasks(
    tasks: Sequence[PartitionTask], ledger: Ledger | None, proofs: Sequence[Proof], *, has_reads: bool
) -> tuple[TransactionTask, ...]:
    """One for each partition, in order; none for a history without transactions."""
    if ledger is None:
        return ()
    columns, of = LedgerColumns.of(ledger.entries), {proof.tp: proof for proof in proofs}
    return tuple(
        TransactionTask(
            partition=task,
            ledger=columns,
            decided=has_reads and is_decided(of.get(task.tp)),
            has_reads=has_reads,
        )
        for task in tasks
    )


def scan_transactions(task: TransactionTask) -> PartitionShown:
    """Read a partition, and collect what it shows; raises MalformedHistory."""
    its = task.partition
    return shown(
        its.tp,
        task.ledger,
        joined(SENT_COLUMNS, list(its.batches("sends", SENT_COLUMNS))),
        read_final_log(its) if its.window else None,
        committed_reads(its, COMMITTED_COLUMNS) if task.has_reads else joined(COMMITTED_COLUMNS, ()),
        decided=task.decided,
    )
