"""Which log records break an order, each with the record that proves it: the rules need both.

The reference rules for producer-order and real-time-order give the right answer on any part of the log
that holds each offender together with a greatest record before it: fewer records before another one
cannot make it an offender.

A log is walked in steps that fit a core's cache, which only show whether the order is kept. Only if it is
not, the whole log is compared again.

A row is a place in the arrays of `FinalLog` (int64); n is the number of rows of the log.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from checkers.history.rows import NO_ID, RecordId
from checkers.history.tables import NONE
from spark_verify.kernels.by_position.acks import NEVER, NOT_YET, PlacedAcks
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Latest:
    """The record with the latest invocation in some offsets, of several the one with the lowest offset."""

    invoked_ns: int = NOT_YET
    offset: int = NONE
    id: RecordId = NO_ID

    def later(self, other: "Latest") -> "Latest":
        """Which of the two it is, over the offsets of both."""
        if self.invoked_ns != other.invoked_ns:
            return max(self, other, key=lambda each: each.invoked_ns)
        return min(self, other, key=lambda each: each.offset)


@dataclass(frozen=True, slots=True, kw_only=True)
class Extremes:
    """What lower offsets of a partition say about higher ones, and the other way round.

    An offender within [first, last] of a part whose record of proof lies below it shows by `least` and
    `answered_ns` against the `greatest` and the `latest` of all offsets below.
    """

    greatest: Mapping[int, int]
    """By producer, its greatest sequence."""
    least: Mapping[int, int]
    """By producer, its least."""
    latest: Latest
    answered_ns: int = NEVER
    """When the first of the records was acknowledged that producers waited for."""

    def broken_by(self, below: "Extremes") -> bool:
        """Whether an offender here may have its proof below."""
        return self.answered_ns < below.latest.invoked_ns or any(
            least < below.greatest.get(producer, least) for producer, least in self.least.items()
        )

    def above(self, below: "Extremes") -> "Extremes":
        """The extremes of both together."""
        return Extremes(
            greatest=_by_producer(max, below.greatest, self.greatest),
            least=_by_producer(min, below.least, self.least),
            latest=below.latest.later(self.latest),
            answered_ns=min(below.answered_ns, self.answered_ns),
        )


NOTHING_BELOW = Extremes(greatest={}, least={}, latest=Latest())


def _by_producer(
    choose: Callable[[int, int], int], one: Mapping[int, int], other: Mapping[int, int]
) -> Mapping[int, int]:
    both = dict(one)
    for producer, value in other.items():
        both[producer] = choose(both[producer], value) if producer in both else value
    return both


class Sequences:
    """Finds records whose sequence is below an earlier one of their producer."""

    def __init__(self, log: FinalLog, below: Mapping[int, int]) -> None:
        """`below` is the greatest sequence of each producer at lower offsets than the log's."""
        self._log = log
        self._below = below
        self.greatest: dict[int, int] = {}
        self.least: dict[int, int] = {}
        self._doubtful: set[int] = set()

    def add(self, step: Step) -> None:
        """The next rows of the log."""
        falls = np.flatnonzero(step.sequence[1:] < step.sequence[:-1]) + 1
        falls = falls[~np.isin(falls, step.starts)]
        self._doubtful |= set(step.producers[np.searchsorted(step.starts, falls, side="right") - 1].tolist())
        columns = (
            step.producers,
            step.sequence[step.starts],
            np.minimum.reduceat(step.sequence, step.starts),
            np.maximum.reduceat(step.sequence, step.starts),
        )
        for producer, its_first, its_least, its_most in zip(*(c.tolist() for c in columns), strict=True):
            before = self.greatest.get(producer, self._below.get(producer, its_first))
            if its_first < before:
                self._doubtful.add(producer)
            self.greatest[producer] = max(self.greatest.get(producer, its_most), its_most)
            self.least[producer] = min(self.least.get(producer, its_least), its_least)

    def offenders(self) -> Ids:
        """The records whose sequence is below an earlier one, and those earlier ones."""
        return Ids.joined([self._offenders(producer) for producer in sorted(self._doubtful)])

    def _offenders(self, producer: int) -> Ids:
        rows = np.flatnonzero(self._log.producer == producer)
        if producer == NO_ID.producer:
            rows = rows[self._log.sequence[rows] != NO_ID.sequence]
        sequence, below = self._log.sequence[rows], self._below.get(producer, NOT_YET)
        places = _below_the_greatest_before(sequence, sequence, below)
        found = self._log.ids()[rows[places[places >= 0]]]
        return Ids.joined([found, Ids.one(RecordId(producer, below))]) if (places < 0).any() else found


def out_of_real_time(acks: PlacedAcks, size: int, below: Latest) -> Ids:
    """The records that lie behind one invoked after their completion, and those.

    Reads `acks.invoked_ns` and `acks.answered_ns()` (shape (n,), ns), at most `size` rows at a time. `below`
    is of lower offsets than the log's.
    """
    latest, answered_ns = below.invoked_ns, acks.answered_ns()
    for begin in range(0, len(acks.invoked_ns), size):
        invoked = acks.invoked_ns[begin : begin + size]
        completed = answered_ns[begin : begin + size]
        latest_before = np.maximum.accumulate(np.concatenate(([latest], invoked)))
        if (completed < latest_before[:-1]).any():
            places = _below_the_greatest_before(answered_ns, acks.invoked_ns, below.invoked_ns)
            found = acks.log.ids()[places[places >= 0]]
            return Ids.joined([found, Ids.one(below.id)]) if (places < 0).any() else found
        latest = latest_before[-1]
    return Ids.none()


def latest_of(offset: Ints, ids: Ids, invoked_ns: Ints) -> Latest:
    """Of k records by offset; the arrays have shape (k,)."""
    if not len(offset):
        return Latest()
    at = int(np.argmax(invoked_ns))
    return Latest(invoked_ns=int(invoked_ns[at]), offset=int(offset[at]), id=ids.at(at))


def _below_the_greatest_before(values: Ints, others: Ints, below: int) -> Ints:
    """Places where a value is below the greatest of `others` before it, and the first places of those
    greatest; -1 among them if that is `below`, which is before all.

    `values` and `others` have shape (r,), int64, of one unit; the places have shape (k,), ascending.
    """
    greatest = np.maximum.accumulate(np.concatenate((np.array([below], np.int64), others)))
    found = np.flatnonzero(values < greatest[:-1])
    if not found.size:
        return found
    return np.union1d(found, np.searchsorted(greatest, greatest[found]) - 1)
