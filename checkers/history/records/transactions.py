"""The transactions of a load as their clients know them, and what one partition shows of each.

A transaction is a range of the sends of one producer instance. How it must end follows from what its client
asked for and was told:

    COMMITTED   the coordinator has said so: every record must become visible
    ABORTED     nobody has asked for a commit, or the coordinator has said so: no record may become visible
    FENCED      its client was fenced before it asked for a commit, or asked when another instance had taken
                over and was not told that it is committed: the same
    UNKNOWN     a commit was asked for in time, and nobody knows what came of it: all records, or none

*Visible* is what a fresh read_committed reader is given after all faults were healed. What of that a
partition shows is plain data: the reference collects it from rows, and workers from columns.
"""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import IntEnum

from checkers.history.rows import Context, Fencing, Proof, TopicPartition, Transaction
from checkers.history.tables import NONE

FINAL_READER = 0
"""The number of the fresh reader; those that tail the log while it grows count from 1."""
COMMIT = "commit"
CLEANUP_NS = 10_000_000_000
"""How often a coordinator looks for transactions whose time-out is over: Kafka's default of
transaction.abort.timed.out.transaction.cleanup.interval.ms."""
GRACE_NS = 20_000_000_000
"""For a coordinator that takes over late, and has to load its part of the transaction log first."""
ENDED_WITHIN_NS = CLEANUP_NS + GRACE_NS
"""Beyond its time-out: after that no transaction is open, on a cluster that is whole."""


class Ending(IntEnum):
    """How a transaction must end."""

    COMMITTED = 0
    ABORTED = 1
    FENCED = 2
    UNKNOWN = 3


NEVER_VISIBLE = (Ending.ABORTED, Ending.FENCED)


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A transaction, and how it must end. `taken_over_ns`: when another instance had taken over from its
    producer; -1: never."""

    row: Transaction
    ending: Ending
    taken_over_ns: int = NONE

    @property
    def was_late(self) -> bool:
        """Whether its commit was asked for when its producer had been replaced."""
        row = self.row
        return row.request == COMMIT and NONE != self.taken_over_ns <= row.requested_ns


class Ledger:
    """All transactions of a load by producer and first sequence; `entries` are in that order."""

    def __init__(self, transactions: Iterable[Transaction], fencings: Iterable[Fencing]) -> None:
        taken_over: dict[int, int] = {}
        for each in fencings:
            if each.done_ns != NONE:
                taken_over[each.producer] = min(each.done_ns, taken_over.get(each.producer, each.done_ns))
        rows = sorted(transactions, key=lambda row: (row.producer, row.first_sequence, row.number))
        self.entries: Sequence[Entry] = tuple(
            _entry(row, taken_over.get(row.producer, NONE))
            for row in rows
            if row.first_sequence <= row.last_sequence
        )
        self._firsts: dict[int, list[int]] = defaultdict(list)
        self._places: dict[int, list[int]] = defaultdict(list)
        for place, entry in enumerate(self.entries):
            self._firsts[entry.row.producer].append(entry.row.first_sequence)
            self._places[entry.row.producer].append(place)

    def find(self, producer: int, sequence: int) -> int:
        """The place in `entries` of the transaction of a send; -1: it is in none."""
        at = bisect_right(self._firsts.get(producer, ()), sequence) - 1
        if at < 0:
            return NONE
        place = self._places[producer][at]
        return place if sequence <= self.entries[place].row.last_sequence else NONE


def ledger_of(context: Context) -> Ledger | None:
    """The transactions of a history; None if its load had none."""
    return Ledger(context.transactions, context.fencings) if context.transactions else None


def _entry(row: Transaction, taken_over_ns: int) -> Entry:
    entry = Entry(row=row, ending=Ending.UNKNOWN, taken_over_ns=taken_over_ns)
    match row.outcome:
        case "committed":
            ending = Ending.COMMITTED
        case "aborted":
            ending = Ending.ABORTED
        case "fenced" if row.request != COMMIT:
            ending = Ending.FENCED
        case _ if entry.was_late:
            ending = Ending.FENCED
        case _:
            ending = Ending.UNKNOWN if row.request == COMMIT else Ending.ABORTED
    return Entry(row=row, ending=ending, taken_over_ns=taken_over_ns)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """What a partition has of one transaction: `of` is its place in the ledger.

    Of its sends to the partition that may have been written: how many there are, how many are in the final
    log, and how many are visible; then the first and the last of their offsets in the final log (-1: none).
    Of a record that is there twice the lower offset counts.
    """

    of: int
    sent: int
    logged: int
    visible: int
    first: int
    last: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """A record that a read_committed reader was given, and should not have been; `of` as in `Cell`."""

    of: int
    offset: int
    producer: int
    sequence: int
    reader: int
    read_ns: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Hidden:
    """A record that is not visible, though it should be, or may have to be; `of` as in `Cell`.

    `offset` is its place in the final log; -1: it is not there.
    """

    of: int
    offset: int
    producer: int
    sequence: int
    invoked_ns: int
    completed_ns: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionShown:
    """What one partition shows of the transactions. `cells` are by `of`, the others by offset and id.

    `decided`: its final read is proven, and so is that of what is committed. A partition without a proof has
    cells only, which count the sends.

    given    distinct (offset, id): records of a transaction that may not become visible; and of an UNKNOWN
             one those that are not visible in the end though they lie where they were read
    hidden   records that are not visible in a decided partition: of a COMMITTED transaction those in the
             final log (the others are lost, which is another matter), of an UNKNOWN one all
    """

    tp: TopicPartition
    decided: bool
    cells: Sequence[Cell] = ()
    given: Sequence[Given] = field(default=())
    hidden: Sequence[Hidden] = field(default=())


def is_decided(proof: Proof | None) -> bool:
    """Whether all that is committed was read of a partition, up to its proven high watermark."""
    return proof is not None and proof.complete and proof.committed_to >= proof.high_watermark
