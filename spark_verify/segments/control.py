"""What the broker's own record in a control batch says (KIP-98, KIP-630, KIP-853; Kafka's ControlRecordType).

A control batch holds one record without a place in any producer's history: the end of a transaction, a new
leader of the metadata quorum, the frame of a snapshot. Its key is version i16 and type i16.
"""

from dataclasses import dataclass
from enum import IntEnum

import numpy as np

from spark_verify.segments.batches import Batches, Bytes
from spark_verify.segments.layout import HEADER_BYTES
from spark_verify.segments.records import read_records

_KEY_BYTES = 4


class ControlType(IntEnum):
    """The kinds of control records. One that is newer than this list is UNKNOWN."""

    UNKNOWN = -1
    ABORT = 0
    COMMIT = 1
    LEADER_CHANGE = 2
    SNAPSHOT_HEADER = 3
    SNAPSHOT_FOOTER = 4
    KRAFT_VERSION = 5
    KRAFT_VOTERS = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class ControlRecord:
    """One control record. A marker that ends a transaction is of the batch's producer id and epoch."""

    row: int
    """Of its batch."""
    offset: int
    type: ControlType
    coordinator_epoch: int
    """Of the transaction coordinator that wrote ABORT or COMMIT; -1 for other types."""


def control_records(data: Bytes, batches: Batches) -> tuple[list[ControlRecord], dict[int, str]]:
    """The records of the control batches among `batches`, and, by row, why one has none that can be read.

    Control batches are never compressed.
    """
    rows = np.flatnonzero(batches.is_control & batches.crc_ok)
    if not rows.size:
        return [], {}
    begin, end = batches.position[rows] + HEADER_BYTES, batches.end[rows]
    found = read_records(data, begin, end, batches.column("records")[rows])
    errors = {int(rows[at]): error for at, error in found.errors.items()}
    base = batches.column("base_offset")
    records = []
    for at, batch in enumerate(found.batch.tolist()):
        row = int(rows[batch])
        if found.key_bytes[at] < _KEY_BYTES:
            errors[row] = "the key of its control record is shorter than a version and a type"
            continue
        key_at, value_at, value_bytes = (
            int(column[at]) for column in (found.key_at, found.value_at, found.value_bytes)
        )
        kind = _type(int.from_bytes(data[key_at + 2 : key_at + 4], "big", signed=True))
        records.append(
            ControlRecord(
                row=row,
                offset=int(base[row] + found.offset_delta[at]),
                type=kind,
                coordinator_epoch=_coordinator_epoch(kind, data[value_at : value_at + max(0, value_bytes)]),
            )
        )
    return records, errors


def _type(number: int) -> ControlType:
    return ControlType(number) if 0 <= number <= ControlType.KRAFT_VOTERS else ControlType.UNKNOWN


def _coordinator_epoch(kind: ControlType, value: bytes) -> int:
    """The value of a transaction marker is version i16, coordinator epoch i32."""
    if kind not in (ControlType.ABORT, ControlType.COMMIT) or len(value) < 6:
        return -1
    return int.from_bytes(value[2:6], "big", signed=True)
