"""Finds ids that two sends have, over all partitions, without bringing all ids to one place.

A producer numbers its sends 0, 1, 2, … over all partitions. So per producer and partition the count,
the range and three power sums of the sequences are enough: if, added up, they are those of a range
without hole, no id is used twice. (Modulo 2**64 they could also be those of a set that has as many
doubles as holes; with up to three doubles they cannot.) Only for a producer whose numbers are not so,
the ids themselves are compared, 64 of them in a word.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from checkers.rows import RecordId
from spark_verify.final_log import FinalLog
from spark_verify.ids import Ids, Producers
from spark_verify.order import ByProducer
from spark_verify.unit import Bools, Ints, Unit

_WORD = 64
_MODULUS = 1 << 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Numbers:
    """What is known of the sequences of one producer in one partition, or in several."""

    count: int
    least: int
    greatest: int
    sums: tuple[int, int, int]
    """Of first, second and third powers, modulo 2**64."""

    def __add__(self, other: "Numbers") -> "Numbers":
        first, second, third = ((a + b) % _MODULUS for a, b in zip(self.sums, other.sums, strict=True))
        return Numbers(
            count=self.count + other.count,
            least=min(self.least, other.least),
            greatest=max(self.greatest, other.greatest),
            sums=(first, second, third),
        )

    def is_range(self) -> bool:
        """Whether they are those of a range without holes, each number once."""
        whole = tuple(
            (_up_to(self.greatest, power) - _up_to(self.least - 1, power)) % _MODULUS for power in (1, 2, 3)
        )
        return self.count == self.greatest - self.least + 1 and self.sums == whole


def _up_to(n: int, power: int) -> int:
    """The sum of the powers of 1 to n (and for negative n its continuation)."""
    half = n * (n + 1) // 2
    return {1: half, 2: half * (2 * n + 1) // 3, 3: half * half}[power]


def numbers(ids: Ids) -> dict[int, Numbers]:
    """The numbers of each producer."""
    order = np.argsort(ids.producer, kind="stable")
    producer = ids.producer[order]
    fresh = np.ones(len(producer), bool)
    fresh[1:] = producer[1:] != producer[:-1]
    starts = np.flatnonzero(fresh)
    return _numbers(producer[starts], ids.sequence[order], starts)


def numbers_of_claims(log: FinalLog, groups: ByProducer, claimed: Bools) -> dict[int, Numbers]:
    """The numbers of each producer over the claimed rows of a log, of which each is one send."""
    if claimed.all():
        starts = groups.starts
        rows, sequence = groups.rows, groups.sequence
    else:
        kept = claimed[groups.rows]
        starts = np.unique(np.concatenate(([0], np.cumsum(kept)))[groups.starts])
        rows, sequence = groups.rows[kept], groups.sequence[kept]
    return _numbers(log.producer[rows[starts[:-1]]], sequence, starts[:-1])


def joined(parts: Iterable[Mapping[int, Numbers]]) -> dict[int, Numbers]:
    """The numbers of each producer over several sets of sends."""
    whole: dict[int, Numbers] = {}
    for part in parts:
        for producer, its in part.items():
            whole[producer] = whole[producer] + its if producer in whole else its
    return whole


def _numbers(producers: Producers, sequence: Ints, starts: Ints) -> dict[int, Numbers]:
    """Of sequences in groups that begin at `starts`, none of them empty."""
    if not starts.size:
        return {}
    counts = np.diff(np.append(starts, len(sequence)))
    wrapping = sequence.view(np.uint64)
    squares = wrapping * wrapping
    columns = (
        np.minimum.reduceat(sequence, starts),
        np.maximum.reduceat(sequence, starts),
        np.add.reduceat(wrapping, starts),
        np.add.reduceat(squares, starts),
        np.add.reduceat(squares * wrapping, starts),
    )
    return {
        producer: Numbers(count=count, least=least, greatest=greatest, sums=(first, second, third))
        for producer, count, least, greatest, first, second, third in zip(
            producers.tolist(), counts.tolist(), *(column.tolist() for column in columns), strict=True
        )
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class Words:
    """The ids of a partition's sends, 64 in a word: bit b of the word (p, w) is the sequence 64 w + b
    of producer p."""

    word: Ids
    bits: npt.NDArray[np.uint64]
    reused: RecordId | None
    """An id that two of these sends have."""


def words(asked: tuple[Unit, Collection[int]]) -> Words:
    """The ids of the sends of some producers in one partition; raises MalformedHistory."""
    unit, producers = asked
    every = Ids.joined([Ids.of(batch) for batch in unit.batches("sends", ("producer", "sequence"))])
    ids = every[np.isin(every.producer, list(producers))].sorted()
    again = np.flatnonzero(ids.repeats())
    word = Ids(producer=ids.producer, sequence=ids.sequence >> 6)
    fresh = np.flatnonzero(~word.repeats())
    bits = np.uint64(1) << (ids.sequence & 63).astype(np.uint64)
    return Words(
        word=word[fresh],
        bits=np.bitwise_or.reduceat(bits, fresh) if fresh.size else bits,
        reused=ids.at(again[0]) if again.size else None,
    )


def find_reused(parts: Sequence[Words]) -> RecordId | None:
    """An id that two sends have, in one partition or in two; None if there is none."""
    for part in parts:
        if part.reused:
            return part.reused
    seen: dict[RecordId, int] = {}
    word = Ids.joined([part.word for part in parts])
    bits = np.concatenate([part.bits for part in parts])
    order = word.order()
    word, bits = word[order], bits[order]
    # Words that only one partition has cannot clash: only the others are looked at one by one.
    shared = word.repeats()
    shared[:-1] |= shared[1:]
    for at in np.flatnonzero(shared).tolist():
        which, those = word.at(at), int(bits[at])
        both = seen.get(which, 0) & those
        if both:
            return RecordId(which.producer, which.sequence * _WORD + both.bit_length() - 1)
        seen[which] = seen.get(which, 0) | those
    return None
