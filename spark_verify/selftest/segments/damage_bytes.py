"""Ways to damage a segment's bytes."""

import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from random import Random

from spark_verify.segments.layout import CODEC_MASK, CRC_FROM, HEADER_BYTES, Codec
from spark_verify.selftest.segments.segment_bytes import compressed, sealed, varint

Place = tuple[int, int]
"""Position and size of a batch."""

_NUMBERS = (-(1 << 31), -13, -12, -1, 0, 1, 48, 49, 50, 1 << 20, 1 << 30, (1 << 31) - 1)
_LAST_OFFSET_AT, _COUNT_AT = 23, 57
_BOMB_BYTES = (1 << 16, 80 << 20)


@dataclass(frozen=True, slots=True, kw_only=True)
class Damaged:
    """A damaged file, and what must be found in it."""

    kind: str
    data: bytes
    first: int
    """Everything before this byte is as it was."""
    crc_of: int | None = None
    """The position of the batch of which one bit, that its CRC covers, was flipped; and nothing else."""


def damage(data: bytes, places: Sequence[Place], rng: Random) -> Damaged:
    """Damage a segment whose whole batches lie at `places` (at least one) in one way."""
    return rng.choice(_WAYS)(data, places, rng)


def _flip_bit(data: bytes, places: Sequence[Place], rng: Random) -> Damaged:
    """Any bit that the CRC of a batch covers."""
    position, size = rng.choice(places)
    at = rng.randrange(position + CRC_FROM, position + size)
    flipped = _with(data, at, bytes([data[at] ^ 1 << rng.randrange(8)]))
    return Damaged(kind="bit flipped, covered by a CRC", data=flipped, first=at, crc_of=position)


def _flip_header_bit(data: bytes, places: Sequence[Place], rng: Random) -> Damaged:
    position, _ = rng.choice(places)
    at = position + rng.randrange(CRC_FROM)
    flipped = _with(data, at, bytes([data[at] ^ 1 << rng.randrange(8)]))
    return Damaged(kind="bit flipped, not covered", data=flipped, first=position)


def _truncate(data: bytes, _: Sequence[Place], rng: Random) -> Damaged:
    at = rng.randrange(len(data))
    return Damaged(kind="truncated", data=data[:at], first=at)


def _zeros_behind(data: bytes, _: Sequence[Place], rng: Random) -> Damaged:
    at = rng.randrange(len(data) + 1)
    zeros = bytes(rng.choice((1, 11, 60, 61, 4096)))
    return Damaged(kind="zeros behind", data=data[:at] + zeros, first=at)


def _zero_run(data: bytes, _: Sequence[Place], rng: Random) -> Damaged:
    at = rng.randrange(len(data))
    run = min(len(data) - at, rng.choice((1, 4, 17, 512, 4096)))
    return Damaged(kind="run of zeros", data=_with(data, at, bytes(run)), first=at)


def _splice(data: bytes, _: Sequence[Place], rng: Random) -> Damaged:
    """Some bytes over others of the same file, or between them."""
    source, at = rng.randrange(len(data)), rng.randrange(len(data))
    piece = data[source : source + rng.choice((1, 4, 61, 300))]
    over = len(piece) if rng.random() < 0.5 else 0
    return Damaged(kind="spliced", data=data[:at] + piece + data[at + over :], first=at)


def _cut_out(data: bytes, _: Sequence[Place], rng: Random) -> Damaged:
    at = rng.randrange(len(data))
    return Damaged(kind="bytes cut out", data=data[:at] + data[at + rng.choice((1, 5, 100)) :], first=at)


def _length(data: bytes, places: Sequence[Place], rng: Random) -> Damaged:
    position, _ = rng.choice(places)
    length = struct.pack(">i", rng.choice((*_NUMBERS, rng.randrange(-(1 << 31), 1 << 31))))
    return Damaged(kind="other length", data=_with(data, position + 8, length), first=position)


def _magic(data: bytes, places: Sequence[Place], rng: Random) -> Damaged:
    position, _ = rng.choice(places)
    magic = bytes([rng.choice((0, 1, 3, 255))])
    return Damaged(kind="other magic", data=_with(data, position + 16, magic), first=position)


def _resealed_count(data: bytes, places: Sequence[Place], rng: Random) -> Damaged:
    """Another number of records, or another last offset, under a right CRC."""
    number = struct.pack(">i", rng.choice((*_NUMBERS, rng.randrange(200))))
    at = rng.choice((_COUNT_AT, _LAST_OFFSET_AT))
    kind = "other count or last offset, right CRC"
    return _resealed(kind, data, places, rng, lambda batch: _with(batch, at, number))


def _resealed_bytes(data: bytes, places: Sequence[Place], rng: Random) -> Damaged:
    """Other bytes, in the header's fields, the records or the compressed stream, under a right CRC."""

    def change(batch: bytes) -> bytes:
        for _ in range(rng.choice((1, 1, 2, 8))):
            at = rng.randrange(CRC_FROM, len(batch))
            batch = _with(batch, at, bytes([rng.choice((0, 1, 127, 128, 255, rng.randrange(256)))]))
        return batch

    return _resealed("other bytes, right CRC", data, places, rng, change)


def _resealed_records(data: bytes, places: Sequence[Place], rng: Random) -> Damaged:
    """Garbage or a long varint in place of the records, compressed as the batch says, under a right CRC."""
    junk = rng.choice(
        (
            rng.randbytes(rng.randrange(1, 200)),
            varint(rng.choice((-1, 0, 1, 1 << 30, -(1 << 63)))) * rng.randrange(1, 40),
            b"\xff" * rng.randrange(1, 40),
            _wide(rng),
            b"\x0c" + bytes(6),
        )
    )
    count = struct.pack(">i", rng.choice((1, 1, 2, 5, 100)))

    def change(batch: bytes) -> bytes:
        codec = Codec(rng.randrange(len(Codec)))
        return _with_codec(_with(batch, _COUNT_AT, count), codec) + compressed(codec, junk)

    return _resealed("other records, right CRC", data, places, rng, change)


def _bomb(data: bytes, places: Sequence[Place], rng: Random) -> Damaged:
    """Few bytes that become many."""
    codec = rng.choice((Codec.GZIP, Codec.LZ4, Codec.ZSTD, Codec.SNAPPY))
    body = _bombs()[codec, rng.random() < 0.002]
    return _resealed("bomb", data, places, rng, lambda batch: _with_codec(batch, codec) + body)


def _resealed(
    kind: str, data: bytes, places: Sequence[Place], rng: Random, change: Callable[[bytes], bytes]
) -> Damaged:
    """One batch changed, with the length and the CRC that it has then."""
    position, size = rng.choice(places)
    batch = sealed(change(data[position : position + size]))
    return Damaged(kind=kind, data=data[:position] + batch + data[position + size :], first=position)


def _wide(rng: Random) -> bytes:
    """A record with one number in more bytes than it needs: five are allowed, of a timestamp ten."""
    fields = [b"\x00", b"\x00", b"\x01", b"\x01", b"\x00"]
    fields[rng.randrange(len(fields))] = b"\x80" * rng.randrange(11) + b"\x00"
    body = b"\x00" + b"".join(fields)
    return varint(len(body)) + body


def _with(data: bytes, at: int, piece: bytes) -> bytes:
    return data[:at] + piece + data[at + len(piece) :]


def _with_codec(batch: bytes, codec: Codec) -> bytes:
    """The header of a batch with another codec."""
    (attributes,) = struct.unpack_from(">h", batch, CRC_FROM)
    return _with(batch, CRC_FROM, struct.pack(">h", attributes & ~CODEC_MASK | codec))[:HEADER_BYTES]


@cache
def _bombs() -> dict[tuple[Codec, bool], bytes]:
    """Compressed zeros by codec: more or less than the parser decompresses of a batch."""
    codecs = (Codec.GZIP, Codec.LZ4, Codec.ZSTD, Codec.SNAPPY)
    return {
        (codec, size > 1 << 20): compressed(codec, bytes(size), framed_snappy=False)
        for codec in codecs
        for size in _BOMB_BYTES
    }


_WAYS: tuple[Callable[[bytes, Sequence[Place], Random], Damaged], ...] = (
    *(_flip_bit, _flip_header_bit, _truncate, _zeros_behind, _zero_run, _splice, _cut_out),
    *(_length, _magic, _resealed_count, _resealed_bytes, _resealed_records, _resealed_records, _bomb),
)
