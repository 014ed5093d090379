"""Ids, checksums and digests are those that a reader of the same records has."""

import numpy as np
import pytest

from checkers.history.records.digest import digest, mix
from checkers.history.records.payload import checksum
from spark_verify.segments.batches import SegmentWalk
from spark_verify.segments.control import ControlRecord, ControlType, control_records
from spark_verify.segments.decode import batch_digests, decode, uncompressed
from spark_verify.segments.layout import CONTROL, LOG_APPEND_TIME, TRANSACTIONAL, Codec
from spark_verify.selftest.segments.segment_bytes import MadeBatch, MadeRecord, id_value, segment

NOW_MS = 1_795_261_297_448
HEADERS = (("trace", b"\x00\x01"), ("empty", None))


def records(count: int, *, keyed: bool = False, size: int = 60) -> list[MadeRecord]:
    return [
        MadeRecord(
            value=id_value(3, at, size), key=b"%08d" % at if keyed else None, timestamp_ms=NOW_MS + at * 7
        )
        for at in range(count)
    ]


def digest_of(batch: MadeBatch, ids: list[tuple[int, int]]) -> int:
    """The digest of a batch by definition, its records' ids given."""
    times = [record.timestamp_ms for record in batch.records]
    if batch.flags & LOG_APPEND_TIME:
        times = [max(times)] * len(times)
    sums = [checksum(r.value, r.key, r.headers, time) for r, time in zip(batch.records, times, strict=True)]
    offsets = range(batch.base_offset, batch.base_offset + len(ids))
    columns = (list(offsets), [p for p, _ in ids], [s for _, s in ids], sums)
    return digest(mix(*(np.array(column, np.int64) for column in columns)))


def digests_of(*batches: MadeBatch) -> tuple[list[int], dict[int, str]]:
    data = segment(batches)
    (chunk,) = SegmentWalk(data).chunks()
    found, errors = batch_digests(data, chunk)
    return found.tolist(), errors


@pytest.mark.parametrize("codec", list(Codec))
@pytest.mark.parametrize("keyed", [True, False])
@pytest.mark.parametrize("size", [20, 60, 5000])
def test_the_digest_of_a_batch_is_that_of_its_records(codec: Codec, keyed: bool, size: int) -> None:
    batches = [
        MadeBatch(base_offset=base, records=records(count, keyed=keyed, size=size), codec=codec)
        for base, count in ((100, 1), (101, 70), (171, 3))
    ]
    wanted = [digest_of(batch, [(3, at) for at in range(len(batch.records))]) for batch in batches]
    assert digests_of(*batches) == (wanted, {})


def test_batches_of_different_codecs_are_decoded_each_in_its_place() -> None:
    batches = [MadeBatch(base_offset=at * 10, records=records(10), codec=Codec(at % 5)) for at in range(15)]
    wanted = [digest_of(batch, [(3, at) for at in range(10)]) for batch in batches]
    assert digests_of(*batches) == (wanted, {})


def test_foreign_records_count_without_an_id() -> None:
    values = (None, b"", b"x" * 19, b"x" * 20, id_value(1, 2)[:-1] + b"?")
    foreign = [MadeRecord(value=value) for value in values]
    batch = MadeBatch(base_offset=0, records=foreign)
    assert digests_of(batch) == ([digest_of(batch, [(-1, -1)] * 5)], {})


def test_headers_count() -> None:
    made = [MadeRecord(value=id_value(1, at), key=b"k", headers=HEADERS if at % 2 else ()) for at in range(4)]
    batch = MadeBatch(base_offset=7, records=made)
    assert digests_of(batch) == ([digest_of(batch, [(1, at) for at in range(4)])], {})


def test_in_a_batch_stamped_by_the_broker_all_records_have_its_time() -> None:
    batch = MadeBatch(base_offset=0, records=records(3), flags=LOG_APPEND_TIME)
    data = segment([batch])
    (chunk,) = SegmentWalk(data).chunks()
    (payloads,) = uncompressed(data, chunk, {})
    assert decode(payloads, chunk).timestamp_ms.tolist() == [NOW_MS + 14] * 3
    assert digests_of(batch) == ([digest_of(batch, [(3, 0), (3, 1), (3, 2)])], {})


def test_an_emptied_batch_has_the_digest_of_nothing() -> None:
    assert digests_of(MadeBatch(base_offset=5, records=[], last_offset=9)) == ([0], {})


def test_offsets_with_gaps_are_those_of_the_records() -> None:
    made = [MadeRecord(value=id_value(1, at), offset=10 + 3 * at) for at in range(3)]
    data = segment([MadeBatch(base_offset=10, records=made, last_offset=20)])
    (chunk,) = SegmentWalk(data).chunks()
    (payloads,) = uncompressed(data, chunk, {})
    assert decode(payloads, chunk).offset.tolist() == [10, 13, 16]


@pytest.mark.parametrize("offsets", [(10, 10), (11, 10), (9, 10), (10, 13)])
def test_offsets_that_do_not_ascend_within_the_batch_are_an_error(offsets: tuple[int, int]) -> None:
    made = [MadeRecord(value=id_value(1, at), offset=offset) for at, offset in enumerate(offsets)]
    found = digests_of(MadeBatch(base_offset=10, records=made, last_offset=12))
    assert found == ([-1], {0: "its records' offsets do not ascend within the batch"})


def test_a_batch_that_does_not_decompress_is_an_error_of_its_own() -> None:
    made = [MadeBatch(base_offset=at, records=records(1), codec=Codec.NONE) for at in range(2)]
    lying = MadeBatch(base_offset=2, records=records(1), codec=Codec.NONE, flags=Codec.GZIP)
    found, errors = digests_of(*made, lying)
    assert [each == -1 for each in found] == [False, False, True]
    assert list(errors) == [2]
    assert errors[2].startswith("gzip: ")


def marker(base: int, kind: int, *, value: bytes = b"\x00\x00\x00\x00\x00\x09") -> MadeBatch:
    record = MadeRecord(key=b"\x00\x00" + kind.to_bytes(2, "big"), value=value, timestamp_ms=NOW_MS)
    return MadeBatch(base_offset=base, records=[record], flags=CONTROL | TRANSACTIONAL, producer_id=8)


def test_control_batches_have_a_type_and_no_digest() -> None:
    batches = [
        *(marker(at, at) for at in range(7)),
        marker(7, 99),
        MadeBatch(base_offset=8, records=records(1)),
    ]
    data = segment(batches)
    (chunk,) = SegmentWalk(data).chunks()
    found, errors = control_records(data, chunk)
    assert errors == {}
    assert found[:2] == [
        ControlRecord(row=0, offset=0, type=ControlType.ABORT, coordinator_epoch=9),
        ControlRecord(row=1, offset=1, type=ControlType.COMMIT, coordinator_epoch=9),
    ]
    assert [each.type.name for each in found[2:]] == [
        *("LEADER_CHANGE", "SNAPSHOT_HEADER", "SNAPSHOT_FOOTER", "KRAFT_VERSION", "KRAFT_VOTERS", "UNKNOWN")
    ]
    assert batch_digests(data, chunk)[0].tolist()[:8] == [-1] * 8
    assert batch_digests(data, chunk)[0][8] >= 0


def test_a_control_batch_that_cannot_be_read_is_an_error() -> None:
    short = MadeBatch(base_offset=0, records=[MadeRecord(key=b"\x00", value=b"")], flags=CONTROL)
    assert digests_of(short) == (
        [-1],
        {0: "the key of its control record is shorter than a version and a type"},
    )
