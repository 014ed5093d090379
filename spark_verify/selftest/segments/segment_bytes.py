"""Makes segments byte by byte, each batch whole and right: what the tests, the fuzz and the bench read back.

Slow and plain on purpose: it shares no code with the parser but the names of fields.
"""

import struct
import zlib
from collections.abc import Sequence
from dataclasses import dataclass

import google_crc32c
import pyarrow as pa

from checkers.history.records.payload import Header
from spark_verify.segments.layout import Codec

_BLOCK = 32 * 1024
"""What xerial's snappy stream compresses at a time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MadeRecord:
    """One record to be put into a batch."""

    value: bytes | None
    key: bytes | None = None
    headers: tuple[Header, ...] = ()
    timestamp_ms: int = 0
    offset: int | None = None
    """None: the one after the record before."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MadeBatch:
    """One batch to be written; the defaults are those of a producer without idempotence."""

    base_offset: int
    records: Sequence[MadeRecord]
    codec: Codec = Codec.NONE
    framed_snappy: bool = True
    """As Java clients and brokers write it, not librdkafka."""
    flags: int = 0
    """Of the attributes, beside the codec."""
    leader_epoch: int = 0
    producer_id: int = -1
    producer_epoch: int = -1
    base_sequence: int = -1
    last_offset: int | None = None
    """None: that of the last record. Compaction leaves a later one."""


def segment(batches: Sequence[MadeBatch]) -> bytes:
    """The bytes of a segment."""
    return b"".join(map(batch_bytes, batches))


def batch_bytes(batch: MadeBatch) -> bytes:
    """The bytes of one batch of at least one record, or of an emptied one with `last_offset`."""
    times = [record.timestamp_ms for record in batch.records] or [0]
    offsets = _offsets(batch)
    body = b"".join(
        record_bytes(record, offset - batch.base_offset, record.timestamp_ms - times[0])
        for record, offset in zip(batch.records, offsets, strict=True)
    )
    last_offset = batch.last_offset if batch.last_offset is not None else offsets[-1]
    return sealed(
        struct.pack(
            ">qiibIhiqqqhii",
            batch.base_offset,
            0,
            batch.leader_epoch,
            2,
            0,
            batch.codec | batch.flags,
            last_offset - batch.base_offset,
            times[0],
            max(times),
            batch.producer_id,
            batch.producer_epoch,
            batch.base_sequence,
            len(batch.records),
        )
        + compressed(batch.codec, body, framed_snappy=batch.framed_snappy)
    )


def sealed(batch: bytes) -> bytes:
    """A batch with the length and the CRC-32C that its bytes have."""
    crc = google_crc32c.value(batch[21:])
    return b"".join(
        [batch[:8], struct.pack(">i", len(batch) - 12), batch[12:17], struct.pack(">I", crc), batch[21:]]
    )


def record_bytes(record: MadeRecord, offset_delta: int, timestamp_delta: int) -> bytes:
    """One record with its length before it."""
    parts = [b"\x00", varint(timestamp_delta), varint(offset_delta), _sized(record.key), _sized(record.value)]
    parts.append(varint(len(record.headers)))
    parts += [_sized(name.encode()) + _sized(content) for name, content in record.headers]
    body = b"".join(parts)
    return varint(len(body)) + body


def varint(number: int) -> bytes:
    """A zigzag varint of up to 64 bits."""
    rest = (number << 1) ^ (number >> 63)
    out = bytearray()
    while rest >= 0x80:
        out.append(rest & 0x7F | 0x80)
        rest >>= 7
    out.append(rest)
    return bytes(out)


def compressed(codec: Codec, body: bytes, *, framed_snappy: bool = True) -> bytes:
    """The records of a batch as a client of each kind compresses them."""
    match codec:
        case Codec.NONE:
            return body
        case Codec.GZIP:
            deflate = zlib.compressobj(wbits=31)
            return deflate.compress(body) + deflate.flush()
        case Codec.SNAPPY if framed_snappy:
            blocks = [_arrow("snappy", body[at : at + _BLOCK]) for at in range(0, len(body), _BLOCK)]
            framed = b"".join(struct.pack(">i", len(block)) + block for block in blocks)
            return b"\x82SNAPPY\x00" + struct.pack(">ii", 1, 1) + framed
        case Codec.SNAPPY:
            return _arrow("snappy", body)
        case Codec.LZ4 | Codec.ZSTD:
            return _arrow(codec.name.lower(), body)


def _arrow(name: str, body: bytes) -> bytes:
    return bytes(pa.Codec(name).compress(body, asbytes=True))


def _sized(content: bytes | None) -> bytes:
    return varint(-1) if content is None else varint(len(content)) + content


def _offsets(batch: MadeBatch) -> list[int]:
    offsets: list[int] = []
    for record in batch.records:
        following = offsets[-1] + 1 if offsets else batch.base_offset
        offsets.append(following if record.offset is None else record.offset)
    return offsets


def id_value(producer: int, sequence: int, size: int = 20) -> bytes:
    """A value that carries an id, as the project's producers send it."""
    head = b"HW\x01\x00" + struct.pack("<iq", producer, sequence)
    return (head + struct.pack("<I", zlib.crc32(head))).ljust(size, b".")
