"""Pass 1, on a worker: one partition in one reading, O(rows). It decides what one partition shows (losses,
holes, what readers were given), counts, and names the ids on which a rule by id must decide.

Of a part of a partition it returns what is left to be decided when all parts are known (join_parts.py).
A healthy partition has no suspects.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from checkers.anomalies import AnomalyBlock
from spark_verify.kernels.anomalies.blocks import (
    gaps,
    leaps,
    nameless_losses,
    replaced_losses,
    without_markers,
)
from spark_verify.kernels.anomalies.losses import (
    Unexplained,
    lost_acks,
    lost_below_watermark,
    lost_reads,
    orphans,
)
from spark_verify.kernels.by_id.given import given, senders
from spark_verify.kernels.by_id.match_by_id import (
    Matched,
    match_by_id,
    placed_rows,
    present_otherwise,
    unresolved,
)
from spark_verify.kernels.by_id.residue import Residue
from spark_verify.kernels.by_position.acks import SendCounts
from spark_verify.kernels.by_position.order import NOTHING_BELOW, Extremes, steps
from spark_verify.kernels.by_position.reads import skips
from spark_verify.kernels.control_plane.backed_acks import BackedAcks
from spark_verify.kernels.control_plane.reads_before import ReadsBefore
from spark_verify.kernels.final_log import HIGHEST, LOWEST, empty_runs
from spark_verify.kernels.ids import Ids
from spark_verify.partition_task import Columns, Ints, PartitionTask, Window
from spark_verify.passes.duplicate_ids import SequenceSums, added, sums
from spark_verify.passes.partition.lay import Laid, Order, count, lay, order_of


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
class Left:
    """What a part of a decided partition leaves to be decided with the others."""

    residue: Residue
    jumps: Columns
    """Of readers: the columns JUMP_COLUMNS of reads.py."""
    seams: Columns
    """The columns SEAM_COLUMNS."""
    committed_leaps: Columns
    """Of read_committed readers, decided already: the columns JUMP_COLUMNS."""
    empty: Ints
    """Shape (runs, 2): offsets without a record, as `empty_runs` gives them."""
    replaced: Columns
    """Records in another's place: the columns REPLACED of replaced.py."""
    suspects: Ids
    """Altered records and those out of order."""
    extremes: Extremes


@dataclass(frozen=True, slots=True, kw_only=True)
class Scan:
    """What pass 1 found in one partition, or in a part."""

    sends: SendCounts
    log_records: int
    reads: int
    committed: int = 0
    """What read_committed readers that tail the log were given."""
    reads_unread: int = 0
    """Reads of both kinds in [high watermark, log end), about which nothing is decided."""
    sums: Mapping[int, SequenceSums]
    """By producer, over its sends here: shows ids that two sends have."""
    duplicate_acks: bool = False
    """Two acks are placed at one record: certainly two sends have one id."""
    backed: BackedAcks | None = None
    """The acks of acks=all; None: they are not decided."""
    before: ReadsBefore | None = None
    """How far readers had got; None: what was read early is not decided, or the partition is not."""
    suspects: Suspects | None = None
    """None: the partition is undecided, or this is a part."""
    left: Left | None = None
    """Of a part only."""


def scan(task: PartitionTask) -> Scan:
    """Read one partition or part and name what is suspicious in it; raises MalformedHistory."""
    if task.window is None:
        return _undecided(task)
    laid = lay(task, task.window)
    return _whole(laid, task.window) if task.part is None else _part(laid)


def conclude(task: PartitionTask, window: Window, left: Left, matched: Matched) -> Suspects:
    """Decide on what position leaves of a whole partition, and name what the rules by id must look at."""
    residue, differing = left.residue, left.residue.differing
    groups = given(differing)
    its = Unexplained(
        task=task,
        window=window,
        log=residue.log,
        unplaced=residue.unplaced,
        copies=matched.copies,
        differing=differing,
        given=groups,
        senders=senders({name: column[groups.first] for name, column in differing.items()}, residue),
        matched=residue.matched,
    )
    by_id = Ids.of(residue.unplaced)[present_otherwise(residue.unplaced, matched.copies)]
    others = orphans(its)
    return Suspects(
        ids=Ids.joined([by_id, matched.strays, others, left.suspects]).unique(),
        blocks=_blocks(its, left),
        orphans=others,
    )


def _whole(laid: Laid, window: Window) -> Scan:
    left = laid.left()
    residue = laid.residue(left)
    if len(wanted := unresolved(residue)):
        rows = placed_rows(laid.log, wanted, laid.with_ack)
        left[rows[rows >= 0]] = True
        residue = laid.residue(left)
    matched = match_by_id(residue)
    acks, rows = laid.acks, np.flatnonzero(left)[matched.given.rows]
    acks.invoked_ns[rows], acks.completed_ns[rows] = matched.given.invoked_ns, matched.given.completed_ns
    order = order_of(laid.task, acks, laid.with_ack, NOTHING_BELOW)
    suspects = conclude(laid.task, window, _left(laid, residue, order), matched)
    return _scan(laid, order, suspects=suspects)


def _part(laid: Laid) -> Scan:
    order = order_of(laid.task, laid.acks, laid.with_ack, NOTHING_BELOW)
    return _scan(laid, order, left=_left(laid, laid.residue(laid.left()), order))


def _left(laid: Laid, residue: Residue, order: Order) -> Left:
    part = laid.task.part
    first = LOWEST if part is None or part.first == 0 else part.first
    end = HIGHEST if part is None or part.last == HIGHEST else part.last + 1
    altered = laid.log.ids()[np.concatenate([np.empty(0, np.int64), *laid.acks.altered])]
    return Left(
        residue=residue,
        jumps=laid.streams.jumps(),
        seams=laid.streams.seams(),
        committed_leaps=laid.leaps,
        empty=empty_runs(laid.log.offset, first, end),
        replaced=laid.replaced,
        suspects=Ids.joined([altered, order.offenders]),
        extremes=order.extremes,
    )


def _scan(laid: Laid, order: Order, *, suspects: Suspects | None = None, left: Left | None = None) -> Scan:
    return Scan(
        sends=laid.acks.counts,
        log_records=len(laid.log),
        reads=laid.reads.count - laid.committed,
        committed=laid.committed,
        reads_unread=laid.reads.unread,
        sums=added([order.sums, *_sums(laid.unplaced, laid.task)]),
        duplicate_acks=laid.duplicate_acks,
        backed=laid.backed,
        before=laid.before,
        suspects=suspects,
        left=left,
    )


def _undecided(task: PartitionTask) -> Scan:
    counted = count(task)
    return Scan(
        sends=counted.sends,
        log_records=counted.log_records,
        reads=counted.reads,
        committed=counted.committed,
        sums=counted.sums,
        backed=counted.backed,
    )


def _blocks(its: Unexplained, left: Left) -> tuple[AnomalyBlock, ...]:
    """All anomalies that one partition shows; without the blocks that have none."""
    holes = without_markers(_holes(left.empty, its.window, its.task.highest), its.task.empty)
    named = lost_below_watermark(its)
    found = [
        *lost_acks(its),
        named,
        nameless_losses(its.task, its.window, holes, named.offset),
        replaced_losses(its.task, its.window, left.replaced, named.offset),
        *lost_reads(its),
        gaps(its.task, its.window, holes),
        leaps(its.task, "reader", skips(left.jumps, left.empty)),
        leaps(its.task, "read_committed reader", left.committed_leaps),
    ]
    return tuple(each for each in found if len(each))


def _sums(unplaced: Columns, task: PartitionTask) -> Iterator[dict[int, SequenceSums]]:
    return (sums(step) for step in steps(Ids.of(unplaced), task.batch_rows))


def _holes(empty: Ints, window: Window, highest: int) -> Ints:
    """Shape (h, 2): the runs without a record from the log's start to the greatest high watermark, sampled or
    proven."""
    end = max(window.high_watermark, highest)
    first, last = np.maximum(empty[:, 0], window.log_start), np.minimum(empty[:, 1], end)
    some = first < last
    return np.stack((first[some], last[some]), axis=1)
