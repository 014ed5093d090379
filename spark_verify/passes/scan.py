"""Pass 1, on a worker: one partition in one reading, O(rows). It decides nothing: it counts, and it names the
ids and offsets on which a rule must decide.

Memory: 44 bytes a log record, and 56 an unplaced send. A healthy partition has no suspects.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from spark_verify.kernels.acks import SEND_COLUMNS, PlacedAcks, SendCounts, acked_offsets
from spark_verify.kernels.backed_acks import BackedAcks
from spark_verify.kernels.final_log import FinalLog, read_final_log
from spark_verify.kernels.ids import Ids
from spark_verify.kernels.match_by_id import unexplained_ids
from spark_verify.kernels.order import Sequences, out_of_real_time, steps
from spark_verify.kernels.reads import READ_COLUMNS, Reads
from spark_verify.partition_task import Columns, Ints, PartitionTask, Window
from spark_verify.passes.duplicate_ids import SequenceSums, added, sums


@dataclass(frozen=True, slots=True, kw_only=True)
class Suspects:
    """What is left to be decided about a partition. All empty: every property holds in it."""

    ids: Ids
    """Of records that a rule by id or by order might report; each once."""
    offsets: Ints
    """Shape (k,), ascending: where a rule by offset might report something."""
    holes: Ints
    """Shape (h, 2): runs of offsets [first, end) that the log lacks, from its start to the greatest
    high watermark."""
    skips: Columns
    """The monotone-read anomalies: columns reader, generation, before, offset, read_ns; each of shape
    (skips,)."""


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
    unexplained = unexplained_ids(log, acks, with_ack, unplaced)
    offsets = np.union1d(reads.suspect_offsets(), acked_offsets(unplaced))
    at_suspects = log.rows_at(offsets)
    rows = [
        *acks.altered,
        sequences.offenders(),
        out_of_real_time(acks, task.batch_rows),
        # The rules by id need all rows of each id whose record a rule by offset gets.
        at_suspects[at_suspects >= 0],
    ]
    return Scan(
        sends=acks.counts,
        log_records=len(log),
        reads=reads.count,
        reads_unread=reads.unread,
        sums=added([*parts, *_sums(unplaced, task)]),
        duplicate_acks=acks.total > int(np.count_nonzero(with_ack)),
        backed=backed,
        suspects=Suspects(
            ids=Ids.joined([unexplained, reads.gone(), log.ids()[np.concatenate(rows)]]).unique(),
            offsets=offsets,
            holes=_holes(log, window, task.highest),
            skips=reads.skips(),
        ),
    )


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
