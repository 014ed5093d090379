"""Lists of record ids as two arrays, not packed: every int32 producer and int64 sequence is a valid id."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from checkers.history.rows import NO_ID, RecordId
from spark_verify.partition_task import Bools, Columns, Ints

_MANY = 8
"""Looked for in so many times more ids, a few are compared by their sequences first."""
_LEAST_ROOM, _ROOM_PER_VALUE = 1 << 16, 16
Producers = npt.NDArray[np.int32]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ids:
    """n record ids: `producer[i], sequence[i]` is one of them. Shapes (n,); producer int32, sequence
    int64."""

    producer: Producers
    sequence: Ints

    @classmethod
    def of(cls, columns: Columns) -> "Ids":
        """The ids of rows with the columns producer and sequence."""
        return cls(producer=columns["producer"].astype(np.int32, copy=False), sequence=columns["sequence"])

    @classmethod
    def none(cls) -> "Ids":
        """No id."""
        return cls(producer=np.empty(0, np.int32), sequence=np.empty(0, np.int64))

    @classmethod
    def one(cls, record: RecordId) -> "Ids":
        """A single id."""
        return cls(
            producer=np.array([record.producer], np.int32), sequence=np.array([record.sequence], np.int64)
        )

    @classmethod
    def joined(cls, parts: "list[Ids]") -> "Ids":
        """All ids of the parts, each as often as it is in them."""
        every = [cls.none(), *parts]
        return cls(
            producer=np.concatenate([part.producer for part in every]),
            sequence=np.concatenate([part.sequence for part in every]),
        )

    def __len__(self) -> int:
        return len(self.producer)

    def __getitem__(self, wanted: npt.NDArray[np.generic]) -> "Ids":
        return Ids(producer=self.producer[wanted], sequence=self.sequence[wanted])

    def order(self) -> Ints:
        """The place of each id when they are sorted by producer and sequence, stable; shape (n,), int64."""
        return np.lexsort((self.sequence, self.producer))

    def sorted(self) -> "Ids":
        """The same ids, by producer and sequence."""
        return self[self.order()]

    def repeats(self) -> Bools:
        """Which of them are equal to the one before; shape (n,)."""
        found = np.zeros(len(self), bool)
        found[1:] = (self.producer[1:] == self.producer[:-1]) & (self.sequence[1:] == self.sequence[:-1])
        return found

    def unique(self) -> "Ids":
        """Each id once, sorted."""
        ordered = self.sorted()
        return ordered[~ordered.repeats()]

    def at(self, place: int) -> RecordId:
        """One of them."""
        return RecordId(int(self.producer[place]), int(self.sequence[place]))

    def nameless(self) -> Bools:
        """Which of them are NO_ID, the id of records without one; shape (n,)."""
        found: Bools = (self.producer == NO_ID.producer) & (self.sequence == NO_ID.sequence)
        return found

    def keys(self) -> Ints:
        """One integer for each id, shape (n,), int64: equal for equal ids, seldom equal for others."""
        mixed: Ints = self.sequence ^ (self.producer.astype(np.int64) << 40)
        return mixed


def match(wanted: Ids, among: Ids) -> Ints:
    """For each wanted id its place in `among` (the first, if there are several), or -1; shape (wanted,),
    int64."""
    if not len(wanted) or not len(among):
        return np.full(len(wanted), -1)
    if len(among) < _MANY * len(wanted):
        return _match(wanted, among)
    sequences = pa.array(distinct(wanted.sequence))
    some = np.flatnonzero(pc.is_in(pa.array(among.sequence), value_set=sequences).to_numpy(False))
    found = _match(wanted, among[some])
    return np.where(found >= 0, some[found], -1) if len(some) else found


def _match(wanted: Ids, among: Ids) -> Ints:
    both = Ids.joined([among, wanted])
    order = both.order()  # stable: of equal ids, those of `among` come first
    groups = np.flatnonzero(~both[order].repeats())
    sizes = np.diff(np.append(groups, len(order)))
    leaders = np.empty(len(order), np.int64)
    leaders[order] = np.repeat(order[groups], sizes)
    found = leaders[len(among) :]
    found[found >= len(among)] = -1
    return found


def distinct(values: Ints) -> Ints:
    """Each value once, ascending; shapes (n,) and (k,). By sorting: `np.unique` of numpy 2.3 hashes, which
    takes 20 times as long where most values differ."""
    ordered = np.sort(values)
    new = np.ones(len(ordered), bool)
    new[1:] = ordered[1:] != ordered[:-1]
    return ordered[new]


class IntegerSet:
    """A set of int64 that rules out 65,536 others in 0.2 ms."""

    def __init__(self, values: Ints) -> None:
        """The set of `values`, shape (k,), in any order."""
        self._values = np.sort(values)
        room = max(_LEAST_ROOM, _ROOM_PER_VALUE * len(self._values))
        self._shift = np.uint64(64 - (room - 1).bit_length())
        self._marked = np.zeros(1 << (64 - int(self._shift)), bool)
        self._marked[self._places(self._values)] = True

    def contains(self, values: Ints) -> Bools:
        """Which of the values are in the set; both of shape (n,)."""
        found: Bools = self._marked[self._places(values)]
        perhaps = np.flatnonzero(found)
        places = np.minimum(np.searchsorted(self._values, values[perhaps]), len(self._values) - 1)
        found[perhaps] = self._values[places] == values[perhaps]
        return found

    def _places(self, values: Ints) -> npt.NDArray[np.uint64]:
        # Fibonacci hashing: the golden ratio's bits spread neighbours, which ids and offsets are.
        hashed: npt.NDArray[np.uint64] = (
            values.view(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
        ) >> self._shift
        return hashed
