"""How far readers had got by some times: the greatest offset that was read before each.

Shapes: times (k,), int64, ascending, in ns; columns of a batch (rows,).
"""

from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from checkers.history.tables import NONE
from spark_verify.partition_task import Columns, Ints


class TopReads(NamedTuple):
    """The first read of the greatest offset in each of k spans of time; shapes (k,), -1 where nothing was
    read."""

    offset: Ints
    read_ns: Ints
    leader_epoch: Ints

    @classmethod
    def none(cls, spans: int) -> "TopReads":
        """Of spans in which nothing was read."""
        return cls(*(np.full(spans, NONE, np.int64) for _ in cls._fields))

    def at(self, places: Ints) -> "TopReads":
        """Those of some places."""
        return TopReads(*(column[places] for column in self))


@dataclass(slots=True, kw_only=True)
class ReadsBefore:
    """What was read so far. Those of two parts of a partition add up."""

    times: Ints
    _between: TopReads = field(init=False)
    """Between each time and the one before."""

    def __post_init__(self) -> None:
        self._between = TopReads.none(len(self.times))

    def __add__(self, other: "ReadsBefore") -> "ReadsBefore":
        both = ReadsBefore(times=self.times)
        for part in (self, other):
            both._keep(np.arange(len(self.times)), part._between)
        return both

    def add(self, reads: Columns) -> None:
        """Take one batch of reads: the columns `offset`, `read_ns` and `leader_epoch`."""
        given = TopReads(*(reads[name] for name in TopReads._fields))
        if not len(given.offset) or not len(self.times):
            return
        if (given.read_ns[1:] < given.read_ns[:-1]).any():  # several readers; one reader's rows are by time
            given = given.at(np.argsort(given.read_ns, kind="stable"))
        self._add_sorted(given)

    def highest(self) -> TopReads:
        """What was read before each time."""
        highest = np.maximum.accumulate(self._between.offset)
        return self._between.at(np.searchsorted(highest, highest, side="left"))

    def _add_sorted(self, given: TopReads) -> None:
        """The reads between two times lie behind each other: few stretches in a batch. A read at just a time
        is not before it."""
        offset, read_ns = given.offset, given.read_ns
        first = int(np.searchsorted(self.times, read_ns[0], side="right"))
        last = int(np.searchsorted(self.times, read_ns[-1], side="right"))
        ends = np.searchsorted(read_ns, self.times[first : last + 1], side="left").tolist()
        stretches = [
            (first + place, begin + int(np.argmax(offset[begin:end])))
            for place, (begin, end) in enumerate(pairwise([0, *ends]))
            if begin < end
        ]
        if stretches:
            places, rows = np.array(stretches).T
            self._keep(places, given.at(rows))

    def _keep(self, places: Ints, given: TopReads) -> None:
        """Take what is higher than what was known at some places, or as high and sooner."""
        known = self._between.at(places)
        sooner = (given.offset == known.offset) & (given.read_ns < known.read_ns)
        better = np.flatnonzero((given.offset > known.offset) | sooner)
        for column, taken in zip(self._between, given.at(better), strict=True):
            column[places[better]] = taken
