"""Brokers' disks in few words, for tests that spell out what each replica of `orders-0` holds.

The record at offset n is what producer 1 sent as sequence n, so a batch without `other` holds what is read.
`found(...)` asks both implementations, and demands that they agree.
"""

from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from checkers.damage import write
from checkers.history.records.digest import digest, mix
from checkers.history.rows import (
    History,
    LogRecord,
    ProducerState,
    Proof,
    Replica,
    ReplicaBatch,
    Send,
    TopicPartition,
)
from checkers.history.tables import NONE, Outcome
from checkers.judgement import Judgement
from checkers.properties import Property
from checkers.property_terms import Family
from checkers.reference import check
from fakes.history.inline_spark import InlineSpark
from spark_verify.selftest.fuzz import agree
from spark_verify.verify import verify

ORDERS = {"topic": "orders", "partition": 0}
OF_REPLICAS = {each for each in Property if each.record.family is Family.REPLICAS} | {Property.ONE_LEADER}


def record(offset) -> LogRecord:
    """What is read at an offset."""
    return LogRecord(**ORDERS, producer=1, sequence=offset, checksum=1000 + offset, offset=offset)


def batch(first, last=None, epoch=0, *, other=0, producer=None, **more) -> ReplicaBatch:
    """Offsets [first, last]; `other` gives it other records; `producer` is (id, epoch, base sequence)."""
    last = first if last is None else last
    records = [record(offset) for offset in range(first, last + 1)]
    columns = (
        np.array([getattr(each, name) for each in records], np.int64)
        for name in ("offset", "producer", "sequence", "checksum")
    )
    producer_id, producer_epoch, base_sequence = producer or (NONE, NONE, NONE)
    its = ReplicaBatch(
        **ORDERS,
        broker=NONE,
        position=first * 100,
        base_offset=first,
        last_offset_delta=last - first,
        leader_epoch=epoch,
        crc=first * 10 + other,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        base_sequence=base_sequence,
        records=len(records),
        digest=digest(mix(*columns)) + other,
    )
    return replace(its, **more)


def marker(offset, producer, epoch=0) -> ReplicaBatch:
    """A transaction's marker; `producer` is (id, epoch)."""
    return batch(offset, epoch=epoch, producer=(*producer, NONE), attributes=0x30, digest=NONE)


@dataclass(frozen=True, slots=True)
class Disk:
    """What one broker has of the partition."""

    replica: Replica
    batches: tuple[ReplicaBatch, ...]
    states: tuple[ProducerState, ...] = ()


def disk(broker, *batches, epochs=None, snapshot=(), **more) -> Disk:
    """A broker's disk after a clean stop, its checkpoints those of its batches unless told otherwise.

    `epochs` is its leader epoch cache; `snapshot` has (id, epoch, last sequence, last offset) entries.
    """
    first_of: dict[int, int] = {}
    for each in batches:
        first_of.setdefault(each.leader_epoch, each.base_offset)
    cache = first_of if epochs is None else epochs
    end = max((each.end_offset for each in batches), default=0)
    row = Replica(
        **ORDERS,
        broker=broker,
        log_start=0,
        log_end=end,
        recovery_point=end,
        hw_checkpoint=end,
        epochs=tuple(cache),
        epoch_starts=tuple(cache.values()),
        batches=len(batches),
    )
    states = tuple(
        ProducerState(
            **ORDERS,
            broker=broker,
            snapshot_offset=end,
            producer_id=entry[0],
            producer_epoch=entry[1],
            last_sequence=entry[2],
            last_offset=entry[3],
        )
        for entry in snapshot
    )
    placed = tuple(replace(each, broker=broker, position=place * 100) for place, each in enumerate(batches))
    return Disk(replace(row, **more), placed, states)


def history(*disks, read_to, start=0, lost=(), acked=(), named=(), **more) -> History:
    """Offsets [start, read_to) are read but those `lost`; `acked` offsets were acknowledged; `named`: the
    replicas in the proof."""
    its = History(
        partitions=(TopicPartition("orders", 0),),
        sends=[
            Send(
                **ORDERS,
                producer=1,
                sequence=offset,
                checksum=1000 + offset,
                invoked_ns=offset,
                completed_ns=offset + 1,
                outcome=Outcome.OK if offset in acked else Outcome.INFO,
                offset=offset if offset in acked else NONE,
            )
            for offset in range(start, read_to)
        ],
        final_log=[record(offset) for offset in range(start, read_to) if offset not in lost],
        proofs=[
            Proof(
                **ORDERS,
                log_start=start,
                high_watermark=read_to,
                log_end=max([read_to, *(each.replica.log_end for each in disks)]),
                complete=True,
                replicas=tuple(named),
            )
        ],
        replicas=[each.replica for each in disks],
        replica_batches=[batch for each in disks for batch in each.batches],
        producer_states=[state for each in disks for state in each.states],
    )
    return replace(its, **more)


def judged(its: History) -> Judgement:
    """What both implementations say of a history."""
    wanted = check(its)
    with TemporaryDirectory() as folder:
        write(its, Path(folder))
        assert agree(verify(Path(folder), InlineSpark()), wanted)
    return wanted


def found(*disks, **more) -> list[tuple[str, int, int, int]]:
    """What breaks a property of replicas: sorted (property, broker, first offset, last offset)."""
    anomalies = judged(history(*disks, **more)).anomalies
    return sorted(
        (each.property.value, each.replica, each.offset, each.last_offset)
        for each in anomalies
        if each.property in OF_REPLICAS
    )


def notes(*disks, **more) -> list[str]:
    """The notes of what breaks a property of replicas."""
    anomalies = judged(history(*disks, **more)).anomalies
    return [each.note for each in anomalies if each.property in OF_REPLICAS]
