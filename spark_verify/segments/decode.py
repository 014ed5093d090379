"""The digest of each batch: its records' ids and checksums, computed as a reader computes them from what it
receives, in one number (`checkers.history.records.digest`).

Thousands of small batches are decoded together. Uncompressed records are read where they lie; compressed ones
are decompressed behind each other into one buffer first.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from checkers.history.records.digest import digests, mix
from checkers.history.records.payload import HEADER_BYTES as ID_BYTES
from checkers.history.records.payload import LOW_HALF, believed_ids, checksum, row_type
from checkers.history.tables import NONE
from spark_verify.segments.batches import Batches, Bytes, gather
from spark_verify.segments.codecs import NotDecompressed, decompress
from spark_verify.segments.control import control_records
from spark_verify.segments.layout import HEADER_BYTES, LOG_APPEND_TIME, Codec
from spark_verify.segments.record_starts import Ints
from spark_verify.segments.records import Records, read_records
from spark_verify.segments.span_crcs import crc32_spans

_GROUP_BYTES = 8 << 20
"""How much is decompressed before it is decoded; one batch may add as much as `decompress` allows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Payloads:
    """The records of some batches, uncompressed."""

    rows: Ints
    """Shape (k,): which of the batches these are."""
    data: Bytes
    begin: Ints
    """Shape (k,): where the records of each begin and end in `data`."""
    end: Ints


@dataclass(frozen=True, slots=True, kw_only=True)
class DecodedRecords:
    """The records of some batches as a history has them; columns of shape (n,)."""

    payloads: Payloads
    spans: Records
    offset: Ints
    timestamp_ms: Ints
    producer: Ints
    sequence: Ints
    checksum: Ints


def batch_digests(data: Bytes, batches: Batches) -> tuple[Ints, dict[int, str]]:
    """The digest of each batch, shape (n,), and why it has none, by row.

    -1 where the records cannot be read, which is in the errors (those of `batches` too), and for a control
    batch, which has no records of a producer.
    """
    result = np.full(len(batches), NONE, np.int64)
    errors = batches.errors | control_records(data, batches)[1]
    for payloads in uncompressed(data, batches, errors):
        decoded = decode(payloads, batches)
        first = decoded.spans.first
        sums = digests(
            mix(decoded.offset, decoded.producer, decoded.sequence, decoded.checksum),
            first,
            np.append(first[1:], len(decoded.offset)),
        )
        result[payloads.rows] = sums
        for at, error in decoded.spans.errors.items():
            row = int(payloads.rows[at])
            result[row], errors[row] = NONE, error
        for row in _out_of_range(decoded, batches):
            result[row] = NONE
            errors[row] = "its records' offsets do not ascend within the batch"
    return result, errors


def uncompressed(data: Bytes, batches: Batches, errors: dict[int, str]) -> Iterator[Payloads]:
    """The records of all readable data batches, a group at a time; adds to `errors` what cannot be
    decompressed."""
    is_data = batches.crc_ok & ~batches.is_control
    codec, ends = batches.codec, batches.end
    plain = np.flatnonzero(is_data & (codec == Codec.NONE))
    if plain.size:
        begin, end = batches.position[plain] + HEADER_BYTES, ends[plain]
        yield Payloads(rows=plain, data=data, begin=begin, end=end)
    rows: list[int] = []
    parts: list[bytes] = []
    total = 0
    for row in np.flatnonzero(is_data & (codec != Codec.NONE)).tolist():
        at, end_at = int(batches.position[row]) + HEADER_BYTES, int(ends[row])
        try:
            parts.append(decompress(int(codec[row]), data[at:end_at]))
        except NotDecompressed as error:
            errors[row] = str(error)
            continue
        rows.append(row)
        total += len(parts[-1])
        if total >= _GROUP_BYTES:
            yield _joined(rows, parts)
            rows, parts, total = [], [], 0
    if rows:
        yield _joined(rows, parts)


def _joined(rows: list[int], parts: list[bytes]) -> Payloads:
    end = np.cumsum([len(part) for part in parts], dtype=np.int64)
    begin = np.concatenate([[0], end[:-1]])
    return Payloads(rows=np.array(rows, np.int64), data=b"".join(parts), begin=begin, end=end)


def decode(payloads: Payloads, batches: Batches) -> DecodedRecords:
    """The records of `payloads`, whose batches are rows of `batches`."""
    header = batches.header[payloads.rows]
    spans = read_records(payloads.data, payloads.begin, payloads.end, header["records"].astype(np.int64))
    base = header["base_timestamp_ms"].astype(np.int64)
    delta = spans.timestamp_delta
    is_appended = (header["attributes"] & LOG_APPEND_TIME) != 0
    if is_appended.any():
        base = np.where(is_appended, header["max_timestamp_ms"], base)
        delta = np.where(is_appended[spans.batch], 0, delta)
    times = base[spans.batch] + delta
    producer, sequence = _ids(payloads.data, spans)
    return DecodedRecords(
        payloads=payloads,
        spans=spans,
        offset=header["base_offset"].astype(np.int64)[spans.batch] + spans.offset_delta,
        timestamp_ms=times,
        producer=producer,
        sequence=sequence,
        checksum=_checksums(payloads.data, spans, times),
    )


def _ids(data: Bytes, spans: Records) -> tuple[Ints, Ints]:
    is_whole = spans.value_bytes >= ID_BYTES
    if is_whole.all():  # the usual case, without the copies of the other
        found, sequence = believed_ids(gather(data, spans.value_at, row_type(ID_BYTES)))
        return found.astype(np.int64), sequence
    producer, sequence = np.full(len(spans.batch), NONE, np.int64), np.full(len(spans.batch), NONE, np.int64)
    producer[is_whole], sequence[is_whole] = believed_ids(
        gather(data, spans.value_at[is_whole], row_type(ID_BYTES))
    )
    return producer, sequence


def _checksums(data: Bytes, spans: Records, times: Ints) -> Ints:
    crcs = crc32_spans(data, spans.value_at, spans.value_bytes, (times & LOW_HALF).astype(np.uint32))
    if (spans.key_bytes > 0).any():
        crcs = crc32_spans(data, spans.key_at, spans.key_bytes, crcs)
    made = crcs.astype(np.int64) | (times >> 32 << 32)
    for row, headers in spans.headers.items():
        value, key = (
            data[int(at[row]) : int(at[row] + max(0, size[row]))]
            for at, size in ((spans.value_at, spans.value_bytes), (spans.key_at, spans.key_bytes))
        )
        made[row] = checksum(value, key, headers, int(times[row]))
    return made


def _out_of_range(decoded: DecodedRecords, batches: Batches) -> list[int]:
    """The rows of batches whose records' offsets do not ascend from 0 to, at most, the last delta."""
    spans = decoded.spans
    delta = spans.offset_delta
    wrong = (delta < 0) | (delta > batches.column("last_offset_delta")[decoded.payloads.rows][spans.batch])
    wrong[1:] |= (delta[1:] <= delta[:-1]) & (spans.batch[1:] == spans.batch[:-1])
    if not wrong.any():
        return []
    return [int(row) for row in np.unique(decoded.payloads.rows[spans.batch[wrong]])]
