"""The digest of a set of records: equal sets have equal digests, so a record batch on a replica's disk is
compared with the final log without fetching a row of either.

    digest = sum of mix(offset, producer, sequence, checksum) over the records, mod 2^63

A sum does not care for order or grouping: the digests of all batches of an offset range, added mod 2^63, are
the digest of the final log's rows in that range. Each record's offset is mixed in, so swapped records show.
Two different sets of records agree by chance once in 2^63; the function is not meant against an adversary.

The mixing step is the finalizer of SplitMix64 (Steele, Lea, Flood: Fast Splittable Pseudorandom Number
Generators, OOPSLA 2014).
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

MODULUS = 1 << 63
_MASK = np.uint64(MODULUS - 1)
_STEP = np.uint64(0x9E3779B97F4A7C15)
_FACTORS = (np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB))
_SHIFTS = (np.uint64(30), np.uint64(27), np.uint64(31))

Integers = NDArray[np.signedinteger[Any]]


def mix(offset: Integers, producer: Integers, sequence: Integers, checksum: Integers) -> NDArray[np.uint64]:
    """One number for each record, shape (n,), from columns of shape (n,) as a history has them."""
    mixed = np.zeros(len(offset), np.uint64)
    for column in (offset, producer, sequence, checksum):
        mixed ^= column.astype(np.int64).view(np.uint64)
        _scramble(mixed)
    return mixed


def digest(mixed: NDArray[np.uint64]) -> int:
    """The digest of records, 0 .. 2^63 - 1, from what `mix` gave for them; 0 for none."""
    return int(mixed.sum(dtype=np.uint64) & _MASK)


def digests(mixed: NDArray[np.uint64], first: NDArray[np.int64], end: NDArray[np.int64]) -> NDArray[np.int64]:
    """The digest of each range of records, shape (ranges,): those at first[i] .. end[i] - 1 of `mixed`."""
    sums = np.zeros(len(mixed) + 1, np.uint64)
    np.cumsum(mixed, out=sums[1:])
    return ((sums[end] - sums[first]) & _MASK).view(np.int64)


def _scramble(mixed: NDArray[np.uint64]) -> None:
    """SplitMix64's step and finalizer, in place."""
    mixed += _STEP
    mixed ^= mixed >> _SHIFTS[0]
    mixed *= _FACTORS[0]
    mixed ^= mixed >> _SHIFTS[1]
    mixed *= _FACTORS[1]
    mixed ^= mixed >> _SHIFTS[2]
