"""The transactions of a history with what all partitions show of each, as the rules ask for it."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from checkers.history.records.transactions import Cell, Ending, Entry, Ledger, PartitionShown, ledger_of
from checkers.history.rows import Context

Part = tuple[PartitionShown, Cell]
"""What one partition has of a transaction."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Whole:
    """A transaction with its parts, in the order of the partitions; at least one."""

    place: int
    entry: Entry
    parts: Sequence[Part]

    @property
    def is_decided(self) -> bool:
        """Whether every partition of it was read to a proven end, also by a read_committed reader."""
        return all(partition.decided for partition, _ in self.parts)

    @property
    def visible(self) -> int:
        """How many of its records are visible."""
        return sum(cell.visible for _, cell in self.parts)

    def __str__(self) -> str:
        row = self.entry.row
        return f"transaction {row.number} of producer {row.producer} ({row.transactional_id})"


class Tally:
    """All transactions of which something was sent, in the order of the ledger."""

    def __init__(self, context: Context, ledger: Ledger, shown: Sequence[PartitionShown]) -> None:
        self.context, self.ledger, self.shown = context, ledger, shown
        parts: dict[int, list[Part]] = defaultdict(list)
        for partition in shown:
            for cell in partition.cells:
                parts[cell.of].append((partition, cell))
        self._wholes = {
            place: Whole(place=place, entry=ledger.entries[place], parts=its)
            for place, its in sorted(parts.items())
        }

    def of(self, *endings: Ending) -> list[Whole]:
        """Those that must end in one of these ways."""
        return [whole for whole in self._wholes.values() if whole.entry.ending in endings]

    def every(self) -> Iterator[Whole]:
        """All of them."""
        return iter(self._wholes.values())

    def at(self, place: int) -> Whole | None:
        """The transaction at a place of the ledger; None if nothing was sent in it."""
        return self._wholes.get(place)


def tally_of(context: Context, shown: Sequence[PartitionShown]) -> Tally | None:
    """None for a history without transactions."""
    ledger = ledger_of(context)
    return None if ledger is None else Tally(context, ledger, shown)
