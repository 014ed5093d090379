"""Makes records as `checkers.history.records.payload` has them: each is known again wherever it is found.

Encoding costs no CRC a record: CRC-32 is affine over XOR, so for records that differ in the low 16 bits of
the sequence alone, the checksum is that of the first XOR a table of 65,536 entries. The tests compare it
with `checksum` bit by bit.
"""

import random
import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import repeat
from typing import Any

import numpy as np
from numpy.typing import NDArray

from checkers.history.records.payload import HEADER_BYTES, LOW_HALF, MAGIC, Header, checksum, row_type

SPAN = 1 << 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """Consecutive records of one producer: values, keys (None each if not keyed) and int64 checksums."""

    values: list[bytes]
    keys: Iterable[bytes | None]
    checksums: NDArray[np.int64]


class Encoder:
    """Makes the records of one producer instance, a block at a time."""

    def __init__(
        self, producer: int, record_bytes: int, *, keyed: bool, headers: tuple[Header, ...] = ()
    ) -> None:
        """Prepare values of `record_bytes` (at least HEADER_BYTES) bytes; blocks hold at most 1 MiB."""
        assert record_bytes >= HEADER_BYTES, f"a value needs {HEADER_BYTES} bytes, not {record_bytes}"
        self.block_limit = max(1, min(1000, (1 << 20) // record_bytes))
        self._keyed, self._headers = keyed, headers
        self._rows: NDArray[Any] = np.frombuffer(
            bytearray(padding(record_bytes) * self.block_limit), row_type(record_bytes)
        )
        self._rows["magic"], self._rows["producer"] = MAGIC, producer
        self._as_bytes = self._rows.view(f"V{record_bytes}")
        bits = [1 << bit for bit in range(16)]
        self._header_span = _span(self._header_crc(0), [self._header_crc(bit) for bit in bits])
        self._span = _span(self._record_crc(0, 0), [self._record_crc(bit, 0) for bit in bits])

    def room(self, first: int) -> int:
        """How many records a block that begins at sequence `first` can hold."""
        return min(self.block_limit, SPAN - first % SPAN)

    def block(self, first: int, count: int, timestamp_ms: int) -> Block:
        """The records `first` .. `first + count - 1`, all with the same timestamp."""
        assert 0 < count <= self.room(first), f"{count} records do not fit in a block from {first}"
        low = first % SPAN
        record_crc, header_crc = self._record_crc(first - low, timestamp_ms), self._header_crc(first - low)
        sequences = np.arange(first, first + count, dtype="<i8")
        self._rows["sequence"][:count] = sequences
        self._rows["crc"][:count] = self._header_span[low : low + count] ^ np.uint32(header_crc)
        crcs = self._span[low : low + count] ^ np.uint32(record_crc & LOW_HALF)
        return Block(
            values=self._as_bytes[:count].tolist(),
            keys=sequences.view("V8").tolist() if self._keyed else repeat(None),
            checksums=crcs.astype(np.int64) | (timestamp_ms >> 32 << 32),
        )

    def _header_crc(self, sequence: int) -> int:
        self._rows["sequence"][0] = sequence
        return zlib.crc32(self._as_bytes[0].tobytes()[:16])

    def _record_crc(self, sequence: int, timestamp_ms: int) -> int:
        self._rows["crc"][0] = self._header_crc(sequence)
        key = sequence.to_bytes(8, "little") if self._keyed else None
        return checksum(self._as_bytes[0].tobytes(), key, self._headers, timestamp_ms)


def padding(record_bytes: int) -> bytes:
    """The bytes that fill a value up: they repeat nowhere, so that a shift or a swap shows."""
    return random.Random(record_bytes).randbytes(record_bytes)


def _span(origin: int, single_bits: list[int]) -> NDArray[np.uint32]:
    """CRC(low bits) XOR CRC(0) for all 65,536 low halves, from the CRCs of the 16 single bits."""
    span = np.zeros(1, np.uint32)
    for crc in single_bits:
        span = np.concatenate([span, span ^ np.uint32((crc ^ origin) & LOW_HALF)])
    return span
