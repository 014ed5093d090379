"""What breaks a property: one `Anomaly` a record, or columns of them where there may be a million.

A checker returns `Anomalies`: a sequence of `Anomaly` that is held in blocks, each of one property, one
partition and one replica. A block's rows are arrays; an `Anomaly` is made of a row only when somebody asks.
"""

import builtins
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import overload

import numpy as np
import numpy.typing as npt

from checkers.history.rows import TopicPartition
from checkers.history.tables import NONE
from checkers.properties import Property

Ints = npt.NDArray[np.int64]
AnomalyKey = tuple[str, str, int, int, int, int, int, int]

_NEVER = np.iinfo(np.int64).max
_AT_ONCE = 4096
"""Rows of a block whose columns become Python integers together."""
COLUMNS = (
    *("offset", "last_offset", "producer", "sequence"),
    *("invoked_ns", "completed_ns", "seen_ns", "under_epoch", "acked_offset"),
)
"""The integer fields of an anomaly that differ within a block."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Anomaly:
    """One record (or run of offsets) that breaks one property. What `compare=False` marks is evidence, the
    rest is its key.

    The property's record describes what `topic, partition, offset` and the id are (`place`).
    """

    property: Property
    topic: str
    partition: int
    offset: int
    producer: int
    sequence: int
    last_offset: int = NONE
    """The last offset of a run, `offset` for a single record."""
    replica: int = NONE
    """The broker whose log it is about; -1: the log that readers get."""
    invoked_ns: int = field(default=NONE, compare=False)
    """When the record's send was called (monotone-read: when the read before was delivered); -1 if it is not
    known."""
    completed_ns: int = field(default=NONE, compare=False)
    """When the record was acknowledged (monotone-read: delivered); -1 if it is not known, or if the
    acknowledgement was for another copy, at another offset, than the one that a reader was given."""
    seen_ns: int = field(default=NONE, compare=False)
    """When a reader was given it at that offset; -1 if no reader is a witness."""
    under_epoch: int = field(default=NONE, compare=False)
    """A leader epoch under which it was there: of the batch that readers were given, of the sample whose high
    watermark was above it; -1 if none is known, or readers were given it under several."""
    acked_offset: int = field(default=NONE, compare=False)
    """Where it was acknowledged (monotone-read: the offset of the read before; duplicate: that of the first
    copy in this partition; ack-offset: that of the last one, where it is instead); -1 if there is none."""
    note: str = field(default="", compare=False)
    """Half a sentence for people: what is at that place now, or what the record collides with."""

    def __post_init__(self) -> None:
        if self.last_offset == NONE:
            object.__setattr__(self, "last_offset", self.offset)

    @builtins.property
    def tp(self) -> TopicPartition:
        """The partition it is about."""
        return TopicPartition(self.topic, self.partition)

    @builtins.property
    def written_ns(self) -> int:
        """When the record was there at the latest (acknowledged, or given to a reader, whichever came first);
        if neither is known, when it was sent; -1 if that is not known either."""
        there = [known for known in (self.completed_ns, self.seen_ns) if known != NONE]
        return min(there, default=self.invoked_ns)

    def key(self) -> AnomalyKey:
        """What two implementations must agree on; sorts by property, place and id."""
        return (
            self.property.value,
            self.topic,
            self.partition,
            self.offset,
            self.producer,
            self.sequence,
            self.last_offset,
            self.replica,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class AnomalyBlock:
    """n anomalies of one property, partition and replica. All arrays have shape (n,), int64.

    `note(i)` gives the note of row i.
    """

    property: Property
    tp: TopicPartition
    replica: int = NONE
    offset: Ints
    last_offset: Ints
    producer: Ints
    sequence: Ints
    invoked_ns: Ints
    completed_ns: Ints
    seen_ns: Ints
    under_epoch: Ints
    acked_offset: Ints
    note: Callable[[int], str] = field(default=lambda _: "", repr=False)

    def __len__(self) -> int:
        return len(self.offset)

    def written_ns(self) -> Ints:
        """`Anomaly.written_ns` of every row; shape (n,)."""
        there = np.minimum(_or_never(self.completed_ns), _or_never(self.seen_ns))
        return np.where(there == _NEVER, self.invoked_ns, there)

    def at(self, row: int) -> Anomaly:
        """One row as an object."""
        return self._anomaly(row, [int(getattr(self, name)[row]) for name in COLUMNS])

    def rows(self) -> Iterator[Anomaly]:
        """All rows as objects."""
        for begin in range(0, len(self), _AT_ONCE):
            columns = [getattr(self, name)[begin : begin + _AT_ONCE].tolist() for name in COLUMNS]
            for row, values in enumerate(zip(*columns, strict=True), begin):
                yield self._anomaly(row, values)

    def _anomaly(self, row: int, values: Sequence[int]) -> Anomaly:
        return Anomaly(
            property=self.property,
            topic=self.tp.topic,
            partition=self.tp.partition,
            replica=self.replica,
            note=self.note(row),
            **dict(zip(COLUMNS, values, strict=True)),
        )


class Anomalies(Sequence[Anomaly]):
    """Blocks of anomalies as one sequence, in their order.

    It equals another sequence of anomalies that has the same keys, in any order.
    """

    def __init__(self, blocks: Iterable[AnomalyBlock] = ()) -> None:
        """Empty blocks are left out."""
        self.blocks = tuple(block for block in blocks if len(block))
        self._ends = list(accumulate(len(block) for block in self.blocks))

    @classmethod
    def of(cls, anomalies: Iterable[Anomaly]) -> "Anomalies":
        """The anomalies in blocks, in the order in which the first of each block comes."""
        groups: dict[tuple[Property, TopicPartition, int], list[Anomaly]] = defaultdict(list)
        for anomaly in anomalies:
            groups[anomaly.property, anomaly.tp, anomaly.replica].append(anomaly)
        return cls(_block(rows) for rows in groups.values())

    def __len__(self) -> int:
        return self._ends[-1] if self._ends else 0

    @overload
    def __getitem__(self, at: int) -> Anomaly: ...

    @overload
    def __getitem__(self, at: slice) -> Sequence[Anomaly]: ...

    def __getitem__(self, at: int | slice) -> Anomaly | Sequence[Anomaly]:
        if isinstance(at, slice):
            return [self[place] for place in range(*at.indices(len(self)))]
        if not -len(self) <= at < len(self):
            raise IndexError(at)
        place = at % len(self)
        which = int(np.searchsorted(self._ends, place, "right"))
        begin = self._ends[which] - len(self.blocks[which])
        return self.blocks[which].at(place - begin)

    def __iter__(self) -> Iterator[Anomaly]:
        return (anomaly for block in self.blocks for anomaly in block.rows())

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sequence):
            return NotImplemented
        return self.keys() == sorted(anomaly.key() for anomaly in other)

    def __hash__(self) -> int:
        return hash(len(self))

    def __repr__(self) -> str:
        return f"Anomalies({len(self)})"

    def keys(self) -> list[AnomalyKey]:
        """The key of each, sorted."""
        return sorted(anomaly.key() for anomaly in self)


def _or_never(times_ns: Ints) -> Ints:
    return np.where(times_ns == NONE, _NEVER, times_ns)


def _block(rows: Sequence[Anomaly]) -> AnomalyBlock:
    first = rows[0]
    return AnomalyBlock(
        property=first.property,
        tp=first.tp,
        replica=first.replica,
        note=[row.note for row in rows].__getitem__,
        **{name: np.array([getattr(row, name) for row in rows], np.int64) for name in COLUMNS},
    )
