"""Reads a segment one byte after the other, as the format is written down: what the parser must agree with.

A few microseconds a field; it shares no code with `spark_verify.segments` but the decompression. What a batch
holds depends on its bytes alone, so a batch that lies in many damaged files is read once.
"""

import struct
import zlib
from dataclasses import dataclass
from functools import lru_cache

import google_crc32c
import numpy as np

from checkers.history.records.digest import digest, mix
from checkers.history.records.payload import Header, checksum
from spark_verify.segments.codecs import NotDecompressed, decompress

_MOST_RECORDS = 1 << 20
_KEPT_BATCHES = 1 << 12
"""Some three times as many as the healthy segments of a run of damaged files have."""


class _Unreadable(Exception):
    """The records of a batch are not what the format says."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlainRecord:
    """One record."""

    offset: int
    timestamp_ms: int
    key: bytes | None
    value: bytes | None
    headers: tuple[Header, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PlainBatch:
    """One batch."""

    position: int
    crc_ok: bool
    digest: int
    """Of its records; -1 without any that can be read, and for control batches."""


def parse(data: bytes) -> list[PlainBatch]:
    """The batches of a segment, up to the first that is not whole."""
    batches = []
    at = 0
    while at + 17 <= len(data):
        (length,) = struct.unpack_from(">i", data, at + 8)
        magic = struct.unpack_from(">b", data, at + 16)[0]
        if length < {0: 14, 1: 22}.get(magic, 49) or at + 12 + length > len(data):
            break
        crc_ok, its_digest = _crc_and_digest(data[at : at + 12 + length])
        batches.append(PlainBatch(position=at, crc_ok=crc_ok, digest=its_digest))
        at += 12 + length
    return batches


@lru_cache(_KEPT_BATCHES)
def _crc_and_digest(batch: bytes) -> tuple[bool, int]:
    """Whether the CRC of one batch is right, and the digest of its records."""
    (base,) = struct.unpack_from(">q", batch)
    if batch[16] != 2:
        return False, -1
    (crc,) = struct.unpack_from(">I", batch, 17)
    attributes, last, base_ms, max_ms = struct.unpack_from(">hiqq", batch, 21)
    (count,) = struct.unpack_from(">i", batch, 57)
    if google_crc32c.value(batch[21:]) != crc:
        return False, -1
    if attributes & 0x20:
        return True, -1
    try:
        body = decompress(attributes & 7, batch[61:])
        records = _records(body, base, last, base_ms, max_ms if attributes & 8 else None, count)
    except (_Unreadable, NotDecompressed, UnicodeDecodeError, IndexError):
        return True, -1
    return True, _digest(records)


def _digest(records: tuple[PlainRecord, ...]) -> int:
    ids = [_id(record.value or b"") for record in records]
    sums = [checksum(r.value, r.key, r.headers, r.timestamp_ms) for r in records]
    columns = ([r.offset for r in records], [i[0] for i in ids], [i[1] for i in ids], sums)
    return digest(mix(*(np.array(column, np.int64) for column in columns)))


def _records(
    body: bytes, base: int, last: int, base_ms: int, appended_ms: int | None, count: int
) -> tuple[PlainRecord, ...]:
    if not 0 <= count <= min(_MOST_RECORDS, len(body) // 7):
        raise _Unreadable
    records: list[PlainRecord] = []
    at = 0
    for _ in range(count):
        length, at = _varint(body, at, 5)
        if length <= 0 or at + length > len(body):
            raise _Unreadable
        record = _record(body[at : at + length], base, base_ms, appended_ms)
        before = records[-1].offset if records else base - 1
        if not before < record.offset <= base + last:
            raise _Unreadable
        records.append(record)
        at += length
    if at != len(body):
        raise _Unreadable
    return tuple(records)


def _record(body: bytes, base: int, base_ms: int, appended_ms: int | None) -> PlainRecord:
    timestamp_delta, at = _varint(body, 1, 10)
    offset_delta, at = _varint(body, at, 5)
    key, at = _bytes(body, at)
    value, at = _bytes(body, at)
    count, at = _varint(body, at, 5)
    headers: list[Header] = []
    if count < 0:
        raise _Unreadable
    for _ in range(count):
        name, at = _bytes(body, at)
        content, at = _bytes(body, at)
        if name is None:
            raise _Unreadable
        headers.append((name.decode(), content))
    if at != len(body):
        raise _Unreadable
    time = _int64(base_ms + timestamp_delta) if appended_ms is None else appended_ms
    offset = _int64(base + offset_delta)
    return PlainRecord(offset=offset, timestamp_ms=time, key=key, value=value, headers=tuple(headers))


def _varint(body: bytes, at: int, most: int) -> tuple[int, int]:
    value = 0
    for place in range(most):
        byte = body[at + place]
        value |= (byte & 0x7F) << 7 * place
        if byte < 0x80:
            value &= (1 << 64) - 1
            return (value >> 1) ^ -(value & 1), at + place + 1
    raise _Unreadable


def _bytes(body: bytes, at: int) -> tuple[bytes | None, int]:
    size, at = _varint(body, at, 5)
    if size == -1:
        return None, at
    if size < 0 or at + size > len(body):
        raise _Unreadable
    return body[at : at + size], at + size


def _int64(number: int) -> int:
    """As 64-bit integers wrap around."""
    return (number + (1 << 63)) % (1 << 64) - (1 << 63)


def _id(value: bytes) -> tuple[int, int]:
    """Producer and sequence that a value carries; -1 and -1 if it does not."""
    if len(value) < 20:
        return -1, -1
    magic, producer, sequence, crc = struct.unpack_from("<4siqI", value)
    is_whole = magic == b"HW\x01\x00" and crc == zlib.crc32(value[:16])
    return (producer, sequence) if is_whole else (-1, -1)
