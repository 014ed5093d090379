"""Batch headers of hand-written bytes, and every way in which a segment may end."""

import mmap
from pathlib import Path

import pytest

from spark_verify.segments.batches import Batches, Bytes, SegmentWalk, Tail, TailKind

# One record, "abc" at offset 5, as Kafka writes it: base offset, length, leader epoch, magic, CRC,
# attributes, last offset delta, both timestamps, producer id and epoch, base sequence, count, record.
BATCH = bytes.fromhex(
    "0000000000000005 0000003b 00000002 02 2c1fcabc 0010 00000000 0000019f0fb5a001 0000019f0fb5a001"
    "0000000000000007 0003 0000002a 00000001 12 00 00 00 01 06 616263 00"
)
EMPTY_V0 = bytes.fromhex("0000000000000009 0000000e 11111111 00 00 ffffffff ffffffff")


def walked(data: Bytes, *, chunk_bytes: int = 1 << 20) -> tuple[list[Batches], Tail]:
    walk = SegmentWalk(data, chunk_bytes=chunk_bytes)
    return list(walk.chunks()), walk.tail


def test_every_field_of_a_header_is_read() -> None:
    (batches,), tail = walked(BATCH)
    fields = {name: int(batches.column(name)[0]) for name in batches.header.dtype.names or ()}
    assert fields == {
        "base_offset": 5,
        "length": 59,
        "leader_epoch": 2,
        "magic": 2,
        "crc": 0x2C1FCABC,
        "attributes": 0x10,
        "last_offset_delta": 0,
        "base_timestamp_ms": 0x19F0FB5A001,
        "max_timestamp_ms": 0x19F0FB5A001,
        "producer_id": 7,
        "producer_epoch": 3,
        "base_sequence": 42,
        "records": 1,
    }
    assert (batches.position.tolist(), batches.end.tolist()) == ([0], [71])
    assert batches.crc_ok.tolist() == [True]
    assert batches.errors == {}
    assert (tail.kind, tail.size) == (TailKind.NOTHING, 0)


def test_a_mapped_file_is_read_as_bytes_are(tmp_path: Path) -> None:
    file = tmp_path / "segment"
    file.write_bytes(BATCH * 3)
    with file.open("rb") as opened:
        mapped = mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ)
    (batches,), tail = walked(mapped)
    assert batches.position.tolist() == [0, 71, 142]
    assert batches.crc_ok.all()
    assert tail.size == 0


@pytest.mark.parametrize("chunk_bytes", [1, 71, 72, 150])
def test_chunks_split_a_segment_between_batches(chunk_bytes: int) -> None:
    chunks, tail = walked(BATCH * 5, chunk_bytes=chunk_bytes)
    assert [int(p) for chunk in chunks for p in chunk.position] == [0, 71, 142, 213, 284]
    assert tail.position == 355


def test_the_crc_covers_everything_from_the_attributes_on() -> None:
    for at in range(21, len(BATCH)):
        (batches,), _ = walked(flipped(BATCH, at))
        assert batches.crc_ok.tolist() == [False], at
        assert "CRC-32C" in batches.errors[0]
    for at in (*range(8), *range(12, 16)):
        (batches,), _ = walked(flipped(BATCH, at))
        assert batches.crc_ok.tolist() == [True], at


def test_a_wrong_crc_names_both() -> None:
    (batches,), _ = walked(BATCH[:17] + b"\x00\x00\x00\x01" + BATCH[21:])
    assert batches.errors == {0: "its CRC-32C is 0x2c1fcabc, stored is 0x00000001"}


@pytest.mark.parametrize("cut", range(1, 71))
def test_a_batch_that_is_not_whole_is_a_tail(cut: int) -> None:
    chunks, tail = walked(BATCH + BATCH[:cut])
    assert [len(chunk) for chunk in chunks] == [1]
    # The first seven bytes of the offset are zeros.
    assert tail.kind is (TailKind.ZEROS if cut < 8 else TailKind.PARTIAL)
    assert (tail.position, tail.size) == (71, cut)


def test_zeros_behind_the_last_batch_are_a_tail() -> None:
    _, tail = walked(BATCH + bytes(10_000))
    assert (tail.kind, tail.position, tail.size) == (TailKind.ZEROS, 71, 10_000)


def test_a_declared_length_beyond_the_file_is_a_tail_however_large() -> None:
    huge = BATCH[:8] + b"\x7f\xff\xff\xff" + BATCH[12:]
    chunks, tail = walked(BATCH + huge)
    assert len(chunks) == 1
    assert (tail.kind, tail.size) == (TailKind.PARTIAL, 71)
    assert tail.reason == "a batch declares 2147483659 bytes, the file has 71 more"


@pytest.mark.parametrize("length", [-(1 << 31), -12, -1, 0, 48])
def test_a_length_that_no_batch_has_is_corrupt(length: int) -> None:
    short = BATCH[:8] + length.to_bytes(4, "big", signed=True) + BATCH[12:]
    _, tail = walked(BATCH + short + BATCH)
    assert (tail.kind, tail.position, tail.size) == (TailKind.CORRUPT, 71, 142)
    assert tail.reason == f"a batch of magic 2 declares a length of {length}, the least is 49"


def test_old_and_unknown_formats_are_errors_of_their_batch_alone() -> None:
    (batches,), tail = walked(BATCH + EMPTY_V0 + flipped(BATCH, 16) + BATCH)
    assert batches.crc_ok.tolist() == [True, False, False, True]
    assert batches.errors == {
        1: "message format 0, which Kafka wrote before 0.11",
        2: "unknown magic 3",
    }
    assert batches.column("base_offset").tolist() == [5, 9, 5, 5]
    assert tail.size == 0


@pytest.mark.parametrize("data", [EMPTY_V0, BATCH + EMPTY_V0])
def test_a_short_message_at_the_end_of_a_file_is_read_within_it(data: bytes) -> None:
    chunks, tail = walked(data)
    assert chunks[-1].errors == {len(chunks[-1]) - 1: "message format 0, which Kafka wrote before 0.11"}
    assert int(chunks[-1].column("base_offset")[-1]) == 9
    assert tail.size == 0


def test_an_empty_file_has_nothing() -> None:
    assert walked(b"") == ([], Tail(kind=TailKind.NOTHING, position=0, size=0))


def flipped(data: bytes, at: int) -> bytes:
    return data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]
