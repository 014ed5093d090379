"""Finds ids that two sends have, over all partitions, without bringing all ids to one place.

A producer numbers its sends 0, 1, 2, … over all partitions. So the count, the range and the sums of the
sequences and of their squares are enough, per producer: if they are those of a range without holes, no
id is used twice. (They could be so by chance if there were as many holes as doubles; with one or two
doubles they cannot.) Only for a producer whose sums are not so, the ids themselves are compared, 64
of them in a word.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from checkers.history.rows import RecordId
from spark_verify.kernels.by_position.order import Step
from spark_verify.kernels.ids import Ids
from spark_verify.partition_task import PartitionTask

_WORD = 64
_MODULUS = 1 << 64


@dataclass(frozen=True, slots=True, kw_only=True)
class SequenceSums:
    """Count, range and sums of the sequences of one producer in some sends."""

    count: int
    least: int
    greatest: int
    sum: int
    """Modulo 2**64, like the next."""
    squares: int

    def __add__(self, other: "SequenceSums") -> "SequenceSums":
        return SequenceSums(
            count=self.count + other.count,
            least=min(self.least, other.least),
            greatest=max(self.greatest, other.greatest),
            sum=(self.sum + other.sum) % _MODULUS,
            squares=(self.squares + other.squares) % _MODULUS,
        )

    def is_range(self) -> bool:
        """Whether they are those of a range without holes, each sequence once."""
        before, last = self.least - 1, self.greatest
        return (
            self.count == last - before
            and self.sum == (_triangle(last) - _triangle(before)) % _MODULUS
            and self.squares == (_pyramid(last) - _pyramid(before)) % _MODULUS
        )


def _triangle(n: int) -> int:
    return n * (n + 1) // 2


def _pyramid(n: int) -> int:
    return n * (n + 1) * (2 * n + 1) // 6


def sums(step: Step) -> dict[int, SequenceSums]:
    """The sums of each producer's sequences in one step of s rows and g producers; O(s)."""
    if not len(step.rows):
        return {}
    wrapping = step.sequence.view(np.uint64)
    columns = (
        step.producers,
        np.diff(np.append(step.starts, len(step.rows))),
        np.minimum.reduceat(step.sequence, step.starts),
        np.maximum.reduceat(step.sequence, step.starts),
        np.add.reduceat(wrapping, step.starts),
        np.add.reduceat(wrapping * wrapping, step.starts),
    )
    return {
        producer: SequenceSums(count=count, least=least, greatest=greatest, sum=total, squares=squares)
        for producer, count, least, greatest, total, squares in zip(
            *(column.tolist() for column in columns), strict=True
        )
    }


def added(parts: Iterable[Mapping[int, SequenceSums]]) -> dict[int, SequenceSums]:
    """The sums of each producer over several parts."""
    whole: dict[int, SequenceSums] = {}
    for part in parts:
        for producer, its in part.items():
            whole[producer] = whole[producer] + its if producer in whole else its
    return whole


@dataclass(frozen=True, slots=True, kw_only=True)
class IdWords:
    """The ids of a partition's sends, 64 in a word: bit b of the word (p, w) is the sequence 64 w + b
    of producer p. There are k words.

    `word` are the k pairs (p, w), sorted, each once; `bits` has shape (k,), uint64.
    """

    word: Ids
    bits: npt.NDArray[np.uint64]
    duplicate: RecordId | None
    """An id that two of these sends have."""


def id_words(asked: tuple[PartitionTask, Collection[int]]) -> IdWords:
    """The ids of the sends of the asked producers in one partition; raises MalformedHistory."""
    task, producers = asked
    every = Ids.joined([Ids.of(batch) for batch in task.batches("sends", ("producer", "sequence"))])
    ids = every[np.isin(every.producer, list(producers))].sorted()
    again = np.flatnonzero(ids.repeats())
    word = Ids(producer=ids.producer, sequence=ids.sequence >> 6)
    fresh = np.flatnonzero(~word.repeats())
    bits = np.uint64(1) << (ids.sequence & 63).astype(np.uint64)
    return IdWords(
        word=word[fresh],
        bits=np.bitwise_or.reduceat(bits, fresh) if fresh.size else bits,
        duplicate=ids.at(again[0]) if again.size else None,
    )


def find_duplicate(parts: Sequence[IdWords]) -> RecordId | None:
    """An id that two sends have, in one partition or in two; None if there is none."""
    for part in parts:
        if part.duplicate:
            return part.duplicate
    seen: dict[RecordId, int] = {}
    word = Ids.joined([part.word for part in parts])
    bits = np.concatenate([part.bits for part in parts])
    order = word.order()
    word, bits = word[order], bits[order]
    # Words that only one partition has cannot clash: only the others are compared one by one.
    shared = word.repeats()
    shared[:-1] |= shared[1:]
    for at in np.flatnonzero(shared).tolist():
        which, those = word.at(at), int(bits[at])
        both = seen.get(which, 0) & those
        if both:
            return RecordId(which.producer, which.sequence * _WORD + both.bit_length() - 1)
        seen[which] = seen.get(which, 0) | those
    return None
