"""The disks of a small random cluster after its clean stop: each partition's log in batches on some brokers.

All replicas have the same batches, as far as each has fetched them; every follower has all below the high
watermark. A few brokers did not stop cleanly, and lost or tore a tail; some could not be read.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from random import Random

import numpy as np

from checkers.damage.editable_history import EditableHistory
from checkers.history.records.digest import digest, mix
from checkers.history.rows import LogRecord, ProducerState, Replica, ReplicaBatch, TopicPartition
from checkers.history.tables import NONE, REPLICA_BATCHES

BROKERS = (1, 2, 3)
SEQUENCES = 1 << 31
CONTROL = 0x30
"""The attributes of a transaction's marker: control, transactional."""
_LARGEST_BATCH = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredLog:
    """One partition's log as its leader has it: `records` from `start` on, without a hole.

    At the offsets of `markers` are the ends of transactions, of these producers.
    """

    tp: TopicPartition
    start: int
    high_watermark: int
    records: Sequence[LogRecord]
    markers: Mapping[int, int]


def add_replicas(
    rng: Random, history: EditableHistory, logs: Sequence[StoredLog], *, with_transactions: bool
) -> None:
    """Give a history the replicas of its partitions; one in ten was not (wholly) audited.

    Only a disk shows where a transaction ended: with them, each partition has a replica that was read whole.
    """
    idempotent = with_transactions or rng.random() < 0.7
    for log in logs:
        batches = _batches(rng, log, idempotent)
        brokers = BROKERS if rng.random() < 0.8 else rng.sample(BROKERS, rng.randint(1, 2))
        for number, broker in enumerate(brokers):
            _add_replica(rng, history, log, batches, broker, intact=with_transactions and not number)
    if not with_transactions and rng.random() < 0.1:
        table = rng.choice(("replicas", REPLICA_BATCHES, "producer_states"))
        history.collected.discard(table)
        getattr(history, table).clear()


@dataclass(slots=True)
class _Producers:
    """Where each idempotent producer's sequence stands: its producer epoch and the next sequence."""

    rng: Random
    idempotent: bool
    _states: dict[int, tuple[int, int]] = field(default_factory=dict)

    def take(self, producer: int, records: int) -> tuple[int, int, int]:
        """Producer id, epoch and base sequence of its next batch."""
        if not self.idempotent:
            return NONE, NONE, NONE
        begin = (0, self.rng.choice((0, 0, 0, 17, SEQUENCES - 2)))
        epoch, sequence = self._states.get(producer, begin)
        if producer in self._states and self.rng.random() < 0.1:
            epoch, sequence = epoch + 1, 0
        self._states[producer] = epoch, (sequence + records) % SEQUENCES
        return 1000 + producer, epoch, sequence

    def mark(self, producer: int) -> tuple[int, int, int]:
        """The same of a transaction's marker, which may raise the epoch."""
        epoch, _ = self._states.get(producer, (0, 0))
        if producer in self._states and self.rng.random() < 0.5:
            epoch += 1
            self._states[producer] = epoch, 0
        return 1000 + producer, epoch, NONE


def _batches(rng: Random, log: StoredLog, idempotent: bool) -> list[ReplicaBatch]:
    """The leader's batches: each of one producer and leader epoch, none across the high watermark."""
    producers = _Producers(rng, idempotent)
    found: list[ReplicaBatch] = []
    segment = position = 0
    for group in _grouped(rng, log):
        first, last = group[0], group[-1]
        base = first.offset
        if base == log.start and rng.random() < 0.3:
            base = max(0, base - 2)  # the log start was moved into a batch
        delta = last.offset - base
        ends = log.markers.get(first.offset)
        above = idempotent and base >= log.high_watermark and not delta and rng.random() < 0.3
        marker = above or ends is not None
        marks = first.producer if ends is None else ends
        its = producers.mark(marks) if marker else producers.take(first.producer, delta + 1)
        if not found or rng.random() < 0.2:
            segment, position = base, 0
        found.append(
            ReplicaBatch(
                topic=log.tp.topic,
                partition=log.tp.partition,
                broker=NONE,
                segment=segment,
                position=position,
                base_offset=base,
                last_offset_delta=delta,
                leader_epoch=last.leader_epoch,
                crc=rng.getrandbits(32),
                attributes=CONTROL if marker else 0,
                producer_id=its[0],
                producer_epoch=its[1],
                base_sequence=its[2],
                records=delta + 1,
                size=61 + 20 * (delta + 1),
                max_timestamp_ms=last.timestamp_ms,
                digest=NONE if marker else digest_of(group),
            )
        )
        position += found[-1].size
    return found


def digest_of(records: Sequence[LogRecord]) -> int:
    """The digest of some records."""
    names = ("offset", "producer", "sequence", "checksum")
    return digest(mix(*(np.array([getattr(r, name) for r in records], np.int64) for name in names)))


def _grouped(rng: Random, log: StoredLog) -> list[list[LogRecord]]:
    groups: list[list[LogRecord]] = []
    for record in log.records:
        before = groups[-1][-1] if groups else None
        fits = (
            before is not None
            and (before.producer, before.leader_epoch) == (record.producer, record.leader_epoch)
            and record.offset != log.high_watermark
            and not {record.offset, before.offset} & log.markers.keys()
            and len(groups[-1]) < _LARGEST_BATCH
            and rng.random() < 0.6
        )
        if fits:
            groups[-1].append(record)
        else:
            groups.append([record])
    return groups


def _add_replica(
    rng: Random,
    history: EditableHistory,
    log: StoredLog,
    batches: Sequence[ReplicaBatch],
    broker: int,
    *,
    intact: bool,
) -> None:
    clean = intact or rng.random() < 0.9
    below = sum(batch.base_offset < log.high_watermark for batch in batches)
    has = rng.randint(below if clean else 0, len(batches))
    held = [replace(batch, broker=broker) for batch in batches[:has]]
    torn = [] if clean or rng.random() < 0.5 else batches[has : has + 1]
    tail = [replace(b, broker=broker, crc_ok=False, digest=NONE, error="wrong CRC") for b in torn]
    end = held[-1].end_offset if held else log.start
    noted = log.start if rng.random() < 0.5 else NONE
    epochs = epochs_of(held, log.start)
    if rng.random() < 0.3:  # it led an epoch in which nothing was written
        known = [row.leader_epoch for row in history.metadata if row.tp == log.tp]
        epochs[max([0, *epochs, *known]) + 1] = end
    history.replica_batches += held + tail
    history.replicas.append(
        Replica(
            topic=log.tp.topic,
            partition=log.tp.partition,
            broker=broker,
            log_start=log.start,
            log_end=end,
            recovery_point=end if clean else rng.randint(0, end + 3),
            hw_checkpoint=rng.choice((NONE, log.start, min(end, log.high_watermark))),
            log_start_checkpoint=noted,
            epochs=tuple(epochs),
            epoch_starts=tuple(epochs.values()),
            segments=len({batch.segment for batch in held}),
            bytes=sum(batch.size for batch in held),
            batches=len(held) + len(tail),
            torn_bytes=0 if clean else rng.randint(0, 100),
            clean=clean,
            complete=intact or rng.random() < 0.95,
        )
    )
    history.producer_states += [
        state
        for state in states_of(held, end)
        if rng.random() < 0.9  # it may have expired
    ]


def epochs_of(batches: Sequence[ReplicaBatch], log_start: int) -> dict[int, int]:
    """The leader epoch cache of a log: where each epoch begins."""
    found: dict[int, int] = {}
    for batch in batches:
        found.setdefault(batch.leader_epoch, max(batch.base_offset, log_start))
    return found


def states_of(batches: Sequence[ReplicaBatch], snapshot_offset: int) -> list[ProducerState]:
    """The producer snapshot at the end of a log."""
    states: dict[int, ProducerState] = {}
    for batch in batches:
        if batch.producer_id == NONE:
            continue
        marked, its = batch.base_sequence == NONE, states.get(batch.producer_id)
        fresh = its is None or its.producer_epoch != batch.producer_epoch
        last = (batch.base_sequence + batch.last_offset_delta) % SEQUENCES
        if marked and its and not fresh:
            continue
        states[batch.producer_id] = ProducerState(
            topic=batch.topic,
            partition=batch.partition,
            broker=batch.broker,
            snapshot_offset=snapshot_offset,
            producer_id=batch.producer_id,
            producer_epoch=batch.producer_epoch,
            last_sequence=NONE if marked else last,
            last_offset=NONE if marked else batch.end_offset - 1,
            timestamp_ms=batch.max_timestamp_ms,
        )
    return list(states.values())
