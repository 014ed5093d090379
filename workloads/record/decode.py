"""What was delivered, as columns of the history: ids and checksums are computed anew from what arrived, by
the rule of `checkers.history.records.payload`.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from checkers.history.records.payload import HEADER_BYTES, believed_ids, checksum, checksums, row_type
from checkers.history.tables import NONE
from workloads.clients.protocol import Delivered


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrivals:
    """Columns of one batch in the order of arrival; names and types are those of the history."""

    offset: NDArray[np.int64]
    leader_epoch: NDArray[np.int32]
    producer: NDArray[np.int32]
    sequence: NDArray[np.int64]
    checksum: NDArray[np.int64]
    timestamp_ms: NDArray[np.int64]

    def where(self, rows: NDArray[np.bool_]) -> "Arrivals":
        """The rows that are marked."""
        return Arrivals(**{field.name: getattr(self, field.name)[rows] for field in fields(self)})


def arrivals(records: Delivered) -> Arrivals:
    """Decode delivered records."""
    values = [value or b"" for value in records.values]
    producers, sequences = identify(values)
    return Arrivals(
        offset=records.offsets,
        leader_epoch=records.leader_epochs,
        producer=producers,
        sequence=sequences,
        checksum=_checksums(records, values),
        timestamp_ms=records.timestamps_ms,
    )


def identify(values: Sequence[bytes]) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Producer and sequence of each value; -1 and -1 where the header is not whole."""
    sizes = np.fromiter(map(len, values), np.int64, len(values))
    producers, sequences = np.full(len(values), NONE, np.int32), np.full(len(values), NONE, np.int64)
    for size in np.unique(sizes[sizes >= HEADER_BYTES]).tolist():
        alike = np.flatnonzero(sizes == size)
        rows = np.frombuffer(b"".join(_pick(values, alike)), row_type(size))
        producers[alike], sequences[alike] = believed_ids(rows)
    return producers, sequences


def _pick(values: Sequence[bytes], places: NDArray[np.intp]) -> Sequence[bytes]:
    return values if len(places) == len(values) else [values[place] for place in places]


def _checksums(records: Delivered, values: Sequence[bytes]) -> NDArray[np.int64]:
    times = records.timestamps_ms
    if any(records.headers):
        whole = map(checksum, values, records.keys, records.headers, times.tolist())
        return np.fromiter(whole, np.int64, len(values))
    keys = [key or b"" for key in records.keys] if any(records.keys) else None
    return checksums(values, keys, times)
