"""The header of a record batch, version 2, as it lies in a segment file (KIP-98; Kafka's DefaultRecordBatch).

All integers are big-endian. CRC-32C covers everything from `attributes` on: base offset, length, leader
epoch and magic are outside of it, because a broker sets them without touching the rest.
"""

from enum import IntEnum

import numpy as np

HEADER = np.dtype(
    [
        ("base_offset", ">i8"),
        ("length", ">i4"),
        ("leader_epoch", ">i4"),
        ("magic", "i1"),
        ("crc", ">u4"),
        ("attributes", ">i2"),
        ("last_offset_delta", ">i4"),
        ("base_timestamp_ms", ">i8"),
        ("max_timestamp_ms", ">i8"),
        ("producer_id", ">i8"),
        ("producer_epoch", ">i2"),
        ("base_sequence", ">i4"),
        ("records", ">i4"),
    ]
)
HEADER_BYTES = 61
CRC_FROM = 21
"""The first byte that the CRC covers."""
LENGTH_AT, LENGTH_COVERS_FROM = 8, 12
"""Where a batch has its length, and the first byte that counts in it. The same in every version."""
MAGIC = 2

CODEC_MASK = 0x07
LOG_APPEND_TIME, TRANSACTIONAL, CONTROL, DELETE_HORIZON = 0x08, 0x10, 0x20, 0x40


class Codec(IntEnum):
    """How a batch's records are compressed: the low three bits of its attributes."""

    NONE = 0
    GZIP = 1
    SNAPPY = 2
    LZ4 = 3
    ZSTD = 4
