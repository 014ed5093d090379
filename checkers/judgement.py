"""What a checker returns: the one type that the reference and the Spark implementation both return.

Two judgements of one history agree iff `Judgement.key()` is equal: anomalies are compared as a multiset of
their keys, evidence is not compared.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from checkers.anomalies import Anomalies
from checkers.history.tables import NONE
from checkers.properties import Property


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
class Attempts:
    """The sends of one producer instance over all partitions, whatever their outcome; no two have one id.

    A producer numbers its sends 0, 1, 2, …: so `last` - `first` + 1 - `count` sends are missing between.
    """

    count: int
    first: int
    last: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """Which properties of one history hold, and which do not.

    `examined` and `undecided` count, for every decided property, the units that its record names
    (`ExaminedUnit`). What is undecided is not examined. `attempts` are by producer.
    """

    examined: Mapping[Property, int]
    undecided: Mapping[Property, int]
    anomalies: Anomalies
    undecided_partitions: tuple[PartitionUndecided, ...]
    totals: Totals
    attempts: Mapping[int, Attempts] = field(default_factory=dict)
    doubtful_acks: int = 0
    """Of the undecided acks of ack-contract those that its leader gave long after anything shows that it may
    have known of enough replicas in sync."""

    def key(self) -> tuple[object, ...]:
        """Everything two implementations must agree on, as plain sortable data."""
        return (
            self.anomalies.keys(),
            sorted((p.value, n) for p, n in self.examined.items()),
            sorted((p.value, n) for p, n in self.undecided.items()),
            sorted((u.topic, u.partition) for u in self.undecided_partitions),
            self.totals,
            sorted((producer, its.count, its.first, its.last) for producer, its in self.attempts.items()),
            self.doubtful_acks,
        )
