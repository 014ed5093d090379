"""One replica's log: batches, leader epochs, producers' sequences, and how much of it is on the disk.

Sources: UnifiedLog, LogLoader, LeaderEpochFileCache and ProducerStateManager of Kafka 4.3.1;
KIP-101, KIP-279, KIP-98.
"""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field

from checkers.history.tables import NONE

CACHED_BATCHES = 5
"""Of how many batches of a producer a broker remembers the sequences (ProducerStateEntry)."""


@dataclass(slots=True, eq=False)
class Sent:
    """One send, as its client sees it. `records` of batches are these."""

    producer: int
    sequence: int
    partition: int
    checksum: int
    timestamp_ms: int
    invoked_s: float
    acks: str
    idempotent: bool
    completed_s: float = -1.0
    outcome: int = 2
    offset: int = NONE
    error: str = ""
    done: bool = False
    written: list[tuple[int, int, int, float]] = field(default_factory=list)
    """Where leaders appended it: (offset, leader epoch, broker, when)."""


@dataclass(slots=True, eq=False)
class Batch:
    """A record batch as a leader has appended it; every replica that has it shares this object."""

    base_offset: int
    leader_epoch: int
    records: tuple[Sent, ...]
    producer_id: int
    producer_epoch: int
    base_sequence: int
    appended_s: float
    crc: int
    bytes_of: "Batch | None" = None
    """The batch that this one is a wrong copy of."""
    covered_s: float = -1.0
    """When a leader that had it first had its high watermark above it."""
    covered_with: frozenset[int] = frozenset()
    """Who was in sync then, by what that leader knew."""
    holders: dict[int, float] = field(default_factory=dict)
    """Which brokers had it, and when they last got it."""
    held_since_s: dict[int, float] = field(default_factory=dict)
    """Which brokers had it, and when they first got it."""

    @property
    def end_offset(self) -> int:
        """The offset after its last one."""
        return self.base_offset + len(self.records)

    @property
    def last_sequence(self) -> int:
        """The producer's sequence of its last record; -1 without idempotence."""
        return NONE if self.base_sequence == NONE else self.base_sequence + len(self.records) - 1


class ProducerEntry:
    """What a replica knows of one producer id: its epoch, and the sequences of its last batches."""

    __slots__ = ("batches", "epoch", "last_sequence")

    def __init__(self, batch: Batch) -> None:
        self.epoch, self.last_sequence = batch.producer_epoch, batch.last_sequence
        self.batches = [(batch.base_sequence, len(batch.records), batch)]

    def add(self, batch: Batch) -> None:
        """Take note of one more batch of the producer."""
        if batch.producer_epoch != self.epoch:
            self.epoch, self.batches = batch.producer_epoch, []
        self.last_sequence = batch.last_sequence
        self.batches = [
            *self.batches[1 - CACHED_BATCHES :],
            (batch.base_sequence, len(batch.records), batch),
        ]

    def batch(self, base_sequence: int, count: int) -> Batch | None:
        """The batch that had this sequence and so many records, if it is one of the last."""
        for sequence, records, batch in self.batches:
            if sequence == base_sequence and records == count:
                return batch
        return None


class ReplicaLog:
    """The log of one replica. `synced` is the offset up to which it is on the disk.

    `start` is the log start: batches below it may be there still, until this broker removes them. Each batch
    is as a segment of its own; the last one is the active one.
    """

    __slots__ = ("_removed", "batches", "end", "ends", "epochs", "producers", "start", "synced")

    def __init__(self) -> None:
        self.batches: list[Batch] = []
        self.ends: list[int] = []
        self.epochs: list[tuple[int, int]] = []
        self.producers: dict[int, ProducerEntry] = {}
        self.start, self.end, self.synced = 0, 0, 0
        self._removed: list[Batch] = []
        """Batches that were removed from the front, and are in the snapshot of the producers' states."""

    @property
    def last_epoch(self) -> int:
        """The leader epoch of the last batch or assignment; -1 of an empty log."""
        return self.epochs[-1][0] if self.epochs else NONE

    def append(self, batch: Batch) -> None:
        """Append a batch at the end, which is its base offset."""
        self.assign_epoch(batch.leader_epoch, batch.base_offset)
        self.batches.append(batch)
        self.end = batch.end_offset
        self.ends.append(self.end)
        if batch.producer_id != NONE:
            self._note_producer(batch)

    def _note_producer(self, batch: Batch) -> None:
        entry = self.producers.get(batch.producer_id)
        if entry is None:
            self.producers[batch.producer_id] = ProducerEntry(batch)
        else:
            entry.add(batch)

    def assign_epoch(self, epoch: int, start: int) -> None:
        """Note that a leader epoch begins at an offset, if it is a new one.

        Epochs that begin there or later had no batch, and are forgotten (maybeTruncateNonMonotonicEntries).
        """
        if not self.epochs or epoch > self.epochs[-1][0]:
            self.epochs = [*(entry for entry in self.epochs if entry[1] < start), (epoch, start)]

    def truncate(self, to: int) -> Sequence[Batch]:
        """Remove what begins at `to` or behind it, batches and epochs; the batches that are gone.

        A log that began behind `to` begins there (UnifiedLog.truncateTo).
        """
        cut = min(to, self.end)
        self.epochs = [entry for entry in self.epochs if entry[1] < cut]
        if to >= self.end:
            return []
        kept = bisect_right(self.ends, cut)
        gone = self.batches[kept:]
        del self.batches[kept:], self.ends[kept:]
        self.start = min(self.start, to)
        self.end = max(self.ends[-1] if self.ends else 0, self.start)
        self.synced = min(self.synced, self.end)
        if not self.batches:
            self._removed = [one for one in self._removed if one.end_offset <= self.end]
        self.reload_producers()
        return gone

    def begin_anew(self, at: int) -> None:
        """Remove all, and begin at an offset (UnifiedLog.truncateFullyAndStartAt)."""
        self.batches, self.ends, self.epochs, self._removed = [], [], [], []
        self.start = self.end = self.synced = at
        self.reload_producers()

    def reload_producers(self) -> None:
        """Build what is known of the producers again from the batches, as the loading of a log does."""
        self.producers = {}
        for batch in (*self._removed, *self.batches):
            if batch.producer_id != NONE:
                self._note_producer(batch)

    def end_of_epoch(self, epoch: int) -> tuple[int, int]:
        """The greatest known epoch up to `epoch`, and where it ends (LeaderEpochFileCache.endOffsetFor)."""
        if not self.epochs or epoch == NONE:
            return NONE, NONE
        if epoch == self.epochs[-1][0]:
            return epoch, self.end
        later = [entry for entry in self.epochs if entry[0] > epoch]
        if not later:
            return NONE, NONE
        floor = [entry for entry in self.epochs if entry[0] <= epoch]
        return (floor[-1][0] if floor else epoch), later[0][1]

    def from_offset(self, offset: int) -> Sequence[Batch]:
        """The batches at and behind an offset."""
        return self.batches[bisect_right(self.ends, offset) :]

    def move_start(self, to: int) -> None:
        """Let the log start at a later offset; the epochs before it are forgotten, and the one that goes on
        there begins there (maybeIncrementLogStartOffset, LeaderEpochFileCache.truncateFromStart)."""
        if to > self.start:
            self.start = to
            before = [epoch for epoch, start in self.epochs if start <= to]
            later = [entry for entry in self.epochs if entry[1] > to]
            self.epochs = [*((epoch, to) for epoch in before[-1:]), *later]

    def remove_before(self, offset: int) -> None:
        """Remove what lies before `offset`, which is the log start then."""
        self.move_start(offset)
        self._remove_first(bisect_right(self.ends, offset))

    def remove_below_start(self) -> None:
        """Remove what lies below the log start, but the last batch (deleteLogStartOffsetBreachedSegments)."""
        self._remove_first(min(bisect_right(self.ends, self.start), max(0, len(self.batches) - 1)))

    def _remove_first(self, count: int) -> None:
        self._removed += self.batches[:count]
        del self.batches[:count], self.ends[:count]

    def forget_start(self) -> None:
        """What an unclean end leaves of the log start: where the first batch begins. The checkpoint of log
        starts is written every minute, and by a clean stop."""
        if self.batches:
            self.start = min(self.start, self.batches[0].base_offset)

    def lose_unsynced(self) -> None:
        """What a power cut leaves: whole batches up to `synced`; of what was removed nothing comes back."""
        self.forget_start()
        self.truncate(max(self.synced, self.start))

    def load(self) -> None:
        """What the loading of a log by a new process does: an epoch without a batch is forgotten."""
        self.truncate(self.end)
        self.reload_producers()
