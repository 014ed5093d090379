"""How far readers had got by some times: the greatest offset that was read before each.

Shapes: times (k,), int64, ascending, in ns; columns of a batch (rows,).
"""

from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from checkers.history.tables import NONE
from spark_verify.partition_task import Columns, Ints


@dataclass(slots=True, kw_only=True)
class ReadsBefore:
    """What was read so far. Those of two parts of a partition add up."""

    times: Ints
    _highest: Ints = field(init=False)
    """Shape (k,): the greatest offset that was read between each time and the one before; -1 if none was."""
    _read_ns: Ints = field(init=False)
    """Shape (k,): when that was read first."""

    def __post_init__(self) -> None:
        self._highest = np.full(len(self.times), NONE, np.int64)
        self._read_ns = self._highest.copy()

    def __add__(self, other: "ReadsBefore") -> "ReadsBefore":
        both = ReadsBefore(times=self.times)
        for part in (self, other):
            both._keep(np.arange(len(self.times)), part._highest, part._read_ns)
        return both

    def add(self, reads: Columns) -> None:
        """Take one batch of reads: the columns `offset` and `read_ns`."""
        offset, read_ns = reads["offset"], reads["read_ns"]
        if not len(offset) or not len(self.times):
            return
        if (read_ns[1:] < read_ns[:-1]).any():  # several readers; one reader's rows are by time
            order = np.argsort(read_ns, kind="stable")
            offset, read_ns = offset[order], read_ns[order]
        self._add_sorted(offset, read_ns)

    def highest(self) -> tuple[Ints, Ints]:
        """The greatest offset that was read before each time, and when it was read first; both of shape
        (k,), -1 where nothing was."""
        highest = np.maximum.accumulate(self._highest)
        return highest, self._read_ns[np.searchsorted(highest, highest, side="left")]

    def _add_sorted(self, offset: Ints, read_ns: Ints) -> None:
        """The reads between two times lie behind each other: few stretches in a batch. A read at just a time
        is not before it."""
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
            self._keep(places, offset[rows], read_ns[rows])

    def _keep(self, places: Ints, offset: Ints, read_ns: Ints) -> None:
        """Take what is higher than what was known at some places, or as high and sooner."""
        known, known_ns = self._highest[places], self._read_ns[places]
        better = (offset > known) | ((offset == known) & (read_ns < known_ns))
        self._highest[places] = np.where(better, offset, known)
        self._read_ns[places] = np.where(better, read_ns, known_ns)
