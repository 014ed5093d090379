"""Records of hand-written bytes; many of them at once are those found one by one."""

import random

import numpy as np
import pytest

from spark_verify.segments import record_starts
from spark_verify.segments.record_starts import find_records
from spark_verify.segments.records import Records, read_records
from spark_verify.selftest.segments.segment_bytes import MadeRecord, record_bytes, varint

# Length 14, attributes, timestamp delta 300, offset delta 1, key "k", value "abc", header "h" without value.
RECORD = bytes.fromhex("1c 00 d804 02 02 6b 06 616263 02 02 68 01")


def read(*batches: tuple[bytes, int]) -> Records:
    """Read batches, each its bytes and the count that it declares."""
    ends = np.cumsum([len(body) for body, _ in batches])
    begins = ends - [len(body) for body, _ in batches]
    data = b"".join(body for body, _ in batches)
    return read_records(data, begins, ends, np.array([count for _, count in batches], np.int64))


def test_every_field_of_a_record_is_read() -> None:
    found = read((RECORD, 1))
    assert found.errors == {}
    assert found.timestamp_delta.tolist() == [300]
    assert found.offset_delta.tolist() == [1]
    assert (found.key_at.tolist(), found.key_bytes.tolist()) == ([6], [1])
    assert (found.value_at.tolist(), found.value_bytes.tolist()) == ([8], [3])
    assert found.headers == {0: (("h", None),)}


def test_null_and_empty_are_told_apart() -> None:
    found = read((bytes.fromhex("0c 00 00 00 01 01 00") + bytes.fromhex("0c 00 00 02 00 00 00"), 2))
    assert found.errors == {}
    assert found.key_bytes.tolist() == [-1, 0]
    assert found.value_bytes.tolist() == [-1, 0]


@pytest.mark.parametrize("number", [0, 1, -1, 63, 64, -65, 300, (1 << 31) - 1, -(1 << 31), (1 << 62) + 1])
def test_a_timestamp_delta_of_any_width_is_read(number: int) -> None:
    found = read((record_bytes(MadeRecord(value=b"v"), 0, number), 1))
    assert found.timestamp_delta.tolist() == [number]


@pytest.mark.parametrize(
    ("body", "count", "error"),
    [
        (RECORD, -1, "it declares -1 records in 15 bytes"),
        (RECORD, 3, "it declares 3 records in 15 bytes"),
        (RECORD * 2, 1, "15 bytes behind its last record"),
        (RECORD, 2, "record 1 of it has no whole length, 0 are left"),
        (RECORD[:-1], 1, "record 0 of it declares 14 bytes, 13 are left"),
        (b"\x00" * 7, 1, "record 0 of it declares 0 bytes, 6 are left"),
        (b"\x01" * 7, 1, "record 0 of it declares -1 bytes, 6 are left"),
        (b"\xff" * 9, 1, "record 0 of it has no whole length, 4 are left"),
        (b"\x0c" + b"\xff" * 6, 1, "the fields of record 0 do not fill it"),
        (RECORD + bytes.fromhex("0c 00 00 00 01 04 00"), 2, "the fields of record 1 do not fill it"),
        (RECORD + bytes.fromhex("0c 00 00 00 01 03 00"), 2, "the fields of record 1 do not fill it"),
        (bytes.fromhex("0c 00 00 00 01 01 01"), 1, "the fields of record 0 do not fill it"),
        (bytes.fromhex("0c 00 00 00 01 01 04"), 1, "the fields of record 0 do not fill it"),
        (bytes.fromhex("0e 00 00 00 01 01 00 00"), 1, "the fields of record 0 do not fill it"),
        (bytes.fromhex("10 00 00 00 01 01 02 01 01"), 1, "the fields of record 0 do not fill it"),
        (bytes.fromhex("12 00 00 00 01 01 02 02 ff 01"), 1, "the fields of record 0 do not fill it"),
        (b"", -5, "it declares -5 records in 0 bytes"),
    ],
)
def test_a_batch_that_is_not_what_it_says_has_an_error_and_its_neighbours_have_none(
    body: bytes, count: int, error: str
) -> None:
    found = read((RECORD * 2, 2), (body, count), (RECORD, 1))
    assert found.errors == {1: error}
    assert found.batch.tolist() == [0, 0, 2]
    assert found.first.tolist() == [0, 2, 2]


def test_a_count_that_needs_more_memory_than_is_kept_is_refused() -> None:
    least = bytes.fromhex("0c 00 00 00 01 01 00")
    found = read((least * ((1 << 20) + 1), (1 << 20) + 1))
    assert list(found.errors) == [0]


def test_no_batches_and_batches_without_records_are_fine() -> None:
    assert read().errors == {}
    found = read((b"", 0), (RECORD, 1), (b"", 0))
    assert found.errors == {}
    assert found.first.tolist() == [0, 0, 1]


def one_by_one(body: bytes) -> tuple[list[int], list[int]]:
    """Where records begin, behind their lengths, and end: a loop over the bytes."""
    begins, ends, at = [], [], 0
    while at < len(body):
        value = shift = 0
        while True:
            byte = body[at]
            value |= (byte & 0x7F) << shift
            shift, at = shift + 7, at + 1
            if byte < 0x80:
                break
        begins.append(at)
        at += value >> 1
        ends.append(at)
    return begins, ends


@pytest.mark.parametrize("few", [0, 30, 1 << 30])
@pytest.mark.parametrize("loop_records", [1, 256])
def test_guessing_finds_the_records_that_a_loop_finds(
    few: int, loop_records: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever the sizes are, and whichever of both ways is taken."""
    monkeypatch.setattr(record_starts, "_FEW", few)
    monkeypatch.setattr(record_starts, "_LOOP_RECORDS", loop_records)
    rng = random.Random(few + loop_records)
    for sizes in ((10,), (10, 10, 10, 70), (62, 63, 64, 65), tuple(range(1, 200)), (100, 8190, 8193)):
        bodies, counts = [], []
        for _ in range(12):
            records = [rng.choice(sizes) for _ in range(rng.choice((0, 1, 2, 40, 150)))]
            bodies.append(b"".join(varint(size) + rng.randbytes(size) for size in records))
            counts.append(len(records))
        ends = np.cumsum([len(body) for body in bodies])
        begins = ends - [len(body) for body in bodies]
        found = find_records(b"".join(bodies), begins, ends, np.array(counts))
        assert found.errors == {}
        wanted = [one_by_one(body) for body in bodies]
        starts = [int(begin) + at for begin, (places, _) in zip(begins, wanted, strict=True) for at in places]
        stops = [int(begin) + at for begin, (_, places) in zip(begins, wanted, strict=True) for at in places]
        assert found.body.tolist() == starts
        assert found.end.tolist() == stops


def test_tiny_records_of_changing_size_in_one_batch_take_no_step_each() -> None:
    """Steps over one batch would take a minute."""
    body = bytes.fromhex("0c 00 00 00 01 01 00 0e 00 00 00 01 02 61 00") * 150_000
    found = read((body, 300_000))
    assert found.errors == {}
    assert len(found.batch) == 300_000
