"""CRC-32 of many spans of a buffer, where spans of one length are mostly alike: those of one length are
compared together (`checkers.history.crc32`), a cache full at a time."""

import zlib

import numpy as np
import numpy.typing as npt

from checkers.history.crc32 import SEED_BYTES, crc32_rows
from spark_verify.segments.batches import Bytes, gather
from spark_verify.segments.record_starts import Ints

_BLOCK_BYTES = 256 << 10
_FEW = 8
"""Fewer spans of one length are not worth a comparison."""
_LONGEST_BYTES = 4096
"""zlib's own speed is that of memory on longer ones, and the tables of a comparison cost more."""


def crc32_spans(
    data: Bytes, begin: Ints, size: Ints, seeds: npt.NDArray[np.uint32]
) -> npt.NDArray[np.uint32]:
    """`zlib.crc32(data[begin : begin + size], seed)` of each span; all of shape (n,).

    A size below 0 counts as 0.
    """
    crcs = seeds.copy()
    sizes, counts = np.unique(size[size > 0], return_counts=True)
    for each, count in zip(sizes.tolist(), counts.tolist(), strict=True):
        rows = np.flatnonzero(size == each) if count < len(size) else np.arange(len(size))
        if count < _FEW or not SEED_BYTES <= each <= _LONGEST_BYTES:
            crcs[rows] = _one_by_one(data, begin[rows], each, seeds[rows])
            continue
        at_once = _BLOCK_BYTES // each
        for first in range(0, count, at_once):
            block = rows[first : first + at_once]
            found = gather(data, begin[block], f"V{each}")
            crcs[block] = crc32_rows(found.view(np.uint8).reshape(len(block), each), seeds[block])
    return crcs


def _one_by_one(data: Bytes, begin: Ints, size: int, seeds: npt.NDArray[np.uint32]) -> npt.NDArray[np.uint32]:
    slices = map(data.__getitem__, map(slice, begin.tolist(), (begin + size).tolist()))
    return np.fromiter(map(zlib.crc32, slices, seeds.tolist()), np.uint32, len(begin))
