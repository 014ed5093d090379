"""What comparing by position leaves of a partition: the few rows on which ids and evidence decide.

Every rule about one partition looks at its log only at the offsets of unplaced sends and of differing reads,
and by the ids of the records without a placed ack. So these records stand for the whole log, however long it
is, and what several parts leave is put together by putting their rows together.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from spark_verify.kernels.by_position.acks import NEVER, UNPLACED, PlacedAcks
from spark_verify.kernels.by_position.reads import DIFFERING
from spark_verify.kernels.final_log import LOG_COLUMNS, FinalLog
from spark_verify.partition_task import Bools, Columns, Ints, joined

_TIMES = ("invoked_ns", "completed_ns", "matched")


@dataclass(frozen=True, slots=True, kw_only=True)
class Residue:
    """The records, sends and reads that are left; n records, m sends, k reads.

    Fields:
        log            the n records, in a log of their own
        invoked_ns     shape (n,), int64, ns: of the send whose ack is placed there; NOT_YET without one
        completed_ns   shape (n,): when it was acknowledged; NEVER without one
        matched        shape (n,), bool: which of those at offsets of differing reads were read as they are
        unplaced       the columns UNPLACED of acks.py, shape (m,), in file order
        differing      the columns DIFFERING of reads.py, shape (k,), in file order
    """

    log: FinalLog
    invoked_ns: Ints
    completed_ns: Ints
    matched: Bools
    unplaced: Columns
    differing: Columns

    def with_ack(self) -> Bools:
        """Shape (n,): which records have a placed ack."""
        with_ack: Bools = self.completed_ns != NEVER
        return with_ack

    def with_records(self, others: "Sequence[Residue]") -> "Residue":
        """The same with the records of others, each offset once."""
        both = joined_residues([self, *others])
        return replace(both, unplaced=self.unplaced, differing=self.differing)


def residue_of(
    acks: PlacedAcks, rows: Ints, matched: Bools, unplaced: Columns, differing: Columns
) -> Residue:
    """The residue whose records are some `rows` of a log, ascending, shape (n,); `matched` has shape (log
    rows,)."""
    return Residue(
        log=FinalLog(acks.log.columns(rows)),
        invoked_ns=acks.invoked_ns[rows],
        completed_ns=acks.completed_ns[rows],
        matched=matched[rows],
        unplaced=unplaced,
        differing=differing,
    )


def rows_left(log: FinalLog, with_ack: Bools, offsets: Sequence[Ints]) -> Bools:
    """Which rows a residue needs: those without a placed ack, and those at any of some offsets (arrays of any
    length). Shape (log rows,), as `with_ack`."""
    left = ~with_ack
    for each in offsets:
        rows = log.rows_at(each)
        left[rows[rows >= 0]] = True
    return left


def joined_residues(parts: Sequence[Residue]) -> Residue:
    """What several parts of one partition leave; of records at one offset the first part's."""
    rows = [
        part.log.columns(np.arange(len(part.log))) | {name: getattr(part, name) for name in _TIMES}
        for part in parts
    ]
    records = joined((*LOG_COLUMNS, *_TIMES), rows)
    order = np.argsort(records["offset"], kind="stable")
    offset = records["offset"][order]
    fresh = np.ones(len(offset), bool)
    fresh[1:] = offset[1:] != offset[:-1]
    records = {name: column[order[fresh]] for name, column in records.items()}
    return Residue(
        log=FinalLog({name: records[name] for name in LOG_COLUMNS}),
        **{name: records[name] for name in _TIMES},
        unplaced=_in_file_order(UNPLACED, [part.unplaced for part in parts]),
        differing=_in_file_order(DIFFERING, [part.differing for part in parts]),
    )


def _in_file_order(names: Sequence[str], parts: Sequence[Columns]) -> Columns:
    """The columns of all parts, each of shape (rows,), by their column `row`."""
    rows = joined(names, [part for part in parts if len(part["row"])])
    order = np.argsort(rows["row"], kind="stable")
    return {name: column[order] for name, column in rows.items()}
