"""What readers were given and the final log does not hold there: each record once, with its send as evidence.

All of it is about one partition. Differing reads are the columns DIFFERING of reads.py, in file order; a
*row* of them is a place in these arrays (int64).
"""

from dataclasses import dataclass

import numpy as np

from checkers.history.columnar import shared
from checkers.history.tables import NONE, Outcome
from spark_verify.kernels.by_id.match_by_id import acked_there, placed_rows
from spark_verify.kernels.by_id.residue import Residue
from spark_verify.kernels.final_log import LOG_COLUMNS, FinalLog
from spark_verify.kernels.ids import Ids, distinct, match
from spark_verify.partition_task import Bools, Columns, Ints


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """g different (offset, id) and the c different (offset, id, checksum) among them, both by offset."""

    first: Ints
    """Shape (g,): the row of the first read of each (offset, id), in file order."""
    content: Ints
    """Shape (c,): the row of the first read of each (offset, id, checksum)."""
    of: Ints
    """Shape (c,): which (offset, id) each of these is."""
    epoch: Ints
    """Shape (c,): the leader epoch of the batches in which it was read; NONE if there were several."""


def given(differing: Columns) -> Given:
    """Group the k differing reads by what was given; O(k log k), O(k) if their offsets ascend."""
    offset = differing["offset"]
    if not len(offset) or (offset[1:] > offset[:-1]).all():
        every = np.arange(len(offset))
        return Given(first=every, content=every, of=every, epoch=differing["leader_epoch"])
    names = ("checksum", "sequence", "producer", "offset")
    order = np.lexsort([differing[name] for name in names])  # stable: equal reads stay in file order
    new_id, new_content = np.ones((2, len(order)), bool)
    checksum, *identity = (differing[name][order] for name in names)
    new_id[1:] = np.logical_or.reduce([column[1:] != column[:-1] for column in identity])
    new_content[1:] = new_id[1:] | (checksum[1:] != checksum[:-1])
    return Given(
        first=np.minimum.reduceat(order, np.flatnonzero(new_id)),
        content=order[new_content],
        of=(np.cumsum(new_id) - 1)[new_content],
        epoch=shared(differing["leader_epoch"][order], np.flatnonzero(new_content)),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Senders:
    """The sends of g reads, as far as they are of this partition; shapes (g,), NONE where there is none."""

    invoked_ns: Ints
    completed_ns: Ints
    """Only of an ack at the very offset that was read: another copy's says nothing about this one."""
    acked_offset: Ints
    unplaced: Ints
    """Its place among the unplaced sends; -1 if it is not one of them."""
    known: Bools


def senders(reads: Columns, residue: Residue) -> Senders:
    """Find the sends of g reads (columns offset, producer and sequence), by place first: most were lost where
    they had been acknowledged."""
    unplaced, ids, sends = residue.unplaced, Ids.of(reads), Ids.of(residue.unplaced)
    source = acked_there(reads["offset"], ids, unplaced["offset"], sends)
    others = np.flatnonzero(source < 0)
    source[others] = match(ids[others], sends)
    found = np.flatnonzero(source >= 0)
    at = source[found]
    columns = {name: np.full(len(ids), NONE, np.int64) for name in ("invoked_ns", "completed_ns", "offset")}
    columns["invoked_ns"][found] = unplaced["invoked_ns"][at]
    columns["offset"][found] = unplaced["offset"][at]
    acked = unplaced["outcome"][at] == Outcome.OK
    columns["completed_ns"][found[acked]] = unplaced["completed_ns"][at[acked]]
    others = np.flatnonzero(source < 0)
    rows = placed_rows(residue.log, ids[others], residue.with_ack())
    others, rows = others[rows >= 0], rows[rows >= 0]
    columns["invoked_ns"][others] = residue.invoked_ns[rows]
    columns["completed_ns"][others] = residue.completed_ns[rows]
    columns["offset"][others] = residue.log.offset[rows]
    known = source >= 0
    known[others] = True
    return Senders(
        invoked_ns=columns["invoked_ns"],
        completed_ns=np.where(columns["offset"] == reads["offset"], columns["completed_ns"], NONE),
        acked_offset=columns["offset"],
        unplaced=source,
        known=known,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Disagreements:
    """d offsets at which readers were given different records, ascending, and what was given there."""

    offset: Ints
    """Shape (d,)."""
    edges: Ints
    """Shape (d + 1,): the records of each are [edges[i], edges[i + 1])."""
    records: Columns
    """Columns LOG_COLUMNS, shape (r,) each, sorted by producer, sequence and checksum within an offset."""


def disagreements(differing: Columns, groups: Given, log: FinalLog, matched: Bools) -> Disagreements:
    """Where readers were given different records; `matched`, shape (log rows,), is which rows some reader was
    given as they are."""
    rows = log.rows_at(differing["offset"][groups.content])
    several = (rows >= 0) & matched[rows] if len(log) else np.zeros(len(rows), bool)
    offset = differing["offset"][groups.content]
    again = offset[1:] == offset[:-1]
    several[1:] |= again
    several[:-1] |= again
    others, same = groups.content[several], log.columns(np.flatnonzero(matched))
    records: Columns = {name: np.concatenate((differing[name][others], same[name])) for name in LOG_COLUMNS}
    order = np.lexsort([records[name] for name in ("checksum", "sequence", "producer", "offset")])
    offset = records["offset"][order]
    new = np.ones(len(offset), bool)
    new[1:] = offset[1:] != offset[:-1]
    starts = np.flatnonzero(new)
    sizes = np.diff(np.append(starts, len(offset)))
    several = sizes > 1
    order = order[np.repeat(several, sizes)]
    return Disagreements(
        offset=offset[starts[several]],
        edges=np.concatenate(([0], np.cumsum(sizes[several]))),
        records={name: column[order] for name, column in records.items()},
    )


def doubtful_rows(differing: Columns, log: FinalLog) -> Ints:
    """The log rows at the offsets of differing reads, each once: if a reader was given such a row too, the
    readers disagree. Shape (r,)."""
    rows = distinct(log.rows_at(differing["offset"]))
    return rows[rows >= 0]
