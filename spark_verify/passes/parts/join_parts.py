"""Puts the parts of a partition together: what pass 1 would have found in the whole.

Three things need more than one part, and are seldom there: a record without a placed ack whose id a placed
ack of another part has (`look_up`); an order that a record of lower offsets breaks (`order_again`); and what
is decided on the rows that all parts leave (`scan.conclude`), which are few but for what is lost.

    join       driver   the parts' counts, and their rows behind each other
    look_up    workers  the placed acks of some ids; no job if there are none
    below      driver   what each part must know of the parts below it
    order_again workers  the order of the parts that have to know; no job if none has
    finish     driver   the scan of the partition
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from operator import add

import numpy as np

from spark_verify.kernels.by_id.match_by_id import Matched, match_by_id, unresolved
from spark_verify.kernels.by_id.residue import Residue, joined_residues, residue_of
from spark_verify.kernels.by_position.acks import SEND_COLUMNS, PlacedAcks
from spark_verify.kernels.by_position.order import NOTHING_BELOW, Extremes, latest_of
from spark_verify.kernels.by_position.reads import JUMP_COLUMNS, SEAM_COLUMNS, jumps_between
from spark_verify.kernels.final_log import LOG_COLUMNS, FinalLog, read_final_log
from spark_verify.kernels.ids import Ids, IntegerSet
from spark_verify.kernels.replaced import REPLACED
from spark_verify.partition_task import Columns, Ints, PartitionTask, joined
from spark_verify.passes.duplicate_ids import added
from spark_verify.passes.partition.lay import numbered, order_of
from spark_verify.passes.partition.scan import Left, Scan, conclude


@dataclass(frozen=True, slots=True, kw_only=True)
class Below:
    """A part, and what it must know to judge its order."""

    task: PartitionTask
    extremes: Extremes
    """Of all offsets below it."""
    offset: Ints
    """Shape (k,): offsets of its records that are copies out of place, ascending, with the times of their
    sends."""
    invoked_ns: Ints
    completed_ns: Ints


@dataclass(frozen=True, slots=True, kw_only=True)
class Joined:
    """The parts of one partition together."""

    task: PartitionTask
    """The whole."""
    parts: Sequence[PartitionTask]
    scan: Scan
    """Counts only."""
    lefts: Sequence[Left]
    """Of the parts, in order; none of an undecided partition."""
    residue: Residue | None

    def unresolved(self) -> Ids:
        """The ids to look up in each part."""
        return Ids.none() if self.residue is None else unresolved(self.residue)

    def with_placed(self, found: Sequence[Residue]) -> "Joined":
        """The same with the records that were looked up."""
        return self if self.residue is None else replace(self, residue=self.residue.with_records(found))


def join(task: PartitionTask, parts: Sequence[PartitionTask], scans: Sequence[Scan]) -> Joined:
    """Of one partition; `scans` belong to its `parts`."""
    lefts = [scan.left for scan in scans if scan.left]
    backed = [scan.backed for scan in scans if scan.backed]
    before = [scan.before for scan in scans if scan.before]
    return Joined(
        task=task,
        parts=parts,
        scan=Scan(
            sends=reduce(add, (scan.sends for scan in scans)),
            log_records=sum(scan.log_records for scan in scans),
            reads=sum(scan.reads for scan in scans),
            committed=sum(scan.committed for scan in scans),
            reads_unread=sum(scan.reads_unread for scan in scans),
            sums=added(scan.sums for scan in scans),
            duplicate_acks=any(scan.duplicate_acks for scan in scans),
            backed=reduce(add, backed) if backed else None,
            before=reduce(add, before) if before else None,
        ),
        lefts=lefts,
        residue=joined_residues([left.residue for left in lefts]) if lefts else None,
    )


def look_up(asked: tuple[PartitionTask, Ids]) -> Residue:
    """On a worker: the records of a part with one of some ids and a placed ack; raises MalformedHistory."""
    task, ids = asked
    keys = IntegerSet(ids.keys())
    records = [_those(keys, batch) for batch in task.batches("final_log", LOG_COLUMNS)]
    acks = PlacedAcks(task, FinalLog(joined(LOG_COLUMNS, [each for each in records if len(each["offset"])])))
    for batch, _ in numbered(task, "sends", SEND_COLUMNS):
        acks.add(_those(keys, batch))
    placed, nothing = acks.rows_with_ack(), np.empty(0, np.int64)
    return residue_of(
        acks,
        np.flatnonzero(placed),
        np.zeros(len(placed), bool),
        {"row": nothing},
        {"row": nothing},
    )


def below(whole: Joined, matched: Matched) -> list[Below]:
    """The parts that may break an order with a record of a lower part, or with a copy out of place."""
    assert whole.residue is not None
    log, given = whole.residue.log, matched.given
    order = np.argsort(given.rows, kind="stable")
    offset = log.offset[given.rows[order]]
    ids, times = log.ids()[given.rows[order]], (given.invoked_ns[order], given.completed_ns[order])
    found, so_far = [], NOTHING_BELOW
    for task, left in zip(whole.parts, whole.lefts, strict=True):
        assert task.part is not None
        own = slice(
            int(np.searchsorted(offset, task.part.first)),
            int(np.searchsorted(offset, task.part.last, side="right")),
        )
        if len(offset[own]) or left.extremes.broken_by(so_far):
            found.append(
                Below(
                    task=task,
                    extremes=so_far,
                    offset=offset[own],
                    invoked_ns=times[0][own],
                    completed_ns=times[1][own],
                )
            )
        its = np.arange(own.start, own.stop)
        copies = latest_of(offset[its], ids[its], times[0][its])
        so_far = left.extremes.above(so_far)
        so_far = replace(so_far, latest=so_far.latest.later(copies) if len(its) else so_far.latest)
    return found


def order_again(asked: Below) -> Ids:
    """On a worker: who breaks an order in a part, with what is below it; raises MalformedHistory."""
    task, log = asked.task, read_final_log(asked.task)
    acks = PlacedAcks(task, log)
    for batch, _ in numbered(task, "sends", SEND_COLUMNS):
        acks.add(batch)
    rows = log.rows_at(asked.offset)
    acks.invoked_ns[rows], acks.completed_ns[rows] = asked.invoked_ns, asked.completed_ns
    return order_of(task, acks, np.zeros(len(log), bool), asked.extremes).offenders


def matched_ids(whole: Joined) -> Matched | None:
    """What the ids of the residue say about each other; None of an undecided partition."""
    return None if whole.residue is None else match_by_id(whole.residue)


def finish(whole: Joined, matched: Matched | None, offenders: Sequence[Ids]) -> Scan:
    """The scan of the whole partition; `offenders` are what was found by looking at the order again."""
    task = whole.task
    if matched is None or whole.residue is None or task.window is None:
        return whole.scan
    seams = joined(SEAM_COLUMNS, [left.seams for left in whole.lefts])
    jumps = [*(left.jumps for left in whole.lefts), jumps_between(seams)]
    left = Left(
        residue=whole.residue,
        jumps=joined(JUMP_COLUMNS, jumps),
        seams={},
        committed_leaps=joined(JUMP_COLUMNS, [left.committed_leaps for left in whole.lefts]),
        empty=_joined_runs([left.empty for left in whole.lefts]),
        replaced=joined(REPLACED, [left.replaced for left in whole.lefts]),
        suspects=Ids.joined([*(left.suspects for left in whole.lefts), *offenders]),
        extremes=NOTHING_BELOW,
    )
    return replace(whole.scan, suspects=conclude(task, task.window, left, matched))


def rows_read(whole: Joined) -> Mapping[str, int]:
    """How many rows of each bulk table its parts have read."""
    scan = whole.scan
    return {"sends": scan.sends.sends, "final_log": scan.log_records, "reads": scan.reads}


def _those(keys: IntegerSet, batch: Columns) -> Columns:
    """The rows of a batch whose id may be one of some; columns of shape (rows,)."""
    found = keys.contains(Ids.of(batch).keys())
    return {name: column[found] for name, column in batch.items()}


def _joined_runs(parts: Sequence[Ints]) -> Ints:
    """Runs [begin, end) of neighbouring parts, shape (runs, 2) each, in one list: touching ones are one."""
    runs = np.concatenate(parts)
    fresh = np.ones(len(runs), bool)
    fresh[1:] = runs[1:, 0] != runs[:-1, 1]
    starts = np.flatnonzero(fresh)
    ends = np.append(starts[1:], len(runs)) - 1
    return np.stack((runs[starts, 0], runs[ends, 1]), axis=1)
