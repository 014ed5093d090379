"""Compares what the segment parser reads of a file with what DumpLogSegments printed of it."""

from pathlib import Path
from typing import Any

from fakes.history.dumped_segments import DumpedBatch, DumpedFile
from spark_verify.segments.batches import Batches, SegmentWalk
from spark_verify.segments.control import control_records
from spark_verify.segments.decode import DecodedRecords, batch_digests, decode, uncompressed
from spark_verify.segments.layout import CONTROL, LOG_APPEND_TIME, TRANSACTIONAL, Codec
from spark_verify.segments.producer_snapshot import read_snapshot

BATCH_FIELDS = {
    "baseOffset": "base_offset",
    "baseSequence": "base_sequence",
    "producerId": "producer_id",
    "producerEpoch": "producer_epoch",
    "partitionLeaderEpoch": "leader_epoch",
    "count": "records",
    "magic": "magic",
    "crc": "crc",
}


def assert_same(data: bytes, dumped: DumpedFile) -> int:
    """Every batch and record is as it was printed; returns how many records that were."""
    walk = SegmentWalk(data)
    batches = [(chunk, row) for chunk in walk.chunks() for row in range(len(chunk))]
    assert len(batches) == len(dumped.batches)
    for (chunk, row), batch in zip(batches, dumped.batches, strict=True):
        _assert_same_batch(chunk, row, batch)
    assert walk.tail.size == dumped.torn_bytes
    return sum(_assert_same_records(data, chunk, dumped) for chunk in SegmentWalk(data).chunks())


def _assert_same_batch(chunk: Batches, row: int, dumped: DumpedBatch) -> None:
    ours: dict[str, Any] = {theirs: int(chunk.column(our)[row]) for theirs, our in BATCH_FIELDS.items()}
    assert ours == {name: dumped.number(name) for name in BATCH_FIELDS}
    attributes = int(chunk.column("attributes")[row])
    assert int(chunk.position[row]) == dumped.number("position")
    assert int(chunk.end[row] - chunk.position[row]) == dumped.number("size")
    last_offset = int(chunk.column("base_offset")[row] + chunk.column("last_offset_delta")[row])
    assert last_offset == dumped.number("lastOffset")
    time_kind = "LogAppendTime" if attributes & LOG_APPEND_TIME else "CreateTime"
    assert int(chunk.column("max_timestamp_ms")[row]) == dumped.number(time_kind)
    assert Codec(int(chunk.codec[row])).name.lower() == dumped.fields["compresscodec"]
    assert str(bool(attributes & CONTROL)).lower() == dumped.fields["isControl"]
    assert str(bool(attributes & TRANSACTIONAL)).lower() == dumped.fields["isTransactional"]
    assert str(bool(chunk.crc_ok[row])).lower() == dumped.fields["isvalid"]


def _assert_same_records(data: bytes, chunk: Batches, dumped: DumpedFile) -> int:
    by_offset = {record.offset: record for batch in dumped.batches for record in batch.records}
    digests, errors = batch_digests(data, chunk)
    assert errors == {}
    assert ((digests >= 0) == ~chunk.is_control).all()
    compared = 0
    for payloads in uncompressed(data, chunk, {}):
        decoded = decode(payloads, chunk)
        for at, offset in enumerate(decoded.offset.tolist()):
            _assert_same_record(decoded, at, by_offset[offset])
            compared += 1
    for marker in control_records(data, chunk)[0]:
        assert by_offset[marker.offset].marker == (marker.type.name, marker.coordinator_epoch)
        compared += 1
    return compared


def _assert_same_record(decoded: DecodedRecords, at: int, record: Any) -> None:
    spans = decoded.spans
    assert int(decoded.timestamp_ms[at]) == record.timestamp_ms
    assert int(spans.key_bytes[at]) == record.key_bytes
    assert int(spans.value_bytes[at]) == record.value_bytes
    assert tuple(name for name, _ in spans.headers.get(at, ())) == record.header_keys
    for begin, size, text in (
        (spans.key_at, spans.key_bytes, record.key),
        (spans.value_at, spans.value_bytes, record.payload),
    ):
        content = bytes(decoded.payloads.data[int(begin[at]) : int(begin[at] + max(0, size[at]))])
        if text is None:
            assert content == b""
        else:
            assert content.decode("utf-8", errors="replace") == text


def assert_same_snapshot(file: Path, dumped: DumpedFile) -> int:
    """Every entry of a producer snapshot is as it was printed; returns how many those were."""
    fields = {
        "producerId": "producer_id",
        "producerEpoch": "producer_epoch",
        "coordinatorEpoch": "coordinator_epoch",
        "lastSequence": "last_sequence",
        "lastOffset": "last_offset",
        "offsetDelta": "offset_delta",
        "lastTimestamp": "timestamp_ms",
    }
    found = [{theirs: str(entry[our]) for theirs, our in fields.items()} for entry in read_snapshot(file)]
    assert found == [{name: producer[name] for name in fields} for producer in dumped.producers]
    return len(found)
