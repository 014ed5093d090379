"""What the clients of a run do, as plain data."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from checkers.contract.realised.settings import Acks
from checkers.history.records.payload import HEADER_BYTES, Header
from checkers.history.rows import TopicPartition
from workloads.errors import PlanRefused
from workloads.pace import BURST_NS

Setting: TypeAlias = str | int | float | bool

IN_A_ROW = 1000
"""As fast as it goes, so many records in a row go to one partition: large batches, as Kafka's own sticky
partitioner makes them. Brokers then serve a tenth of the requests."""

PARTITIONS_OF_A_BURST = 2
"""A burst of a bounded rate goes to so many partitions, and one more, for the same reason: each is a request
of its own, and wakes fetches of its own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TransactionPlan:
    """How the producers put what they send into transactions.

    `ids` are the transactional ids, one for each producer. `records` are those of each transaction, `aborts`
    is the share of them that their client aborts on purpose, `timeout_s` Kafka's transaction.timeout.ms.
    Every `takeover_s` seconds (None: never) another instance of the same id takes over in the middle of a
    transaction, which the older one then tries to commit. `readers` read what is committed.
    """

    ids: tuple[str, ...]
    records: int = 50
    aborts: float = 0.1
    takeover_s: float | None = None
    timeout_s: float = 10.0
    readers: int = 1

    def conditions(self, producers: int) -> list[tuple[bool, str]]:
        """What must not be for so many producers, each with the value seen."""
        takeover_s = self.takeover_s
        return [
            (
                len(set(self.ids)) != producers or "" in self.ids,
                f"the transactional ids {self.ids} of {producers} producers; one for each",
            ),
            (self.records < 1, f"transactions of {self.records} records; at least 1"),
            (not 0 <= self.aborts <= 1, f"a share of {self.aborts} aborted transactions; from 0 to 1"),
            (takeover_s is not None and takeover_s <= 0, f"a takeover every {takeover_s} s; above 0"),
            (self.timeout_s <= 0, f"a transaction time-out of {self.timeout_s} s; above 0"),
            (self.readers < 0, f"{self.readers} readers of what is committed"),
        ]


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkloadPlan:
    """Producers, readers and what they send.

    `topics` gives the number of partitions by name; every producer writes to all of them. `rate_per_s` is
    that of all producers together, None as fast as it goes. `spread` is how a record's partition is
    chosen: "even" in turn, "seeded" at random, both a function of the sequence alone. `client` are settings
    of librdkafka that outrank those of this module, for producers. `slow_start`: until every partition has
    acknowledged a producer, it keeps few records outstanding. Brokers that have just started serve a tenth of
    what they serve a minute later; flooded, they miss their own heartbeats, and are fenced. `transactions`
    None: there are none.
    """

    topics: Mapping[str, int]
    producers: int = 4
    acks: Acks = "all"
    idempotence: bool | None = None
    rate_per_s: float | None = None
    record_bytes: int = 200
    keyed: bool = True
    headers: tuple[Header, ...] = ()
    spread: Literal["even", "seeded"] = "even"
    seed: int = 0
    readers: int = 2
    max_outstanding: int = 20_000
    slow_start: bool = False
    delivery_timeout_s: float = 60.0
    client: Mapping[str, Setting] = field(default_factory=dict)
    transactions: TransactionPlan | None = None

    def __post_init__(self) -> None:
        refused = [text for wrong, text in self._conditions() if wrong]
        if refused:
            raise PlanRefused("; ".join(refused))

    def _conditions(self) -> list[tuple[bool, str]]:
        """What must not be, each with the value seen."""
        small = self.record_bytes < HEADER_BYTES
        return [
            (not self.partitions, f"no partition to write to among the topics {dict(self.topics)}"),
            (small, f"a record of {self.record_bytes} bytes cannot carry its id, which takes {HEADER_BYTES}"),
            (self.producers < 1, f"{self.producers} producers; at least 1"),
            (
                bool(self.idempotence) and self.acks != "all",
                f"idempotence with acks={self.acks}; it needs all",
            ),
            (self.rate_per_s is not None and self.rate_per_s <= 0, f"a rate of {self.rate_per_s}/s; above 0"),
            (self.max_outstanding < 1, f"at most {self.max_outstanding} sends outstanding; at least 1"),
            (
                self.transactions is not None and not self.idempotent,
                "transactions without idempotence; Kafka has none",
            ),
            *(self.transactions.conditions(self.producers) if self.transactions else ()),
        ]

    @property
    def partitions(self) -> tuple[TopicPartition, ...]:
        """Every partition of every topic; a *lane* is an index into this."""
        return tuple(TopicPartition(name, p) for name, count in self.topics.items() for p in range(count))

    @property
    def idempotent(self) -> bool:
        """What the producers are set to: as asked, else on wherever acks=all."""
        return self.acks == "all" if self.idempotence is None else self.idempotence

    @property
    def delivered_within_s(self) -> float:
        """What a client gives a record to be acknowledged: no longer than its transaction may be open."""
        most = self.delivery_timeout_s
        return most if self.transactions is None else min(most, self.transactions.timeout_s)

    @property
    def one_round(self) -> int:
        """So many records in a row reach every partition (about: a seeded spread may need more)."""
        return len(self.partitions) * self._in_a_row

    @property
    def _in_a_row(self) -> int:
        """So many records in a row go to one partition: of a bounded rate, a part of a burst; and so few
        that a transaction has records in each."""
        most = IN_A_ROW
        if self.rate_per_s is not None:
            burst = self.rate_per_s / self.producers * BURST_NS / 1e9
            most = min(most, int(burst / PARTITIONS_OF_A_BURST))
        if self.transactions is not None:
            most = min(most, self.transactions.records // len(self.partitions))
        return max(1, most)

    @property
    def single_attempt(self) -> bool:
        """Whether a refused record can have had no earlier attempt that was written (see outcome.py)."""
        return self.acks != "all" and not self.idempotent and int(self.client.get("retries", 1)) == 0

    def lanes(self, sequences: NDArray[np.int64], producer: int) -> NDArray[np.int16]:
        """The lane of each record of a producer instance, by its sequence."""
        shifted = sequences // self._in_a_row + producer
        mixed = shifted if self.spread == "even" else _scatter(shifted, self.seed)
        return (mixed % len(self.partitions)).astype(np.int16)


QUIET: Mapping[str, Setting] = {"log_level": 0, "enable.metrics.push": False}
"""librdkafka writes each lost connection to stderr; under faults that would bury everything else. And it
measures itself for its brokers (KIP-714), which nobody asks for here: that takes 0.1 MiB for each client and
broker, anew whenever a broker has been away, and the heaps of a night grow by that."""


def _scatter(sequences: NDArray[np.int64], seed: int) -> NDArray[np.uint64]:
    """SplitMix64 (Steele et al. 2014): an even, reproducible spread without state."""
    mixed = (sequences.astype(np.uint64) + np.uint64(seed)) * np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return mixed ^ (mixed >> np.uint64(31))
