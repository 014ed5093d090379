"""What each replica's disk held after the clean stop, as the rules about replicas ask for it.

Invariant: a rule gets a replica only if all of it could be read, and without what a crash may have torn.
Evidence: the record batches and checkpoints of every broker, copied after the brokers were stopped.
Counterexample to "every byte counts":
    broker 2 did not stop cleanly, and its last batch, of offsets 8 to 9, has a wrong CRC
    Kafka truncates such a tail when it starts again, and fetches it: no rule gets that batch
    on a broker that stopped cleanly the same batch is a violation of crc

*Judged* is a replica of a decided partition whose topic is not compacted, if its audit is complete. The order
of its batches is that of its files.
"""

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import accumulate
from operator import attrgetter
from typing import NamedTuple

import numpy as np

from checkers.anomalies import Anomaly
from checkers.history.records.digest import MODULUS, mix
from checkers.history.rows import (
    ConfigChange,
    LogRecord,
    ProducerState,
    Replica,
    ReplicaBatch,
    TopicPartition,
)
from checkers.history.tables import NONE
from checkers.properties import Property
from checkers.reference.facts import Facts

SEQUENCES = 1 << 31
"""Base sequences are 0 .. 2^31 - 1, and begin again."""
_CONTROL = 1 << 5
_in_every_copy = attrgetter(
    *("last_offset_delta", "leader_epoch", "crc"),
    *("producer_id", "producer_epoch", "base_sequence"),
)
"""What is equal on two replicas that hold a batch: a follower appends the bytes that it fetched."""


class Flaw(NamedTuple):
    """Offsets [first, last] of one replica that break a rule.

    Of flaws that begin at one offset, that of the least `kind` is told.
    """

    first: int
    last: int
    kind: int
    note: str


class Difference(NamedTuple):
    """A base offset at which two logs do not hold the same batch; None: no batch begins there."""

    base: int
    mine: ReplicaBatch | None
    theirs: ReplicaBatch | None

    @property
    def last(self) -> int:
        """The last offset of either batch."""
        return max(last_of(batch) for batch in (self.mine, self.theirs) if batch)


def last_of(batch: ReplicaBatch) -> int:
    """The last offset of a batch; its first where the header claims less."""
    return batch.base_offset + max(0, batch.last_offset_delta)


def is_control(batch: ReplicaBatch) -> bool:
    """Whether it holds a transaction's marker, and no record of a producer."""
    return bool(batch.attributes & _CONTROL)


def is_comparable(batch: ReplicaBatch) -> bool:
    """Whether it says what it holds: it could be decoded, or is a marker."""
    return is_control(batch) or batch.digest != NONE


def digest_of(batch: ReplicaBatch) -> int:
    """The digest of its records; 0 for a marker, which no reader is given."""
    return 0 if is_control(batch) else batch.digest


def after(batch: ReplicaBatch) -> int:
    """The sequence that follows the last one of a batch."""
    return (batch.base_sequence + max(0, batch.last_offset_delta) + 1) % SEQUENCES


def same(one: ReplicaBatch, other: ReplicaBatch) -> bool:
    """Whether two batches of one base offset are copies of each other."""
    return bool(_in_every_copy(one) == _in_every_copy(other))


class ReplicaLog:
    """One judged replica: its row, its producer snapshot, its batches in the order of the log."""

    def __init__(
        self, replica: Replica, batches: Sequence[ReplicaBatch], states: Sequence[ProducerState]
    ) -> None:
        self.replica = replica
        self.broker = replica.broker
        self.states = states
        self._differences: dict[int, Sequence[Difference]] = {}
        self.batches = list(batches)
        """Without a tail that a crash has torn: after an unclean stop, the last ones with a wrong CRC."""
        while not replica.clean and self.batches and not self.batches[-1].crc_ok:
            self.batches.pop()

    @cached_property
    def out_of_place(self) -> list[ReplicaBatch]:
        """The batches that begin at or below an offset of a batch before them."""
        found, reached = [], NONE
        for batch in self.batches:
            if batch.base_offset <= reached:
                found.append(batch)
            reached = max(reached, last_of(batch))
        return found

    @cached_property
    def rising(self) -> dict[int, ReplicaBatch]:
        """The other batches, by base offset, which rises."""
        out = {id(batch) for batch in self.out_of_place}
        return {batch.base_offset: batch for batch in self.batches if id(batch) not in out}

    def limit(self, high_watermark: int) -> int:
        """The offset from which on nothing is decided about it: the high watermark, or the end of its log
        where a crash may have cut it."""
        if self.replica.clean:
            return high_watermark
        return min(high_watermark, max((last_of(batch) + 1 for batch in self.batches), default=0))

    def differences(self, other: "ReplicaLog") -> Sequence[Difference]:
        """Where the two logs do not hold the same batch, from the offset on at which both have begun."""
        if other.broker not in self._differences:
            self._differences[other.broker] = () if other is self else tuple(self._unlike(other))
        return self._differences[other.broker]

    def _unlike(self, other: "ReplicaLog") -> Iterator[Difference]:
        if not (self.rising and other.rising):
            return
        begin = max(min(self.rising), min(other.rising))
        for base in sorted(self.rising.keys() | other.rising.keys()):
            mine, theirs = self.rising.get(base), other.rising.get(base)
            if base >= begin and not (mine and theirs and same(mine, theirs)):
                yield Difference(base, mine, theirs)


class WhatWasRead:
    """The final log of one partition, by ranges of offsets."""

    def __init__(self, facts: Facts, tp: TopicPartition) -> None:
        self._records = [record for record in facts.log if record.tp == tp]
        self.offsets = [record.offset for record in self._records]
        columns = (
            np.array([getattr(record, name) for record in self._records], np.int64)
            for name in ("offset", "producer", "sequence", "checksum")
        )
        self._sums = [0, *accumulate(mix(*columns).tolist())]

    def between(self, first: int, last: int) -> Sequence[LogRecord]:
        """Its records at offsets [first, last]."""
        return self._records[bisect_left(self.offsets, first) : bisect_right(self.offsets, last)]

    def digest(self, first: int, last: int) -> int:
        """The digest of those records."""
        begin, end = bisect_left(self.offsets, first), bisect_right(self.offsets, last)
        return int(self._sums[max(begin, end)] - self._sums[begin]) % MODULUS


def judged_logs(facts: Facts) -> dict[TopicPartition, list[ReplicaLog]]:
    """The judged replicas of each decided partition, by broker."""
    batches: dict[tuple[TopicPartition, int], list[ReplicaBatch]] = defaultdict(list)
    states: dict[tuple[TopicPartition, int], list[ProducerState]] = defaultdict(list)
    for batch in facts.replica_batches:
        batches[batch.tp, batch.broker].append(batch)
    for state in facts.producer_states:
        states[state.tp, state.broker].append(state)
    compacted = compacted_topics(facts.configs)
    logs: dict[TopicPartition, list[ReplicaLog]] = defaultdict(list)
    for row in sorted(facts.replicas, key=lambda row: (row.tp, row.broker)):
        if row.complete and row.tp in facts.proof and not {row.topic, ""} & compacted:
            logs[row.tp].append(ReplicaLog(row, batches[row.tp, row.broker], states[row.tp, row.broker]))
    return logs


def compacted_topics(configs: Iterable[ConfigChange]) -> set[str]:
    """The topics that were compacted at any time; "" stands for all, by the brokers' default."""
    return {
        change.name if change.kind == "topic" else ""
        for change in configs
        if change.key in ("cleanup.policy", "log.cleanup.policy") and "compact" in change.value
    }


def runs(wanted: Property, replica: Replica, flaws: Iterable[Flaw]) -> Iterator[Anomaly]:
    """One anomaly for flaws whose offsets touch or overlap; its note is that of the first of them."""
    run: Flaw | None = None
    for flaw in sorted(flaws, key=lambda each: (each.first, each.kind)):
        if run and flaw.first <= run.last + 1:
            run = run._replace(last=max(run.last, flaw.last))
            continue
        if run:
            yield of_replica(wanted, replica, run)
        run = flaw
    if run:
        yield of_replica(wanted, replica, run)


def of_replica(wanted: Property, replica: Replica, flaw: Flaw) -> Anomaly:
    """An anomaly of one replica's log."""
    return Anomaly(
        property=wanted,
        topic=replica.topic,
        partition=replica.partition,
        offset=flaw.first,
        last_offset=flaw.last,
        producer=NONE,
        sequence=NONE,
        replica=replica.broker,
        note=flaw.note,
    )
