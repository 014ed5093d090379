"""The decoded records of the metadata log, and which of them count.

A record is a mapping of `offset` (-1: from a snapshot), `timestamp_ms`, `type` and `data`, as Kafka's
DumpLogSegments prints it. Their order is that of the log: the controllers' CreateTime may repeat or step
back. `controller`, where it is known, is the one that wrote it, and dated it by its own clock.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from checkers.history.tables import NONE

Record = Mapping[str, Any]
LEADER_CHANGE = "LEADER_CHANGE"
"""The control record with which a controller begins its epoch: what follows it is of its `leaderId`."""


def with_controllers(records: Iterable[Record]) -> Iterator[Record]:
    """`records` without those of leader changes, each with the `controller` that wrote it; -1: not known.

    Which one wrote what a snapshot holds is not known, nor, of a tool that does not print the leader, of any.
    """
    controller = NONE
    for record in records:
        if record["type"] == LEADER_CHANGE:
            controller = record["data"].get("leaderId", NONE)
        else:
            yield {**record, "controller": controller}


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
