"""What was delivered, as columns of the history: ids and checksums are computed anew from what arrived.

The id of a record is believed only if the CRC of its header is right; otherwise producer and sequence are -1.
"""

import zlib
from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from checkers.history.tables import NONE
from workloads.clients.protocol import Delivered
from workloads.payload import HEADER_BYTES, MAGIC, checksum, row_type

_LOW = 0xFFFFFFFF


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrivals:
    """Columns of one batch in the order of arrival; names and types are those of the history."""

    offset: NDArray[np.int64]
    leader_epoch: NDArray[np.int32]
    producer: NDArray[np.int32]
    sequence: NDArray[np.int64]
    checksum: NDArray[np.int64]
    timestamp_ms: NDArray[np.int64]

    def where(self, rows: NDArray[np.bool_]) -> "Arrivals":
        """The rows that are marked."""
        return Arrivals(**{field.name: getattr(self, field.name)[rows] for field in fields(self)})


def arrivals(records: Delivered) -> Arrivals:
    """Decode delivered records."""
    values = [value or b"" for value in records.values]
    producers, sequences = identify(values)
    return Arrivals(
        offset=records.offsets,
        leader_epoch=records.leader_epochs,
        producer=producers,
        sequence=sequences,
        checksum=_checksums(records, values),
        timestamp_ms=records.timestamps_ms,
    )


def identify(values: Sequence[bytes]) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Producer and sequence of each value; -1 and -1 where the header is not whole."""
    sizes = np.fromiter(map(len, values), np.int64, len(values))
    producers, sequences = np.full(len(values), NONE, np.int32), np.full(len(values), NONE, np.int64)
    for size in np.unique(sizes[sizes >= HEADER_BYTES]).tolist():
        alike = np.flatnonzero(sizes == size)
        rows = np.frombuffer(b"".join(_pick(values, alike)), row_type(size))
        whole = (rows["magic"] == MAGIC) & (rows["crc"] == _header_crcs(rows))
        producers[alike[whole]] = rows["producer"][whole]
        sequences[alike[whole]] = rows["sequence"][whole]
    return producers, sequences


def _pick(values: Sequence[bytes], places: NDArray[np.intp]) -> Sequence[bytes]:
    return values if len(places) == len(values) else [values[place] for place in places]


def _checksums(records: Delivered, values: Sequence[bytes]) -> NDArray[np.int64]:
    """`checksum` of each record; without headers it is two passes of a C function."""
    times = records.timestamps_ms
    if any(records.headers):
        whole = map(checksum, values, records.keys, records.headers, times.tolist())
        return np.fromiter(whole, np.int64, len(values))
    crcs = map(zlib.crc32, values, (times & _LOW).tolist())
    if any(records.keys):
        crcs = map(zlib.crc32, [key or b"" for key in records.keys], crcs)
    return np.fromiter(crcs, np.int64, len(values)) | (times >> 32 << 32)


def _header_crcs(rows: NDArray[np.void]) -> NDArray[np.uint32]:
    """CRC-32 of the first 16 bytes of each row, by one table a byte: CRC-32 is affine over XOR."""
    first16 = np.ascontiguousarray(rows).view(np.uint8).reshape(len(rows), -1)[:, :16]
    by_byte: NDArray[np.uint32] = _BYTE_TABLES[np.arange(16), first16]
    crcs: NDArray[np.uint32] = np.bitwise_xor.reduce(by_byte, axis=1) ^ _ZERO_CRC
    return crcs


_ZERO_CRC = np.uint32(zlib.crc32(bytes(16)))
_BYTE_TABLES = np.array(
    [
        [zlib.crc32(bytes(at) + bytes([byte]) + bytes(15 - at)) ^ int(_ZERO_CRC) for byte in range(256)]
        for at in range(16)
    ],
    np.uint32,
)
