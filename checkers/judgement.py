"""What a checker returns: the one type that the reference and the Spark implementation both return.

Two judgements of one history agree iff `Judgement.key()` is equal: anomalies are compared as a multiset of
their keys, evidence is not compared.
"""

import builtins
from collections.abc import Mapping
from dataclasses import dataclass, field

from checkers.history.rows import TopicPartition
from checkers.history.tables import NONE
from checkers.properties import Property


@dataclass(frozen=True, slots=True, kw_only=True)
class Anomaly:
    """One record (or offset) that breaks one property: the first six fields are its key, the rest evidence.

    The property's record describes what `topic, partition, offset` and the id are (`place`).
    """

    property: Property
    topic: str
    partition: int
    offset: int
    producer: int
    sequence: int
    invoked_ns: int = field(default=NONE, compare=False)
    """When the record's send was called; -1 if it is not known."""
    completed_ns: int = field(default=NONE, compare=False)
    """When the record was acknowledged (monotone-read: delivered); -1 if it is not known, or if the
    acknowledgement was for another copy, at another offset, than the one that a reader was given."""
    seen_ns: int = field(default=NONE, compare=False)
    """When a reader was given it at that offset; -1 if no reader is a witness."""
    acked_offset: int = field(default=NONE, compare=False)
    note: str = field(default="", compare=False)
    """Half a sentence for people: what is at that place now, or what the record collides with."""

    @builtins.property
    def tp(self) -> TopicPartition:
        """The partition it is about."""
        return TopicPartition(self.topic, self.partition)

    def key(self) -> tuple[str, str, int, int, int, int]:
        """What two implementations must agree on; sorts by property, place and id."""
        return (
            self.property.value,
            self.topic,
            self.partition,
            self.offset,
            self.producer,
            self.sequence,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionUndecided:
    """A partition about which nothing is decided, because its final read is not proven complete."""

    topic: str
    partition: int
    reason: str = field(compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Totals:
    """How much there was, over all partitions, decided or not: what makes a verdict more than vacuous."""

    sends: int = 0
    ok: int = 0
    fail: int = 0
    info: int = 0
    ok_without_offset: int = 0
    log_records: int = 0
    reads: int = 0
    first_ack_ns: int = NONE
    """Least completed_ns of the ok sends; -1 without any."""
    last_ack_ns: int = NONE
    """Greatest completed_ns of the ok sends; -1 without any."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """Which properties of one history hold, and which do not.

    `examined` and `undecided` count, for every decided property, the units that its record names
    (`ExaminedUnit`). What is undecided is not examined.
    """

    examined: Mapping[Property, int]
    undecided: Mapping[Property, int]
    anomalies: tuple[Anomaly, ...]
    undecided_partitions: tuple[PartitionUndecided, ...]
    totals: Totals

    def key(self) -> tuple[object, ...]:
        """Everything two implementations must agree on, as plain sortable data."""
        return (
            sorted(anomaly.key() for anomaly in self.anomalies),
            sorted((p.value, n) for p, n in self.examined.items()),
            sorted((p.value, n) for p, n in self.undecided.items()),
            sorted((u.topic, u.partition) for u in self.undecided_partitions),
            self.totals,
        )
