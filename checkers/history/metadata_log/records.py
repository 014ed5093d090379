"""The decoded records of the metadata log, and which of them count.

A record is a mapping of `offset` (-1: from a snapshot), `timestamp_ms`, `type` and `data`, as Kafka's
DumpLogSegments prints it. Their order is that of the log: the controllers' CreateTime may repeat or step
back.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

Record = Mapping[str, Any]


def committed(records: Iterable[Record]) -> Iterator[Record]:
    """`records` without those of metadata transactions (KIP-868) that were aborted, or have not ended."""
    pending: list[Record] | None = None
    for record in records:
        match record["type"]:
            case "BEGIN_TRANSACTION_RECORD":
                pending = []
            case "END_TRANSACTION_RECORD":
                yield from pending or ()
                pending = None
            case "ABORT_TRANSACTION_RECORD":
                pending = None
            case _ if pending is not None:
                pending.append(record)
            case _:
                yield record
