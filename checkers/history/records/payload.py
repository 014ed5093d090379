"""What a record carries, and how its id and checksum are read back: one rule for what a reader delivers and
for what lies on a replica's disk.

    value    magic and version 48 57 01 00 (4) · producer (4) · sequence (8) · CRC-32 of these (4) · padding
    key      the sequence (8), if records are keyed
    headers  the same for every record, none by default

All integers are little-endian. The *id* of a record is believed only if the CRC of its value's header is
right; otherwise producer and sequence are -1. The *checksum* is one int64: its low 32 bits are a CRC-32
over value, key and headers, begun with the low half of the timestamp; its high bits are the high half of the
timestamp (milliseconds). None counts as empty. It is computed at the send and again, from what is found,
at each read.
"""

import zlib
from collections.abc import Iterable
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from checkers.history.records.crc32 import crc32_rows
from checkers.history.tables import NONE

Header: TypeAlias = tuple[str, bytes | None]

MAGIC = int.from_bytes(b"HW\x01\x00", "little")
HEADER_BYTES = 20
LOW_HALF = 0xFFFFFFFF
_CRC_BYTES = 16
"""What the CRC in a value's header covers."""


def row_type(record_bytes: int) -> np.dtype[np.void]:
    """The layout of a value of `record_bytes` bytes; the padding has no name."""
    return np.dtype(
        {
            "names": ["magic", "producer", "sequence", "crc"],
            "formats": ["<u4", "<i4", "<i8", "<u4"],
            "offsets": [0, 4, 8, 16],
            "itemsize": record_bytes,
        }
    )


def checksum(
    value: bytes | None, key: bytes | None, headers: Iterable[Header] | None, timestamp_ms: int
) -> int:
    """The int64 that proves that a record is the one that was sent: its definition, for one record."""
    crc = zlib.crc32(key or b"", zlib.crc32(value or b"", timestamp_ms & LOW_HALF))
    for name, content in headers or ():
        crc = zlib.crc32(content or b"", zlib.crc32(name.encode(), crc))
    return (timestamp_ms >> 32) << 32 | crc


def checksums(
    values: Iterable[bytes], keys: Iterable[bytes] | None, timestamps_ms: NDArray[np.int64]
) -> NDArray[np.int64]:
    """`checksum` of many records without headers, shape (n,): two passes of a C function, one if `keys` is
    None."""
    crcs = map(zlib.crc32, values, (timestamps_ms & LOW_HALF).tolist())
    if keys is not None:
        crcs = map(zlib.crc32, keys, crcs)
    return np.fromiter(crcs, np.int64, len(timestamps_ms)) | (timestamps_ms >> 32 << 32)


def believed_ids(rows: NDArray[np.void]) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Producer and sequence of values, shape (n,) each; -1 and -1 where the header is not whole.

    `rows` has shape (n,) and a `row_type` of at least HEADER_BYTES bytes.
    """
    whole = (rows["magic"] == MAGIC) & (rows["crc"] == _header_crcs(rows))
    producers = np.where(whole, rows["producer"], np.int32(NONE))
    sequences = np.where(whole, rows["sequence"], np.int64(NONE))
    return producers, sequences


def _header_crcs(rows: NDArray[np.void]) -> NDArray[np.uint32]:
    as_bytes = np.ascontiguousarray(rows).view(np.uint8).reshape(len(rows), rows.itemsize)
    return crc32_rows(as_bytes[:, :_CRC_BYTES])
