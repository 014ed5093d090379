"""The appends to the metadata log: when anything was written to it, also what changes nothing.

An active controller writes a NO_OP_RECORD every half second (KIP-835, metadata.max.idle.interval.ms), so what
is longer than that between two appends is a time without one. What a snapshot holds was appended before it,
nobody knows when; control records are of the quorum, and older tools do not print them.
"""

from collections.abc import Iterable, Iterator

from checkers.history.metadata_log.records import Record
from checkers.history.rows import MetadataAppend
from checkers.history.tables import NONE


class Appends:
    """The appends of the records that went by so far."""

    def __init__(self) -> None:
        """No record yet."""
        self.rows: list[MetadataAppend] = []

    def noted(self, records: Iterable[Record]) -> Iterator[Record]:
        """The same records; those of one controller with one date are one append."""
        for record in records:
            at_ms, controller = record["timestamp_ms"], record["controller"]
            last = self.rows[-1] if self.rows else None
            is_new = last is None or (last.at_ms, last.controller) != (at_ms, controller)
            if is_new and record["offset"] != NONE:
                self.rows.append(
                    MetadataAppend(at_ms=at_ms, log_offset=record["offset"], controller=controller)
                )
            yield record
