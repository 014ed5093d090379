"""Blocks of anomalies from arrays: holes of the log and leaps of readers, and the one way to make a block."""

import numpy as np

from checkers.anomalies import COLUMNS, AnomalyBlock
from checkers.history.records.markers import EVERY_HOLE, EmptyOffsets
from checkers.history.tables import NONE
from checkers.properties import Property
from spark_verify.kernels.anomalies.notes import HoleNote, LeapNote, Note, ReplacedNote
from spark_verify.kernels.ids import distinct
from spark_verify.kernels.replaced import REPLACED
from spark_verify.partition_task import Columns, Ints, PartitionTask, Window


def block(wanted: Property, task: PartitionTask, columns: Columns, note: Note) -> AnomalyBlock:
    """The anomalies of one property in a partition; what `columns` lack is NONE, and `last_offset` is
    `offset`. Columns that are one array here are sent from the worker once."""
    offset = columns["offset"]
    unknown = np.full(len(offset), NONE)
    whole = {"last_offset": offset, **columns}
    columns = {name: whole.get(name, unknown).astype(np.int64, copy=False) for name in COLUMNS}
    return AnomalyBlock(property=wanted, tp=task.tp, replica=NONE, note=note, **columns)


def gaps(task: PartitionTask, window: Window, holes: Ints) -> AnomalyBlock:
    """offset-gap: the holes, as far as they lie in [log start, high watermark)."""
    below = holes[holes[:, 0] < window.high_watermark]
    first, last = below[:, 0], np.minimum(below[:, 1], window.high_watermark) - 1
    words = f"{{nothing}}, the high watermark is {window.high_watermark}"
    return _ranges(Property.OFFSET_GAP, task, first, last, words)


def nameless_losses(task: PartitionTask, window: Window, holes: Ints, named: Ints) -> AnomalyBlock:
    """hw-loss: the runs of empty offsets below a sampled high watermark that no witness names.

    `named`, shape (w,), are the offsets of the losses that a witness names.
    """
    runs = _without(_read_only(holes, window, task.highest), distinct(named))
    words = f"the high watermark was {task.highest} once, {{nothing}} now"
    return _ranges(Property.HW_LOSS, task, runs[:, 0], runs[:, 1] - 1, words)


def replaced_losses(task: PartitionTask, window: Window, replaced: Columns, named: Ints) -> AnomalyBlock:
    """hw-loss: the runs of offsets below a sampled high watermark that hold records of one later leader
    epoch, and that no witness names. `replaced`: the columns REPLACED of replaced.py."""
    offset = replaced["offset"]
    left = (offset >= window.log_start) & ~window.unread(offset) & ~np.isin(offset, named)
    offset, epoch, under = (replaced[name][left] for name in REPLACED)
    fresh = np.ones(len(offset), bool)
    fresh[1:] = (np.diff(offset) != 1) | (np.diff(epoch) != 0) | (np.diff(under) != 0)
    begins = np.flatnonzero(fresh)
    ends = np.append(begins[1:], len(offset))[: len(begins)] - 1
    run = {"offset": offset[begins], "last_offset": offset[ends], "under_epoch": under[begins]}
    note = ReplacedNote(
        first=offset[begins], last=offset[ends], under_epoch=under[begins], leader_epoch=epoch[begins]
    )
    return block(Property.HW_LOSS, task, run, note)


def without_markers(holes: Ints, known: EmptyOffsets) -> Ints:
    """The holes without the offsets where a marker lies, or nobody knows whether one does; again (h, 2)."""
    if known == EVERY_HOLE:
        return holes
    first, end = np.maximum(holes[:, 0], known.known_from), np.minimum(holes[:, 1], known.known_to)
    marked = np.array(sorted(known.marked), np.int64)
    return _without(_ascending(np.stack((first, end), axis=1)), marked)


def leaps(task: PartitionTask, who: str, skips: Columns) -> AnomalyBlock:
    """monotone-read, of the columns JUMP_COLUMNS of reads.py; its id is reader/generation. `who`: what such a
    reader is called."""
    columns = {
        "offset": skips["offset"],
        "producer": skips["reader"],
        "sequence": skips["generation"],
        "invoked_ns": skips["before_ns"],
        "completed_ns": skips["read_ns"],
        "acked_offset": skips["before"],
    }
    note = LeapNote(who=who, reader=skips["reader"], before=skips["before"], offset=skips["offset"])
    return block(Property.MONOTONE_READ, task, columns, note)


def _ranges(wanted: Property, task: PartitionTask, first: Ints, last: Ints, words: str) -> AnomalyBlock:
    note = HoleNote(words=words, first=first, last=last)
    return block(wanted, task, {"offset": first, "last_offset": last}, note)


def _read_only(holes: Ints, window: Window, highest: int) -> Ints:
    """The parts of holes below `highest` about which the final read decides; both of shape (·, 2)."""
    first, end = holes[:, 0], np.minimum(holes[:, 1], highest)
    parts = [(first, end)]
    if window.high_watermark < window.log_end:
        parts = [
            (first, np.minimum(end, window.high_watermark)),
            (np.maximum(first, window.log_end), end),
        ]
    return _ascending(np.concatenate([np.stack(part, axis=1) for part in parts]))


def _without(runs: Ints, offsets: Ints) -> Ints:
    """Disjoint ascending runs (shape (r, 2)) without some ascending offsets (shape (w,)); again such runs."""
    if not len(runs):
        return runs
    at = np.maximum(np.searchsorted(runs[:, 0], offsets, side="right") - 1, 0)
    cut = offsets[(runs[at, 0] <= offsets) & (offsets < runs[at, 1])]
    first = np.sort(np.concatenate((runs[:, 0], cut + 1)))
    end = np.sort(np.concatenate((runs[:, 1], cut)))
    return _ascending(np.stack((first, end), axis=1))


def _ascending(runs: Ints) -> Ints:
    """The runs that are not empty, by offset."""
    some = runs[runs[:, 0] < runs[:, 1]]
    return some[np.argsort(some[:, 0], kind="stable")]
