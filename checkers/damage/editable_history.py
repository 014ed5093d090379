"""A history in lists that can be changed: the simulation fills one, and every kind of damage edits one."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, fields, replace
from operator import attrgetter
from random import Random
from typing import TypeVar

from checkers.history.rows import (
    BrokerLine,
    BrokerState,
    ClientEvent,
    ClockPair,
    ConfigChange,
    Coordinator,
    Fault,
    Fencing,
    History,
    LogRecord,
    Marker,
    MetadataAppend,
    MetadataChange,
    NodeEvent,
    Pressure,
    Producer,
    ProducerState,
    Proof,
    Read,
    RecordId,
    Replica,
    ReplicaBatch,
    ReplicaOffset,
    Send,
    TopicPartition,
    Transaction,
    Watermark,
)
from checkers.history.tables import OPTIONAL, Outcome

Item = TypeVar("Item")


class NotApplicable(Exception):
    """The history has nothing that this kind of damage could change."""


@dataclass(slots=True, kw_only=True)
class EditableHistory:
    """The rows of a history in lists. `log` stays sorted by place when it is frozen."""

    partitions: list[TopicPartition] = field(default_factory=list)
    sends: list[Send] = field(default_factory=list)
    log: list[LogRecord] = field(default_factory=list)
    reads: list[Read] = field(default_factory=list)
    watermarks: list[Watermark] = field(default_factory=list)
    proofs: list[Proof] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)
    metadata: list[MetadataChange] = field(default_factory=list)
    brokers: list[BrokerState] = field(default_factory=list)
    configs: list[ConfigChange] = field(default_factory=list)
    metadata_appends: list[MetadataAppend] = field(default_factory=list)
    producers: list[Producer] = field(default_factory=list)
    node_events: list[NodeEvent] = field(default_factory=list)
    clocks: list[ClockPair] = field(default_factory=list)
    pressure: list[Pressure] = field(default_factory=list)
    client_events: list[ClientEvent] = field(default_factory=list)
    replica_offsets: list[ReplicaOffset] = field(default_factory=list)
    transactions: list[Transaction] = field(default_factory=list)
    fencings: list[Fencing] = field(default_factory=list)
    transaction_reads: list[Read] = field(default_factory=list)
    markers: list[Marker] = field(default_factory=list)
    coordinators: list[Coordinator] = field(default_factory=list)
    broker_lines: list[BrokerLine] = field(default_factory=list)
    replicas: list[Replica] = field(default_factory=list)
    producer_states: list[ProducerState] = field(default_factory=list)
    replica_batches: list[ReplicaBatch] = field(default_factory=list)
    collected: set[str] = field(default_factory=lambda: set(OPTIONAL))
    unplaced: frozenset[int] = frozenset()

    @classmethod
    def of(cls, history: History) -> "EditableHistory":
        """The same rows, in lists of their own."""
        collected = set(history.collected)
        editable = cls(log=list(history.final_log), collected=collected, unplaced=history.unplaced)
        for name in _SAME_NAMES:
            setattr(editable, name, list(getattr(history, name)))
        return editable

    def freeze(self) -> History:
        """The history as it is now, in the order in which its files are read."""
        return History(
            **{name: tuple(getattr(self, name)) for name in _SAME_NAMES if name not in _SORTED},
            partitions=tuple(sorted(self.partitions)),
            collected=frozenset(self.collected),
            unplaced=self.unplaced,
            sends=sorted(self.sends, key=attrgetter("tp")),
            final_log=sorted(self.log, key=lambda record: (record.tp, record.offset)),
            reads=sorted(self.reads, key=attrgetter("tp")),
            replica_batches=sorted(self.replica_batches, key=lambda batch: (batch.tp, batch.broker)),
        )

    def decided(self) -> set[TopicPartition]:
        """The partitions with a complete proof."""
        return {proof.tp for proof in self.proofs if proof.complete}

    def log_of(self, tp: TopicPartition) -> list[LogRecord]:
        """One partition's log by offset."""
        return sorted((record for record in self.log if record.tp == tp), key=attrgetter("offset"))

    def sends_by_id(self) -> dict[RecordId, Send]:
        """Each send by its id."""
        return {send.id: send for send in self.sends}

    def logged(self, outcome: Outcome, rng: Random) -> LogRecord:
        """Some record of a decided partition's log whose send had this outcome."""
        sends, decided = self.sends_by_id(), self.decided()
        return pick(
            rng,
            [r for r in self.log if r.tp in decided and r.id in sends and sends[r.id].outcome is outcome],
        )

    def append(self, record: LogRecord, *, at: TopicPartition) -> LogRecord:
        """Put a record behind all that is in a partition, below a high watermark that rises with it."""
        proof = next((proof for proof in self.proofs if proof.tp == at), None)
        log = self.log_of(at)
        end = max(log[-1].offset + 1 if log else 0, proof.log_end if proof else 0)
        placed = replace(record, topic=at.topic, partition=at.partition, offset=end)
        self.log.append(placed)
        if proof:
            swap(self.proofs, proof, replace(proof, high_watermark=end + 1, log_end=end + 1))
        return placed


_OTHERS = ("log", "collected", "unplaced")
_SAME_NAMES = tuple(each.name for each in fields(EditableHistory) if each.name not in _OTHERS)
"""The lists that a history holds under the same name."""
_SORTED = ("partitions", "sends", "reads", "replica_batches")


def first(items: Iterable[Item]) -> Item:
    """The first of the items, or NotApplicable if there is none."""
    for item in items:
        return item
    raise NotApplicable


def pick(rng: Random, items: Sequence[Item]) -> Item:
    """One of the items, or NotApplicable if there is none."""
    if not items:
        raise NotApplicable
    return rng.choice(items)


def swap(rows: list[Item], old: Item, new: Item) -> None:
    """Put a row in the place of another one."""
    rows[next(at for at, row in enumerate(rows) if row is old)] = new
