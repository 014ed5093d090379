"""Random healthy segments, small enough that thousands of them are parsed in a minute."""

from random import Random

from spark_verify.segments.layout import CONTROL, LOG_APPEND_TIME, TRANSACTIONAL, Codec
from spark_verify.selftest.segments.segment_bytes import MadeBatch, MadeRecord, id_value, segment

_MARKER_KEYS = (b"\x00\x00\x00\x00", b"\x00\x00\x00\x01", b"\x00\x00\x00\x02")
"""Abort, commit, leader change."""
_NOW_MS = 1_795_261_297_448


def random_segment(rng: Random) -> bytes:
    """One to five batches of up to 70 records, of any codec, a few of them control batches."""
    offset = rng.choice((0, rng.randrange(1 << 40)))
    batches = []
    for _ in range(rng.randint(1, 5)):
        batch = _marker(rng, offset) if rng.random() < 0.1 else _batch(rng, offset)
        batches.append(batch)
        offset = (batch.last_offset or offset + len(batch.records)) + 1
    return segment(batches)


def _batch(rng: Random, offset: int) -> MadeBatch:
    count = rng.choice((1, 1, 2, 3, 3, 9, 12, 70))
    size = rng.choice((None, 20, 40))
    gap = rng.random() < 0.1
    records = [_record(rng, at, offset + at * 2 if gap else None, size) for at in range(count)]
    return MadeBatch(
        base_offset=offset,
        records=records,
        codec=Codec(rng.randrange(len(Codec))),
        framed_snappy=rng.random() < 0.5,
        flags=rng.choice((0, 0, 0, TRANSACTIONAL, LOG_APPEND_TIME)),
        leader_epoch=rng.randrange(9),
        producer_id=rng.randrange(5000),
        producer_epoch=rng.randrange(3),
        base_sequence=rng.randrange(1 << 31),
        last_offset=offset + 2 * count + rng.randrange(3) if gap else None,
    )


def _record(rng: Random, at: int, offset: int | None, size: int | None) -> MadeRecord:
    """A record with an id, in one of ten cases anything else."""
    value: bytes | None = id_value(rng.randrange(9), at, size or rng.randrange(20, 200))
    if rng.random() < 0.1:
        value = rng.choice((None, b"", rng.randbytes(rng.randrange(40))))
    return MadeRecord(
        value=value,
        key=rng.choice((None, None, b"", b"a key", rng.randbytes(8))),
        headers=(("trace", b"\x00\x01"), ("", None)) if rng.random() < 0.05 else (),
        timestamp_ms=rng.choice((_NOW_MS, _NOW_MS + at * 40, rng.randrange(1 << 45))),
        offset=offset,
    )


def _marker(rng: Random, offset: int) -> MadeBatch:
    key, value = rng.choice(_MARKER_KEYS), b"\x00\x00\x00\x00\x00\x07"
    record = MadeRecord(key=key, value=value, timestamp_ms=_NOW_MS)
    return MadeBatch(base_offset=offset, records=[record], flags=CONTROL | TRANSACTIONAL, producer_id=7)
