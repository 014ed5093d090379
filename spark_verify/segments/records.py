"""The records of batches as columns: offset, timestamp, and where key and value lie (KIP-98, Kafka's
DefaultRecord).

    length varint · attributes i8 · timestamp delta varlong · offset delta varint
    key length varint · key · value length varint · value · headers varint, each: key, value by length

Varints are zigzag; a length of -1 is null. Each field is read in all records at once.
"""

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from checkers.history.records.payload import Header
from spark_verify.segments.batches import Bytes
from spark_verify.segments.record_starts import Ints, RecordStarts, find_records

Bools = npt.NDArray[np.bool_]

LEAST_RECORD_BYTES = 7
"""A record without key, value and headers: seven fields of a byte."""
MOST_RECORDS = 1 << 20
"""Of one batch: the least records fill a batch of 1 MB, Kafka's default, with 150,000."""
_VARINT_BYTES, _VARLONG_BYTES = 5, 10
_ONE, _LOW_BITS = np.uint8(1), np.uint8(0x7F)


class _NotHeaders(Exception):
    """The headers of a record cannot be read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Records:
    """The records of some batches, in order; columns of shape (n,), int64. Sizes are -1 for null."""

    batch: Ints
    """Which of the batches it is of."""
    offset_delta: Ints
    timestamp_delta: Ints
    key_at: Ints
    key_bytes: Ints
    value_at: Ints
    value_bytes: Ints
    headers: dict[int, tuple[Header, ...]]
    """By row; those without headers are not in it."""
    first: Ints
    """Shape (batches,): the first row of each batch, in order. Those with an error have none."""
    errors: dict[int, str]
    """By batch: why its records cannot be read."""


def read_records(data: Bytes, begin: Ints, end: Ints, count: Ints) -> Records:
    """Read the records of batches, each of which declares `count` records in data[begin:end], all of shape
    (batches,).

    What is wrong with a batch is in `errors`; nothing is raised.
    """
    errors = {
        batch: f"it declares {count[batch]} records in {end[batch] - begin[batch]} bytes"
        for batch in _absurd(begin, end, count)
    }
    refused = list(errors)
    begin, believed = begin.copy(), count.copy()
    begin[refused], believed[refused] = end[refused], 0
    found = find_records(data, begin, end, believed)
    errors |= found.errors
    bodies = _without(errors, found, believed)
    records = _fields(data, bodies)
    if records.errors:
        errors |= records.errors
        records = _fields(data, _without(errors, found, believed))
    return replace(records, errors=errors)


def _absurd(begin: Ints, end: Ints, count: Ints) -> list[int]:
    """The batches that cannot hold as many records as they declare, or have more than memory is kept for."""
    most = np.minimum((end - begin) // LEAST_RECORD_BYTES, MOST_RECORDS)
    return [int(batch) for batch in np.flatnonzero((count < 0) | (count > most))]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Bodies:
    """Records that are told apart: batch, begin and end of each; the first row of each batch."""

    batch: Ints
    begin: Ints
    end: Ints
    first: Ints


def _without(errors: dict[int, str], found: RecordStarts, count: Ints) -> _Bodies:
    """The records of the batches that have no error."""
    used = count.copy()
    used[list(errors)] = 0
    rows = np.repeat(found.first, used) + np.arange(int(used.sum())) - np.repeat(np.cumsum(used) - used, used)
    return _Bodies(
        batch=np.repeat(np.arange(len(count)), used),
        begin=found.body[rows],
        end=found.end[rows],
        first=np.cumsum(used) - used,
    )


def _fields(data: Bytes, bodies: _Bodies) -> Records:
    cursor = _Cursor(data, bodies.begin)
    cursor.skip(1)  # the attributes, of which none is defined
    timestamp_delta = cursor.varint(_VARLONG_BYTES)
    offset_delta = cursor.varint(_VARINT_BYTES)
    key_at, key_bytes = cursor.span()
    value_at, value_bytes = cursor.span()
    header_count = cursor.varint(_VARINT_BYTES)
    headers = _all_headers(data, cursor, bodies.end, header_count)
    cursor.wrong |= cursor.at != bodies.end
    wrong = np.flatnonzero(cursor.wrong)
    first_wrong = {int(bodies.batch[row]): int(row - bodies.first[bodies.batch[row]]) for row in wrong[::-1]}
    return Records(
        batch=bodies.batch,
        offset_delta=offset_delta,
        timestamp_delta=timestamp_delta,
        key_at=key_at,
        key_bytes=key_bytes,
        value_at=value_at,
        value_bytes=value_bytes,
        headers=headers,
        first=bodies.first,
        errors={batch: f"the fields of record {row} do not fill it" for batch, row in first_wrong.items()},
    )


class _Cursor:
    """A place in each of many records, moved forward field by field.

    It never moves back, so one that has left its record is not at the record's end when all fields are read.
    `wrong` marks what does not show there.
    """

    def __init__(self, data: Bytes, begin: Ints) -> None:
        self.at = begin.copy()
        self.wrong: Bools = np.zeros(len(begin), np.bool_)
        self._data = np.frombuffer(data, np.uint8)

    def skip(self, size: Ints | int) -> None:
        """Move over `size` (shape (n,), not negative) bytes."""
        self.at += size

    def varint(self, most: int) -> Ints:
        """Read a zigzag varint of up to `most` bytes; shape (n,)."""
        got = self._data.take(self.at, mode="clip")
        self.at += 1
        value = ((got >> _ONE) ^ -(got & _ONE)).view(np.int8).astype(np.int64)
        more = np.flatnonzero(got >= 0x80)
        if more.size:
            value[more] = self._rest(more, got[more], most)
        return value

    def _rest(self, more: Ints, got: npt.NDArray[np.uint8], most: int) -> Ints:
        """The values of the varints in the rows `more`, whose first bytes `got` are not the last ones."""
        value = (got & _LOW_BITS).astype(np.uint64)
        left = np.arange(len(more))
        for byte in range(1, most):
            rows = more[left]
            at = self.at[rows]
            got = self._data.take(at, mode="clip")
            value[left] |= (got & _LOW_BITS).astype(np.uint64) << np.uint64(7 * byte)
            self.at[rows] = at + 1
            left = left[got >= 0x80]
            if not left.size:
                break
        self.wrong[more[left]] = True
        return ((value >> np.uint64(1)) ^ (-(value & np.uint64(1)))).view(np.int64)

    def span(self) -> tuple[Ints, Ints]:
        """Read a length and move over what it declares: where that begins, and its size (-1: null)."""
        size = self.varint(_VARINT_BYTES)
        begin = self.at.copy()
        self.wrong |= size < -1
        self.skip(np.maximum(size, 0))
        return begin, size


def _all_headers(data: Bytes, cursor: _Cursor, ends: Ints, count: Ints) -> dict[int, tuple[Header, ...]]:
    """The headers of the records that have any, one record after the other: few have them."""
    cursor.wrong |= count < 0
    headers = {}
    for row in np.flatnonzero((count > 0) & ~cursor.wrong).tolist():
        at, end = int(cursor.at[row]), int(ends[row])
        try:
            headers[row], cursor.at[row] = _headers(data, at, end, int(count[row]))
        except (_NotHeaders, UnicodeDecodeError):
            cursor.wrong[row] = True
    return headers


def _headers(data: Bytes, at: int, end: int, count: int) -> tuple[tuple[Header, ...], int]:
    headers = []
    for _ in range(count):
        name, at = _sized(data, at, end)
        if name is None:
            raise _NotHeaders
        content, at = _sized(data, at, end)
        headers.append((name.decode(), content))
    return tuple(headers), at


def _sized(data: Bytes, at: int, end: int) -> tuple[bytes | None, int]:
    value = shift = 0
    byte = 0x80
    while byte >= 0x80:
        if at >= end or shift >= 7 * _VARINT_BYTES:
            raise _NotHeaders
        byte = data[at]
        value |= (byte & 0x7F) << shift
        shift += 7
        at += 1
    size = (value >> 1) ^ -(value & 1)
    if size == -1:
        return None, at
    if size < 0 or at + size > end:
        raise _NotHeaders
    return data[at : at + size], at + size
