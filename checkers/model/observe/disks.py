"""Every broker's disk after the clean stop: replicas, their batches, and what they know of producers."""

from collections.abc import Iterable, Mapping

import numpy as np

from checkers.history.records.digest import MODULUS, mix
from checkers.history.rows import ProducerState, Replica, ReplicaBatch
from checkers.history.tables import NONE
from checkers.model.case import TOPIC
from checkers.model.kafka import replica as kafka
from checkers.model.kafka.broker import Broker
from checkers.model.kafka.log import Batch

BATCH_BYTES, RECORD_BYTES = 61, 217


def replicas_of(broker: Broker, *, clean: bool) -> list[Replica]:
    """The replicas of a broker that has ended."""
    return [_replica(broker, one, clean=clean) for _, one in sorted(broker.replicas.items())]


def _replica(broker: Broker, one: kafka.Replica, *, clean: bool) -> Replica:
    log = one.log
    return Replica(
        topic=TOPIC,
        partition=one.partition,
        broker=broker.number,
        log_start=log.start,
        log_end=log.end,
        recovery_point=log.end if clean else 0,
        hw_checkpoint=broker.high_watermarks.get(one.partition, NONE),
        log_start_checkpoint=log.start if log.batches and log.start > log.batches[0].base_offset else NONE,
        epochs=tuple(epoch for epoch, _ in log.epochs),
        epoch_starts=tuple(start for _, start in log.epochs),
        segments=1,
        bytes=sum(_size(batch) for batch in log.batches),
        batches=len(log.batches),
        clean=clean,
    )


def producers_of(broker: Broker) -> list[ProducerState]:
    """What the last producer snapshots of a broker hold."""
    return [
        ProducerState(
            topic=TOPIC,
            partition=number,
            broker=broker.number,
            snapshot_offset=one.log.end,
            producer_id=producer,
            producer_epoch=entry.epoch,
            last_sequence=entry.last_sequence,
            last_offset=entry.batches[-1][2].end_offset - 1,
            timestamp_ms=entry.batches[-1][2].records[-1].timestamp_ms,
        )
        for number, one in sorted(broker.replicas.items())
        for producer, entry in one.log.producers.items()
    ]


def batches_of(brokers: Iterable[Broker]) -> list[ReplicaBatch]:
    """All batches on all disks, in the order of the log of each replica."""
    replicas = [(broker.number, one) for broker in brokers for _, one in sorted(broker.replicas.items())]
    distinct = {id(batch): batch for _, one in replicas for batch in one.log.batches}
    digests = _digests(distinct)
    return [row for number, one in replicas for row in _rows(number, one, digests)]


def _rows(number: int, one: kafka.Replica, digests: Mapping[int, int]) -> Iterable[ReplicaBatch]:
    position = 0
    for batch in one.log.batches:
        size = _size(batch)
        yield ReplicaBatch(
            topic=TOPIC,
            partition=one.partition,
            broker=number,
            position=position,
            base_offset=batch.base_offset,
            last_offset_delta=len(batch.records) - 1,
            leader_epoch=batch.leader_epoch,
            crc=batch.crc,
            producer_id=batch.producer_id,
            producer_epoch=batch.producer_epoch,
            base_sequence=batch.base_sequence,
            records=len(batch.records),
            size=size,
            max_timestamp_ms=batch.records[-1].timestamp_ms,  # they are in the order of their sends
            digest=digests[id(batch)],
        )
        position += size


def _size(batch: Batch) -> int:
    return BATCH_BYTES + RECORD_BYTES * len(batch.records)


def _digests(batches: Mapping[int, Batch]) -> dict[int, int]:
    """The digest of each batch by its identity, all in one pass."""
    if not batches:
        return {}
    records = [
        (batch.base_offset + place, one.producer, one.sequence, one.checksum ^ (batch.bytes_of is not None))
        for batch in batches.values()
        for place, one in enumerate(batch.records)
    ]
    columns = np.array(records, np.int64)
    mixed = mix(columns[:, 0], columns[:, 1], columns[:, 2], columns[:, 3])
    found, first = {}, 0
    values = mixed.tolist()
    for key, batch in batches.items():
        found[key] = sum(values[first : first + len(batch.records)]) % MODULUS
        first += len(batch.records)
    return found
