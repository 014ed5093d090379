"""Which log records break an order, each with the record that proves it: the rules need both.

The reference rules for producer-order and real-time-order give the right answer on any part of the log
that holds each offender together with a greatest record before it: fewer records before another one
cannot make it an offender.

A log is walked in steps that fit a core's cache, which only show whether the order is kept. Only if it is
not, the whole log is compared again.

A row is a place in the arrays of `FinalLog` (int64); n is the number of rows of the log.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from checkers.history.rows import NO_ID
from spark_verify.kernels.acks import NOT_YET, PlacedAcks
from spark_verify.kernels.final_log import FinalLog
from spark_verify.kernels.ids import Ids, Producers
from spark_verify.partition_task import Bools, Ints

_FITS_A_BYTE = 256


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """s consecutive rows of a list of ids, in g groups by producer; group i is [starts[i], starts[i + 1]).

    Fields:
        producers  shape (g,), int32: the producer of each group
        starts     shape (g,), int64: where each group begins in the next two
        rows       shape (s,), int64: places in the list, ascending within a group
        sequence   shape (s,), int64: the sequence at each of these rows
    """

    producers: Producers
    starts: Ints
    rows: Ints
    sequence: Ints

    def kept(self, wanted: Bools) -> "Step":
        """The same without rows that are not wanted; `wanted` has shape (n,), one entry for each id of the
        list."""
        keep = wanted[self.rows]
        if keep.all():
            return self
        sizes = np.add.reduceat(keep, self.starts, dtype=np.int64)
        some = sizes > 0
        return Step(
            producers=self.producers[some],
            starts=(np.cumsum(sizes) - sizes)[some],
            rows=self.rows[keep],
            sequence=self.sequence[keep],
        )


def steps(ids: Ids, size: int) -> Iterator[Step]:
    """All n ids, at most `size` rows at a time."""
    for begin in range(0, len(ids), size):
        producer = ids.producer[begin : begin + size]
        order = np.argsort(_small(producer), kind="stable")
        its = producer[order]
        fresh = np.ones(len(its), bool)
        fresh[1:] = its[1:] != its[:-1]
        starts = np.flatnonzero(fresh)
        yield Step(
            producers=its[starts],
            starts=starts,
            rows=order + begin,
            sequence=ids.sequence[begin : begin + size][order],
        )


def _small(producer: Producers) -> npt.NDArray[np.integer]:
    """The same order in bytes (uint8), if it fits: those sort in one pass. Shape unchanged."""
    lowest = int(producer.min())
    small = int(producer.max()) - lowest < _FITS_A_BYTE
    return (producer - lowest).astype(np.uint8) if small else producer


class Sequences:
    """Finds rows whose sequence is below an earlier one of their producer."""

    def __init__(self, log: FinalLog) -> None:
        self._log = log
        self._greatest: dict[int, int] = {}
        self._doubtful: set[int] = set()

    def add(self, step: Step) -> None:
        """The next rows of the log."""
        falls = np.flatnonzero(step.sequence[1:] < step.sequence[:-1]) + 1
        falls = falls[~np.isin(falls, step.starts)]
        self._doubtful |= set(step.producers[np.searchsorted(step.starts, falls, side="right") - 1].tolist())
        first, most = step.sequence[step.starts], np.maximum.reduceat(step.sequence, step.starts)
        for producer, its_first, its_most in zip(
            step.producers.tolist(), first.tolist(), most.tolist(), strict=True
        ):
            before = self._greatest.get(producer, its_first)
            if its_first < before:
                self._doubtful.add(producer)
            self._greatest[producer] = max(before, its_most)

    def offenders(self) -> Ints:
        """The rows whose sequence is below an earlier one, and the rows of those earlier ones; shape (k,)."""
        found = [np.empty(0, np.int64)]
        for producer in sorted(self._doubtful):
            rows = np.flatnonzero(self._log.producer == producer)
            sequence = self._log.sequence[rows]
            if producer == NO_ID.producer:
                rows = rows[sequence != NO_ID.sequence]
                sequence = self._log.sequence[rows]
            found.append(rows[_below_the_greatest_before(sequence, sequence)])
        return np.concatenate(found)


def out_of_real_time(acks: PlacedAcks, size: int) -> Ints:
    """The rows that lie behind a record invoked after their completion, and the rows of those; shape (k,),
    int64.

    Reads `acks.invoked_ns` and `acks.answered_ns()` (shape (n,), ns), at most `size` rows at a time.
    """
    latest, answered_ns = NOT_YET, acks.answered_ns()
    for begin in range(0, len(acks.invoked_ns), size):
        invoked = acks.invoked_ns[begin : begin + size]
        completed = answered_ns[begin : begin + size]
        latest_before = np.maximum.accumulate(np.concatenate(([latest], invoked)))
        if (completed < latest_before[:-1]).any():
            return _below_the_greatest_before(answered_ns, acks.invoked_ns)
        latest = latest_before[-1]
    return np.empty(0, np.int64)


def _below_the_greatest_before(values: Ints, others: Ints) -> Ints:
    """Places where a value is below the greatest of `others` before it, and the first places of those
    greatest.

    `values` and `others` have shape (r,), int64, of one unit; the places have shape (k,), ascending.
    """
    greatest = np.maximum.accumulate(others)
    below = np.flatnonzero(values[1:] < greatest[:-1]) + 1
    if not below.size:
        return below
    return np.union1d(below, np.searchsorted(greatest, greatest[below - 1]))
