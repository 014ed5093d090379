"""Walks a segment file and gives the headers of its batches as columns, each batch's CRC-32C checked.

A batch is found by the length of the one before. So a wrong byte in a batch costs that batch alone, but a
wrong length ends the walk: what follows cannot be found, and is counted as `Tail`. Nothing that a file says
is trusted: memory is that of a chunk's columns, and time is linear in the file's size.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from mmap import mmap
from struct import Struct
from typing import Any, TypeAlias

import google_crc32c
import numpy as np
import numpy.typing as npt

from spark_verify.segments.layout import (
    CODEC_MASK,
    CONTROL,
    CRC_FROM,
    HEADER,
    HEADER_BYTES,
    LENGTH_AT,
    LENGTH_COVERS_FROM,
    MAGIC,
)

Bytes: TypeAlias = bytes | mmap
"""A slice of either is `bytes`."""

CHUNK_BYTES = 8 << 20
"""How much of a segment becomes one chunk. 2 MB were a fifth slower, as numpy's calls cost more than their
work; more were no faster."""

_LENGTH_TO_MAGIC = Struct(">iib")
"""From LENGTH_AT: length, leader epoch (in version 0 and 1 the CRC), magic."""
_SHORTEST = {0: 14, 1: 22, MAGIC: HEADER_BYTES - LENGTH_COVERS_FROM}
"""The least length of a batch of each version. Versions 0 and 1 are Kafka's message sets before 0.11."""


class TailKind(Enum):
    """What lies behind the last whole batch of a segment."""

    NOTHING = "nothing"
    ZEROS = "zeros"
    """Only zero bytes: the file was extended, and what was written there never reached the disk."""
    PARTIAL = "partial"
    """The beginning of a batch that the file does not hold whole."""
    CORRUPT = "corrupt"
    """A length that no batch has: not what an interrupted write leaves."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tail:
    """What lies behind the last whole batch: `size` bytes from `position` on."""

    kind: TailKind
    position: int
    size: int
    reason: str = ""
    """What was expected there, for people."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Batches:
    """Consecutive batches of a segment.

    A row of `header` is 0 but for base offset, length and magic where the magic is not 2: those fields are
    the same in all versions.
    """

    position: npt.NDArray[np.int64]
    """Shape (n,): where each begins in the file."""
    header: npt.NDArray[np.void]
    """Shape (n,), dtype `layout.HEADER`."""
    crc_ok: npt.NDArray[np.bool_]
    """Shape (n,). False where the magic is not 2."""
    errors: dict[int, str]
    """By row: why its records cannot be read."""

    def __len__(self) -> int:
        return len(self.position)

    def column(self, name: str) -> npt.NDArray[np.int64]:
        """A field of the headers, shape (n,)."""
        return self.header[name].astype(np.int64)

    @property
    def end(self) -> npt.NDArray[np.int64]:
        """Shape (n,): where each ends in the file."""
        return self.position + LENGTH_COVERS_FROM + self.column("length")

    @property
    def codec(self) -> npt.NDArray[np.int64]:
        """Shape (n,): bits 0 to 2 of the attributes."""
        return self.column("attributes") & CODEC_MASK

    @property
    def is_control(self) -> npt.NDArray[np.bool_]:
        """Shape (n,): whether it holds markers of the broker (transaction ends, for instance) and no data."""
        is_control: npt.NDArray[np.bool_] = (self.header["attributes"] & CONTROL) != 0
        return is_control


class SegmentWalk:
    """One walk over a segment's bytes; `tail` is known when `chunks` has ended."""

    def __init__(self, data: Bytes, *, chunk_bytes: int = CHUNK_BYTES) -> None:
        self.tail = Tail(kind=TailKind.NOTHING, position=0, size=0)
        self._data = data
        self._chunk_bytes = chunk_bytes
        self._next = 0

    def chunks(self) -> Iterator[Batches]:
        """The batches in the order of the file, about `chunk_bytes` at a time and at least one."""
        while positions := self._positions():
            yield _batches(self._data, positions, self._next)
        self.tail = _tail(self._data, self._next)

    def _positions(self) -> list[int]:
        """Where the batches of the next chunk begin; none at the end of what can be walked."""
        data, size, at = self._data, len(self._data), self._next
        stop = at + self._chunk_bytes
        last = size - LENGTH_AT - _LENGTH_TO_MAGIC.size
        read, shortest = _LENGTH_TO_MAGIC.unpack_from, _SHORTEST
        positions = []
        while at <= last and at < stop:
            length, _, magic = read(data, at + LENGTH_AT)
            end = at + LENGTH_COVERS_FROM + length
            if length < shortest.get(magic, HEADER_BYTES - LENGTH_COVERS_FROM) or end > size:
                break
            positions.append(at)
            at = end
        self._next = at
        return positions


def _batches(data: Bytes, positions: list[int], end: int) -> Batches:
    position = np.array(positions, np.int64)
    header = _headers(data, position)
    computed = np.array(
        [
            google_crc32c.value(data[begin + CRC_FROM : stop])
            for begin, stop in zip(positions, [*positions[1:], end], strict=True)
        ],
        np.int64,
    )
    is_known = header["magic"] == MAGIC
    crc_ok = is_known & (computed == header["crc"])
    errors = {int(row): _unreadable(header[row], int(computed[row])) for row in np.flatnonzero(~crc_ok)}
    return Batches(position=position, header=header, crc_ok=crc_ok, errors=errors)


def _headers(data: Bytes, position: npt.NDArray[np.int64]) -> npt.NDArray[np.void]:
    """The headers at these positions; those of another magic than 2 may be too short to have all fields."""
    if len(data) >= HEADER_BYTES:
        fits = np.minimum(position, len(data) - HEADER_BYTES)
        header = gather(data, fits, HEADER)
        others = header["magic"] != MAGIC
        others |= fits != position
    else:
        header = np.zeros(len(position), HEADER)
        others = np.ones(len(position), np.bool_)
    for row in np.flatnonzero(others):
        at = int(position[row])
        length, _, magic = _LENGTH_TO_MAGIC.unpack_from(data, at + LENGTH_AT)
        header[row] = np.zeros((), HEADER)
        header[row]["base_offset"] = int.from_bytes(data[at : at + LENGTH_AT], "big", signed=True)
        header[row]["length"] = length
        header[row]["magic"] = magic
    return header


def gather(data: Bytes, at: npt.NDArray[np.int64], dtype: npt.DTypeLike) -> npt.NDArray[Any]:
    """A copy of the values of `dtype` that begin at these bytes, shape of `at`; all of them within `data`.

    It is taken as bytes and named afterwards: field by field a copy costs ten times as much.
    """
    kind = np.dtype(dtype)
    places = max(0, len(data) - kind.itemsize + 1)
    every: npt.NDArray[Any] = np.ndarray((places,), f"V{kind.itemsize}", buffer=data, strides=(1,))
    return every[at].view(kind)


def _unreadable(header: np.void, computed: int) -> str:
    magic = int(header["magic"])
    if magic == MAGIC:
        return f"its CRC-32C is {computed:#010x}, stored is {int(header['crc']):#010x}"
    if magic in _SHORTEST:
        return f"message format {magic}, which Kafka wrote before 0.11"
    return f"unknown magic {magic}"


def _tail(data: Bytes, at: int) -> Tail:
    size = len(data) - at
    if not size:
        return Tail(kind=TailKind.NOTHING, position=at, size=0)
    if not np.frombuffer(data, np.uint8, offset=at).any():
        return Tail(kind=TailKind.ZEROS, position=at, size=size, reason=f"{size} zero bytes")
    if size < LENGTH_AT + _LENGTH_TO_MAGIC.size:
        return Tail(kind=TailKind.PARTIAL, position=at, size=size, reason=f"{size} bytes, less than a header")
    length, _, magic = _LENGTH_TO_MAGIC.unpack_from(data, at + LENGTH_AT)
    shortest = _SHORTEST.get(magic, HEADER_BYTES - LENGTH_COVERS_FROM)
    if length < shortest:
        reason = f"a batch of magic {magic} declares a length of {length}, the least is {shortest}"
        return Tail(kind=TailKind.CORRUPT, position=at, size=size, reason=reason)
    declared = LENGTH_COVERS_FROM + length
    reason = f"a batch declares {declared} bytes, the file has {size} more"
    return Tail(kind=TailKind.PARTIAL, position=at, size=size, reason=reason)
