"""Which log records break an order, each with the record that proves it: both are what the rules need to see.

The reference rules for producer-order and real-time-order give the right answer on any part of the log
that holds each offender together with a greatest record before it: fewer records before another one
cannot make it an offender.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from checkers.rows import NO_ID
from spark_verify.claims import Claims
from spark_verify.final_log import FinalLog
from spark_verify.unit import Ints

_FEW = 256
"""So many numbers fit a byte, which sorts in one pass."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ByProducer:
    """The rows of a log grouped by producer, in log order within a group: group i is [starts[i],
    starts[i + 1])."""

    rows: Ints
    sequence: Ints
    """Of each row."""
    starts: Ints

    @classmethod
    def of(cls, log: FinalLog) -> "ByProducer":
        """Group the rows of a log."""
        lowest = int(log.producer.min(initial=0))
        if int(log.producer.max(initial=0)) - lowest < _FEW:
            code: npt.NDArray[np.integer] = (log.producer - lowest).astype(np.uint8)
        else:
            code = np.unique(log.producer, return_inverse=True)[1]
        rows = np.argsort(code, kind="stable")
        starts = np.unique(np.concatenate(([0], np.cumsum(np.bincount(code)))))
        return cls(rows=rows, sequence=log.sequence[rows], starts=starts)


def out_of_sequence(log: FinalLog, groups: ByProducer) -> Ints:
    """The rows whose sequence is below an earlier one of their producer, and the rows of those earlier
    ones."""
    falls = np.flatnonzero(groups.sequence[1:] < groups.sequence[:-1]) + 1
    falls = falls[~np.isin(falls, groups.starts)]
    found = [np.empty(0, np.int64)]
    for group in np.unique(np.searchsorted(groups.starts, falls, side="right") - 1).tolist():
        rows = groups.rows[groups.starts[group] : groups.starts[group + 1]]
        rows = rows[(log.producer[rows] != NO_ID.producer) | (log.sequence[rows] != NO_ID.sequence)]
        found.append(rows[_below_the_greatest_before(log.sequence[rows], log.sequence[rows])])
    return np.concatenate(found)


def out_of_real_time(claims: Claims) -> Ints:
    """The rows that lie behind a record invoked after their completion, and the rows of those records."""
    return _below_the_greatest_before(claims.completed_ns, claims.invoked_ns)


def _below_the_greatest_before(values: Ints, others: Ints) -> Ints:
    """Places where a value is below the greatest of `others` at lower places, and the first places of
    those."""
    greatest = np.maximum.accumulate(others)
    below = np.flatnonzero(values[1:] < greatest[:-1]) + 1
    if not below.size:
        return below
    return np.union1d(below, np.searchsorted(greatest, greatest[below - 1]))
