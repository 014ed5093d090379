"""Decompresses the records of a batch, within a bound: a few kilobytes may declare, or become, gigabytes.

gzip    zlib's gzip container
snappy  either xerial's framing (Java clients and brokers) or one raw block (librdkafka)
lz4     the LZ4 frame format
zstd    a zstd frame, with (librdkafka) or without (Java) its content size
"""

import zlib
from functools import partial

import pyarrow as pa

from spark_verify.segments.layout import Codec

RECORDS_LIMIT_BYTES = 64 << 20
"""Of the records of one batch. librdkafka and Kafka's clients make batches of 1 MB unless told otherwise."""

_READ_BYTES = 64 << 10
_GZIP_CONTAINER = 31
_XERIAL_MAGIC = b"\x82SNAPPY\x00"
_XERIAL_HEADER_BYTES = 16
"""The magic, a version and the oldest compatible version, four bytes each."""


class NotDecompressed(Exception):
    """The records of a batch do not decompress; the message says why."""


def decompress(codec: int, data: bytes, *, limit: int = RECORDS_LIMIT_BYTES) -> bytes:
    """The records of a batch as one `bytes`; raises NotDecompressed, also beyond `limit` bytes."""
    try:
        match codec:
            case Codec.NONE:
                return data
            case Codec.GZIP:
                return _gzip(data, limit)
            case Codec.SNAPPY:
                return _snappy(data, limit)
            case Codec.LZ4 | Codec.ZSTD:
                return _stream(Codec(codec).name.lower(), data, limit)
            case _:
                raise NotDecompressed(f"unknown codec {codec}")
    except (OSError, ValueError, zlib.error) as error:
        line = (str(error).strip().splitlines() or [type(error).__name__])[0]
        raise NotDecompressed(f"{Codec(codec).name.lower()}: {line}") from None


def _gzip(data: bytes, limit: int) -> bytes:
    inflate = zlib.decompressobj(_GZIP_CONTAINER)
    records = inflate.decompress(data, limit + 1)
    _refuse_beyond(limit, len(records))
    if not inflate.eof:
        raise NotDecompressed("gzip: it ends before its end marker")
    if inflate.unused_data:
        raise NotDecompressed(f"gzip: {len(inflate.unused_data)} bytes behind its end marker")
    return records


def _stream(name: str, data: bytes, limit: int) -> bytes:
    """Read piece by piece: a large buffer for each of thousands of small batches costs more than decoding."""
    with pa.CompressedInputStream(pa.BufferReader(data), name) as stream:
        parts = []
        total = 0
        for part in iter(partial(stream.read, _READ_BYTES), b""):
            parts.append(part)
            total += len(part)
            _refuse_beyond(limit, total)
    return parts[0] if len(parts) == 1 else b"".join(parts)


def _snappy(data: bytes, limit: int) -> bytes:
    if not data.startswith(_XERIAL_MAGIC):
        return _snappy_block(data, limit)
    if len(data) < _XERIAL_HEADER_BYTES:
        raise NotDecompressed("snappy: its header is not whole")
    parts = []
    total = 0
    at = _XERIAL_HEADER_BYTES
    while at < len(data):
        size = int.from_bytes(data[at : at + 4], "big")
        at += 4
        if size == 0 or at + size > len(data):
            raise NotDecompressed(f"snappy: a block of {size} bytes, {max(0, len(data) - at)} are left")
        parts.append(_snappy_block(data[at : at + size], limit - total))
        total += len(parts[-1])
        at += size
    return b"".join(parts)


def _snappy_block(block: bytes, limit: int) -> bytes:
    size = _declared_size(block)
    _refuse_beyond(limit, size)
    records: bytes = pa.Codec("snappy").decompress(block, decompressed_size=size, asbytes=True)
    return records


def _declared_size(block: bytes) -> int:
    """The varint that a raw snappy block begins with: the size of what it decompresses to."""
    size = 0
    for at, byte in enumerate(block[:5]):
        size |= (byte & 0x7F) << 7 * at
        if byte < 0x80:
            return size
    raise NotDecompressed("snappy: its size is not whole")


def _refuse_beyond(limit: int, size: int) -> None:
    if size > limit:
        raise NotDecompressed(f"it decompresses to more than {limit} bytes")
