"""A record differs from every other, and a changed one from the one that was sent."""

import zlib

import numpy as np
import pytest
from confluent_kafka import Message

from checkers.history.records.payload import HEADER_BYTES, checksum
from workloads.clients.consumer import delivered
from workloads.payload import SPAN, Encoder
from workloads.record.decode import Arrivals, arrivals, identify

NOW_MS = 1_795_261_297_448
HEADERS = (("trace", b"\x00\x01"), ("empty", None))


def message(value: bytes | None, key: bytes | None = None, **other: object) -> Message:
    fields = {"topic": "t", "partition": 0, "offset": 5, "leader_epoch": 3, "timestamp": (1, NOW_MS)} | other
    return Message(value=value, key=key, **fields)  # type: ignore[arg-type]


def arrivals_of(messages: list[Message]) -> Arrivals:
    """What is recorded of messages that librdkafka delivers."""
    return arrivals(delivered(messages, {("t", 0): 0}))


def test_a_value_is_laid_out_as_documented() -> None:
    (value,) = Encoder(7, 24, keyed=False).block(258, 1, NOW_MS).values
    assert value[:16] == bytes.fromhex("48570100 07000000 0201000000000000")
    assert int.from_bytes(value[16:20], "little") == zlib.crc32(value[:16])
    assert len(value) == 24


@pytest.mark.parametrize("first", [0, 65_000, 3 * SPAN, 70_000 * SPAN - 20])
@pytest.mark.parametrize("record_bytes", [HEADER_BYTES, 100, 1021])
def test_checksums_made_by_table_are_those_of_the_definition(first: int, record_bytes: int) -> None:
    encoder = Encoder(3, record_bytes, keyed=True, headers=HEADERS)
    block = encoder.block(first, min(200, encoder.room(first)), NOW_MS)
    by_definition = [checksum(v, k, HEADERS, NOW_MS) for v, k in zip(block.values, block.keys, strict=True)]
    assert block.checksums.tolist() == by_definition


def test_a_block_ends_where_the_low_half_of_the_sequence_does() -> None:
    assert Encoder(1, 100, keyed=False).room(SPAN - 3) == 3
    with pytest.raises(AssertionError, match="do not fit"):
        Encoder(1, 100, keyed=False).block(SPAN - 3, 4, NOW_MS)


def test_large_records_come_in_blocks_of_a_mebibyte() -> None:
    assert Encoder(1, 200_000, keyed=False).block_limit == 5


@pytest.mark.parametrize("headers", [(), HEADERS])
@pytest.mark.parametrize("keyed", [True, False])
def test_what_arrives_unchanged_has_the_id_and_checksum_of_the_send(
    keyed: bool, headers: tuple[tuple[str, bytes | None], ...]
) -> None:
    block = Encoder(9, 64, keyed=keyed, headers=headers).block(1000, 3, NOW_MS)
    pairs = zip(block.values, block.keys, strict=False)
    got = arrivals_of([message(v, k, headers=list(headers) or None) for v, k in pairs])
    assert got.checksum.tolist() == block.checksums.tolist()
    assert got.producer.tolist() == [9, 9, 9]
    assert got.sequence.tolist() == [1000, 1001, 1002]
    assert got.offset.tolist() == [5, 5, 5]
    assert got.leader_epoch.tolist() == [3, 3, 3]
    assert got.timestamp_ms.tolist() == [NOW_MS] * 3


def test_a_change_of_any_bit_of_value_or_key_changes_the_checksum() -> None:
    block = Encoder(1, 30, keyed=True).block(77, 1, NOW_MS)
    (value,), (key,) = block.values, block.keys
    assert key is not None
    flipped = [flip(value, bit) for bit in range(8 * len(value))]
    sums = {checksum(v, key, None, NOW_MS) for v in flipped} | {
        checksum(value, flip(key, bit), None, NOW_MS) for bit in range(8 * len(key))
    }
    assert block.checksums[0] not in sums
    assert len(sums) == 8 * (30 + 8)


@pytest.mark.parametrize("other_ms", [NOW_MS + 1, NOW_MS - 1, NOW_MS + (1 << 32), -1, 0])
def test_another_timestamp_is_another_checksum(other_ms: int) -> None:
    assert checksum(b"v", b"k", None, NOW_MS) != checksum(b"v", b"k", None, other_ms)


def test_lost_or_changed_headers_are_another_checksum() -> None:
    whole = checksum(b"v", None, HEADERS, NOW_MS)
    assert whole != checksum(b"v", None, HEADERS[:1], NOW_MS)
    assert whole != checksum(b"v", None, (("trace", b"\x00\x02"), ("empty", None)), NOW_MS)


def test_every_damaged_header_is_a_record_without_id() -> None:
    (value,) = Encoder(1, 40, keyed=False).block(5, 1, NOW_MS).values
    damaged = [flip(value, bit) for bit in range(8 * HEADER_BYTES)]
    producers, sequences = identify(damaged)
    assert set(producers.tolist()) == {-1}
    assert set(sequences.tolist()) == {-1}


def test_foreign_values_of_any_size_have_no_id_and_do_not_disturb_their_neighbours() -> None:
    own = Encoder(4, 32, keyed=False).block(8, 2, NOW_MS).values
    producers, sequences = identify([b"", own[0], b"x" * 32, bytes(19), own[1], b"y" * 500])
    assert producers.tolist() == [-1, 4, -1, -1, 4, -1]
    assert sequences.tolist() == [-1, 8, -1, -1, 9, -1]


def test_a_tombstone_and_an_unknown_epoch_are_read_as_none() -> None:
    got = arrivals_of([message(None, leader_epoch=-1)])
    assert (got.producer[0], got.sequence[0], got.leader_epoch[0]) == (-1, -1, -1)
    assert got.checksum.dtype == np.int64


def flip(data: bytes, bit: int) -> bytes:
    return bytes(byte ^ (1 << bit % 8) if at == bit // 8 else byte for at, byte in enumerate(data))
