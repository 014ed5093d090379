"""One reading of a partition, or of a part: its sends and reads laid over its final log, in O(rows).

Memory: 44 bytes a log record, and 64 an unplaced send. Only where readers were given another record than the
log holds at an offset, the reads are read again.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from checkers.history.records.transactions import FINAL_READER
from spark_verify.kernels.by_id.given import doubtful_rows
from spark_verify.kernels.by_id.residue import Residue, residue_of, rows_left
from spark_verify.kernels.by_position.acks import SEND_COLUMNS, PlacedAcks, SendCounts
from spark_verify.kernels.by_position.committed import committed_leaps
from spark_verify.kernels.by_position.order import Extremes, Sequences, latest_of, out_of_real_time, steps
from spark_verify.kernels.by_position.reads import COMMITTED_ROWS, JUMP_COLUMNS, READ_COLUMNS, Reads, Streams
from spark_verify.kernels.control_plane.backed_acks import BackedAcks
from spark_verify.kernels.control_plane.reads_before import ReadsBefore
from spark_verify.kernels.final_log import LOG_COLUMNS, FinalLog, count_final_log, is_run, read_final_log
from spark_verify.kernels.ids import Ids
from spark_verify.kernels.replaced import Replaced
from spark_verify.partition_task import Bools, Columns, Ints, PartitionTask, Slice, Window, joined
from spark_verify.passes.duplicate_ids import SequenceSums, added, sums
from spark_verify.passes.partition.committed_reads import committed_reads


@dataclass(frozen=True, slots=True, kw_only=True)
class Laid:
    """A decided partition, or a part, in memory."""

    task: PartitionTask
    acks: PlacedAcks
    with_ack: Bools
    """Shape (log rows,): which records have a placed ack."""
    unplaced: Columns
    backed: BackedAcks | None
    before: ReadsBefore | None
    reads: Reads
    streams: Streams
    committed: int
    """How many of `reads` are of read_committed readers."""
    leaps: Columns
    """Of those, in the whole partition: the columns JUMP_COLUMNS of reads.py; only the first part has
    them."""
    replaced: Columns
    """The columns REPLACED of replaced.py."""

    @property
    def log(self) -> FinalLog:
        """Its log."""
        return self.acks.log

    @property
    def duplicate_acks(self) -> bool:
        """Whether two acks are placed at one record: certainly two sends have one id."""
        return self.acks.total > int(np.count_nonzero(self.with_ack))

    def left(self) -> Bools:
        """Shape (log rows,): which records its residue needs."""
        offsets = [self.unplaced["offset"], self.reads.differing()["offset"]]
        return rows_left(self.log, self.with_ack, offsets)

    def residue(self, left: Bools) -> Residue:
        """The residue with those records."""
        differing = self.reads.differing()
        matched = _given_as_they_are(self.task, self.log, doubtful_rows(differing, self.log))
        return residue_of(self.acks, np.flatnonzero(left), matched, self.unplaced, differing)


def lay(task: PartitionTask, window: Window) -> Laid:
    """Read one partition or part; raises MalformedHistory."""
    replaced, backed = Replaced(task.epochs), _backed(task)
    log = read_final_log(task, replaced if task.epochs else None)
    acks = PlacedAcks(task, log)
    for batch, _ in numbered(task, "sends", SEND_COLUMNS):
        acks.add(batch)
        if backed is not None:
            backed.add(batch)
    reads, streams, before = Reads(window, log), Streams(), _before(task)
    for batch, piece in numbered(task, "reads", READ_COLUMNS):
        run = is_run(batch["offset"])
        reads.add(batch, run=run)
        if before is not None:
            before.add(batch)
        if piece.owned:
            whole = _whole_slice(piece, batch)
            streams.add(whole, piece.first_row, run=run and whole is batch)
    counted, every = reads.count, _committed_reads(task)
    reads.add(_tailing(task, every), run=False)
    return Laid(
        task=task,
        acks=acks,
        with_ack=acks.rows_with_ack(),
        unplaced=acks.unplaced(),
        backed=backed,
        before=before,
        reads=reads,
        streams=streams,
        committed=reads.count - counted,
        leaps=_leaps(task, every),
        replaced=replaced.found(),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """What the order of a partition, or of a part, shows."""

    offenders: Ids
    """With the records that prove it."""
    extremes: Extremes
    sums: dict[int, SequenceSums]
    """Of the records with a placed ack, by producer."""


def order_of(task: PartitionTask, acks: PlacedAcks, with_ack: Bools, below: Extremes) -> Order:
    """Walk a log once.

    `with_ack`, shape (log rows,), is which rows count in the sums, `below` the extremes of all lower offsets.
    """
    sequences, parts = Sequences(acks.log, below.greatest), []
    for step in steps(acks.log.ids(), task.batch_rows):
        sequences.add(step)
        parts.append(sums(step.kept(with_ack)))
    late = out_of_real_time(acks, task.batch_rows, below.latest)
    extremes = Extremes(
        greatest=sequences.greatest,
        least=sequences.least,
        latest=latest_of(acks.log.offset, acks.log.ids(), acks.invoked_ns),
        answered_ns=int(acks.answered_ns().min(initial=np.iinfo(np.int64).max)),
    )
    return Order(offenders=Ids.joined([sequences.offenders(), late]), extremes=extremes, sums=added(parts))


@dataclass(frozen=True, slots=True, kw_only=True)
class Counted:
    """An undecided partition, or a part of it: everything was read, so that a damaged file is noticed."""

    sends: SendCounts
    log_records: int
    reads: int
    committed: int
    """What read_committed readers were given."""
    sums: dict[int, SequenceSums]
    backed: BackedAcks | None


def count(task: PartitionTask) -> Counted:
    """Read it and count; raises MalformedHistory. Memory: a batch."""
    log_records, backed, counts, parts = count_final_log(task), _backed(task), SendCounts(), []
    for batch, _ in numbered(task, "sends", SEND_COLUMNS):
        counts.add(task, batch)
        parts.append(added(sums(step) for step in steps(Ids.of(batch), task.batch_rows)))
        if backed is not None:
            backed.add(batch)
    reads = sum(len(batch["offset"]) for batch in task.batches("reads", READ_COLUMNS))
    return Counted(
        sends=counts,
        log_records=log_records,
        reads=reads,
        committed=len(_tailing(task, _committed_reads(task))["offset"]),
        sums=added(parts),
        backed=backed,
    )


def numbered(task: PartitionTask, table: str, columns: tuple[str, ...]) -> Iterator[tuple[Columns, Slice]]:
    """The task's rows of each slice of a table, with their numbers in the file as the column `row`."""
    for piece in task.slices(table, columns):
        yield piece.columns(columns) | {"row": piece.numbers()}, piece


def _whole_slice(piece: Slice, batch: Columns) -> Columns:
    """The columns of all rows of a slice of reads; `batch` are those of the task."""
    if piece.inside is None:
        return batch
    return replace(piece, inside=None).columns(READ_COLUMNS)


def _given_as_they_are(task: PartitionTask, log: FinalLog, rows: Ints) -> Bools:
    """Which of some log rows (shape (r,)) a reader was given as they are; shape (log rows,)."""
    wanted, found = np.zeros((2, len(log)), bool)
    wanted[rows] = True
    for batch in _given(task) if rows.size else ():
        row = log.rows_at(batch["offset"])
        at = np.flatnonzero(row >= 0)
        at = at[wanted[row[at]]]
        found[row[at[log.holds(row[at], {name: column[at] for name, column in batch.items()})]]] = True
    return found


def _given(task: PartitionTask) -> Iterator[Columns]:
    """What readers were given, once more."""
    yield from task.batches("reads", LOG_COLUMNS)
    yield _tailing(task, _committed_reads(task))


def _committed_reads(task: PartitionTask) -> Columns:
    """What read_committed readers were given of the whole partition: the columns READ_COLUMNS and `row`."""
    if not task.committed:
        return joined((*READ_COLUMNS, "row"), ())
    return committed_reads(task, READ_COLUMNS)


def _tailing(task: PartitionTask, committed: Columns) -> Columns:
    """Those of them that were given to readers that tail the log, at the offsets of the task: they lie behind
    all other reads."""
    kept = committed["reader"] != FINAL_READER
    if task.part is not None:
        kept &= task.part.inside(committed["offset"], owned=False)
    return {name: column[kept] for name, column in committed.items()} | {
        "row": committed["row"][kept] + COMMITTED_ROWS
    }


def _leaps(task: PartitionTask, committed: Columns) -> Columns:
    if not task.committed or (task.part is not None and task.part.number):
        return joined(JUMP_COLUMNS, ())
    return committed_leaps(committed)


def _backed(task: PartitionTask) -> BackedAcks | None:
    return None if task.ack_spans is None else BackedAcks(spans=task.ack_spans)


def _before(task: PartitionTask) -> ReadsBefore | None:
    return None if task.read_limits is None else ReadsBefore(times=task.read_limits)
