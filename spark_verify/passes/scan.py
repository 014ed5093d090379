"""Pass 1, on a worker: one partition in one reading, O(rows). It decides what one partition shows (losses,
holes, what readers were given), counts, and names the ids on which a rule by id must decide.

Memory: 44 bytes a log record, and 56 an unplaced send. A healthy partition has no suspects. Only where
readers were given another record than the log holds at an offset, the reads are read again.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from checkers.anomalies import AnomalyBlock
from spark_verify.kernels.acks import SEND_COLUMNS, PlacedAcks, SendCounts
from spark_verify.kernels.backed_acks import BackedAcks
from spark_verify.kernels.blocks import gaps, leaps, nameless_losses
from spark_verify.kernels.final_log import LOG_COLUMNS, FinalLog, read_final_log
from spark_verify.kernels.given import doubtful_rows, given, senders
from spark_verify.kernels.ids import Ids
from spark_verify.kernels.losses import Unexplained, lost_acks, lost_below_watermark, lost_reads, orphans
from spark_verify.kernels.match_by_id import match_by_id, present_otherwise
from spark_verify.kernels.order import Sequences, out_of_real_time, steps
from spark_verify.kernels.reads import READ_COLUMNS, Reads
from spark_verify.partition_task import Bools, Columns, Ints, PartitionTask, Window
from spark_verify.passes.duplicate_ids import SequenceSums, added, sums


@dataclass(frozen=True, slots=True, kw_only=True)
class Suspects:
    """What is wrong with a decided partition, or may be. All empty: every property holds in it."""

    ids: Ids
    """Of records that a rule by id or by order might report; each once."""
    blocks: tuple[AnomalyBlock, ...]
    """What is decided already, none of them empty."""
    orphans: Ids
    """Read records in `blocks` that were not sent to this partition; they are among `ids`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scan:
    """What pass 1 found in one partition."""

    sends: SendCounts
    log_records: int
    reads: int
    reads_unread: int = 0
    """Reads in [high watermark, log end), about which nothing is decided."""
    sums: Mapping[int, SequenceSums]
    """By producer, over its sends here: shows ids that two sends have."""
    duplicate_acks: bool = False
    """Two acks are placed at one record: certainly two sends have one id."""
    backed: BackedAcks | None = None
    """The acks of acks=all; None: they are not decided."""
    suspects: Suspects | None = None
    """None: the partition is undecided."""


def scan(task: PartitionTask) -> Scan:
    """Read one partition and name what is suspicious in it; raises MalformedHistory."""
    return _decided(task, task.window) if task.window else _undecided(task)


def _decided(task: PartitionTask, window: Window) -> Scan:
    log, backed = read_final_log(task), _backed(task)
    acks, reads = _acks(task, log, backed), _reads(task, log, window)
    with_ack, unplaced = acks.rows_with_ack(), acks.unplaced()
    sequences, parts = Sequences(log), []
    for step in steps(log.ids(), task.batch_rows):
        sequences.add(step)
        parts.append(sums(step.kept(with_ack)))
    matched = match_by_id(log, acks, with_ack, unplaced)
    differing = reads.differing()
    groups = given(differing)
    its = Unexplained(
        task=task,
        window=window,
        log=log,
        unplaced=unplaced,
        copies=matched.copies,
        differing=differing,
        given=groups,
        senders=senders(
            {name: column[groups.first] for name, column in differing.items()}, unplaced, acks, with_ack
        ),
        matched=_given_as_they_are(task, log, doubtful_rows(differing, log)),
    )
    rows = [*acks.altered, sequences.offenders(), out_of_real_time(acks, task.batch_rows)]
    by_id = Ids.of(unplaced)[present_otherwise(unplaced, matched.copies)]
    return Scan(
        sends=acks.counts,
        log_records=len(log),
        reads=reads.count,
        reads_unread=reads.unread,
        sums=added([*parts, *_sums(unplaced, task)]),
        duplicate_acks=acks.total > int(np.count_nonzero(with_ack)),
        backed=backed,
        suspects=Suspects(
            ids=Ids.joined([by_id, matched.strays, orphans(its), log.ids()[np.concatenate(rows)]]).unique(),
            blocks=_blocks(its, reads.skips()),
            orphans=orphans(its),
        ),
    )


def _blocks(its: Unexplained, skips: Columns) -> tuple[AnomalyBlock, ...]:
    """All anomalies that one partition shows; without the blocks that have none."""
    holes = _holes(its.log, its.window, its.task.highest)
    named = lost_below_watermark(its)
    found = [
        *lost_acks(its),
        named,
        nameless_losses(its.task, its.window, holes, named.offset),
        *lost_reads(its),
        gaps(its.task, its.window, holes),
        leaps(its.task, skips),
    ]
    return tuple(each for each in found if len(each))


def _given_as_they_are(task: PartitionTask, log: FinalLog, rows: Ints) -> Bools:
    """Which of some log rows (shape (r,)) a reader was given as they are; shape (log rows,)."""
    wanted, found = np.zeros((2, len(log)), bool)
    wanted[rows] = True
    for batch in task.batches("reads", LOG_COLUMNS) if rows.size else ():
        row = log.rows_at(batch["offset"])
        at = np.flatnonzero(row >= 0)
        at = at[wanted[row[at]]]
        found[row[at[log.holds(row[at], {name: column[at] for name, column in batch.items()})]]] = True
    return found


def _undecided(task: PartitionTask) -> Scan:
    """Read everything, so that a damaged file is noticed, but only count it."""
    log, backed = read_final_log(task), _backed(task)
    acks = _acks(task, FinalLog.empty(), backed)
    reads = sum(len(batch["offset"]) for batch in task.batches("reads", READ_COLUMNS))
    return Scan(
        sends=acks.counts,
        log_records=len(log),
        reads=reads,
        sums=added(_sums(acks.unplaced(), task)),
        backed=backed,
    )


def _sums(unplaced: Columns, task: PartitionTask) -> Iterator[dict[int, SequenceSums]]:
    return (sums(step) for step in steps(Ids.of(unplaced), task.batch_rows))


def _backed(task: PartitionTask) -> BackedAcks | None:
    return None if task.ack_spans is None else BackedAcks(spans=task.ack_spans)


def _acks(task: PartitionTask, log: FinalLog, backed: BackedAcks | None) -> PlacedAcks:
    acks = PlacedAcks(task, log)
    for batch in task.batches("sends", SEND_COLUMNS):
        acks.add(batch)
        if backed is not None:
            backed.add(batch)
    return acks


def _reads(task: PartitionTask, log: FinalLog, window: Window) -> Reads:
    reads = Reads(window, log)
    for batch in task.batches("reads", READ_COLUMNS):
        reads.add(batch)
    return reads


def _holes(log: FinalLog, window: Window, highest: int) -> Ints:
    """Shape (h, 2), as in `Suspects`; `highest` is the greatest sampled high watermark."""
    end = max(window.high_watermark, highest)
    if end <= window.log_start:
        return np.empty((0, 2), np.int64)
    first, last = log.rank(np.array([window.log_start, end]))
    edges = np.concatenate(([window.log_start - 1], log.offset[first:last], [end]))
    at = np.flatnonzero(np.diff(edges) > 1)
    return np.stack((edges[at] + 1, edges[at + 1]), axis=1)
