"""CRC-32 of many spans of a buffer, where spans of one length are mostly alike: those of one length are
compared together (`checkers.history.records.crc32`), a cache full at a time."""

import zlib

import numpy as np
import numpy.typing as npt

from checkers.history.records.crc32 import SEED_BYTES, crc32_rows
from spark_verify.segments.batches import Bytes, gather
from spark_verify.segments.record_starts import Ints

_BLOCK_BYTES = 256 << 10
_FEW = 8
"""Fewer spans, or fewer of one length, are not worth a comparison."""
_LONGEST_BYTES = 4096
"""zlib's own speed is that of memory on longer ones, and the tables of a comparison cost more."""


def crc32_spans(
    data: Bytes, begin: Ints, size: Ints, seeds: npt.NDArray[np.uint32]
) -> npt.NDArray[np.uint32]:
    """`zlib.crc32(data[begin : begin + size], seed)` of each span; all of shape (n,).

    A size below 0 counts as 0.
    """
    if len(size) < _FEW:
        return _one_by_one(data, begin, np.maximum(size, 0), seeds)
    crcs = seeds.copy()
    alone = size > 0
    sizes, counts = np.unique(size[alone], return_counts=True)
    together = (counts >= _FEW) & (sizes >= SEED_BYTES) & (sizes <= _LONGEST_BYTES)
    for each in sizes[together].tolist():
        rows = np.flatnonzero(size == each)
        alone[rows] = False
        at_once = _BLOCK_BYTES // each
        for first in range(0, len(rows), at_once):
            block = rows[first : first + at_once]
            found = gather(data, begin[block], f"V{each}")
            crcs[block] = crc32_rows(found.view(np.uint8).reshape(len(block), each), seeds[block])
    rows = np.flatnonzero(alone)
    crcs[rows] = _one_by_one(data, begin[rows], size[rows], seeds[rows])
    return crcs


def _one_by_one(
    data: Bytes, begin: Ints, size: Ints, seeds: npt.NDArray[np.uint32]
) -> npt.NDArray[np.uint32]:
    slices = map(data.__getitem__, map(slice, begin.tolist(), (begin + size).tolist()))
    return np.fromiter(map(zlib.crc32, slices, seeds.tolist()), np.uint32, len(begin))
