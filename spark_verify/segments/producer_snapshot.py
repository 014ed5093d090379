"""`<offset>.snapshot` of a partition's folder: what a replica knew of each idempotent producer at that offset
(KIP-98; Kafka's ProducerSnapshot.json, version 1).

    version i16 · CRC-32C u32 of all that follows · entries i32, each of 46 bytes
"""

from pathlib import Path

import google_crc32c
import numpy as np
import numpy.typing as npt

from spark_verify.errors import DamagedFile

ENTRY = np.dtype(
    [
        ("producer_id", ">i8"),
        ("producer_epoch", ">i2"),
        ("last_sequence", ">i4"),
        ("last_offset", ">i8"),
        ("offset_delta", ">i4"),
        ("timestamp_ms", ">i8"),
        ("coordinator_epoch", ">i4"),
        ("transaction_first_offset", ">i8"),
    ]
)
"""`last_sequence` and `last_offset` are -1 for a producer of which only a transaction's end is left;
`transaction_first_offset` is -1 outside of a transaction."""

VERSION = 1
_CRC_AT, _CRC_FROM, _ENTRIES_AT = 2, 6, 10
_MOST_BYTES = 256 << 20
"""Five million producers."""


def read_snapshot(file: Path) -> npt.NDArray[np.void]:
    """The entries, shape (n,), dtype ENTRY; raises DamagedFile, OSError."""
    with file.open("rb") as opened:
        content = opened.read(_MOST_BYTES + 1)
    return parse_snapshot(file, content)


def parse_snapshot(file: Path, content: bytes) -> npt.NDArray[np.void]:
    """The entries in a snapshot's bytes; `file` is for the error."""
    if len(content) < _ENTRIES_AT:
        raise DamagedFile(file, f"byte {len(content)}", f"it ends here, its header has {_ENTRIES_AT} bytes")
    version = int.from_bytes(content[:_CRC_AT], "big", signed=True)
    if version != VERSION:
        raise DamagedFile(file, "byte 0", f"version {version}, only {VERSION} is known")
    stored, computed = (
        int.from_bytes(content[_CRC_AT:_CRC_FROM], "big"),
        google_crc32c.value(content[_CRC_FROM:]),
    )
    if stored != computed:
        raise DamagedFile(
            file, f"byte {_CRC_AT}", f"its CRC-32C is {computed:#010x}, stored is {stored:#010x}"
        )
    count = int.from_bytes(content[_CRC_FROM:_ENTRIES_AT], "big", signed=True)
    if count < 0 or len(content) != _ENTRIES_AT + count * ENTRY.itemsize:
        what = (
            f"{count} entries of {ENTRY.itemsize} bytes declared, {len(content) - _ENTRIES_AT} bytes follow"
        )
        raise DamagedFile(file, f"byte {_CRC_FROM}", what)
    return np.frombuffer(content, ENTRY, offset=_ENTRIES_AT)
