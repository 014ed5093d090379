"""What a complete run of three brokers and one controller has beside its records: a whole small run."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from checkers.history.records.digest import digest, mix
from checkers.history.rows import (
    BrokerState,
    ClockPair,
    ConfigChange,
    History,
    MetadataChange,
    NodeEvent,
    Producer,
    Replica,
    ReplicaBatch,
    ReplicaOffset,
    Watermark,
)
from checkers.history.tables import OF_TRANSACTIONS
from fakes.history.history_rows import TOPIC, history, logged, ok, read
from fakes.run.run_directories import make_run
from harness.run_directory.layout import RunDir

SECOND = 1_000_000_000
BROKERS, CONTROLLER = (1, 2, 3), 101
RECORDS = 12
"""Of producer 1, one a second from 11 s on, offset = sequence; a batch each."""
CLUSTER = {"brokers": 3, "controllers": 1, "elr": True, "broker_config": {}}
TOPICS = [
    {
        "name": TOPIC,
        "partitions": 1,
        "replication": 3,
        "config": {"min.insync.replicas": "2", "unclean.leader.election.enable": "false"},
    }
]


def whole_history() -> History:
    """Twelve records, acknowledged, read and on every disk; an election of broker 2 after the sixth."""
    half = RECORDS // 2
    records = [replace(logged(1, n, n), leader_epoch=int(n >= half)) for n in range(RECORDS)]
    sends = [ok(1, n, at=n, invoked=(11 + n) * SECOND - 1000, done=(11 + n) * SECOND) for n in range(RECORDS)]
    reads = [replace(read(1, n, n), read_ns=(11 + n) * SECOND + 500_000) for n in range(RECORDS)]
    place = {"topic": TOPIC, "partition": 0}
    batches = [
        ReplicaBatch(
            **place,
            broker=broker,
            position=100 * record.offset,
            base_offset=record.offset,
            last_offset_delta=0,
            leader_epoch=record.leader_epoch,
            producer_id=7,
            producer_epoch=0,
            base_sequence=record.offset,
            crc=record.offset,
            size=100,
            digest=digest(mix(*(_column(record, name) for name in _MIXED))),
        )
        for broker in BROKERS
        for record in records
    ]
    states = [(10, 1, 0, BROKERS), (17, 2, 1, (2, 3)), (20, 2, 1, BROKERS)]
    rows = history(*records, *sends, *reads)
    (proof,) = rows.proofs
    return replace(
        rows,
        collected=rows.collected - set(OF_TRANSACTIONS),
        proofs=(replace(proof, at_ns=30 * SECOND, replicas=BROKERS, isr=BROKERS, read_to=RECORDS),),
        metadata=[
            MetadataChange(
                **place,
                at_ms=second * 1000,
                leader=leader,
                leader_epoch=epoch,
                partition_epoch=number,
                log_offset=40 + number,
                replicas=BROKERS,
                isr=isr,
            )
            for number, (second, leader, epoch, isr) in enumerate(states)
        ],
        brokers=[
            BrokerState(at_ms=5000, log_offset=10 + node, node=node, broker_epoch=10 + node)
            for node in BROKERS
        ],
        configs=[
            ConfigChange(at_ms=-1, kind="reported", name=TOPIC, key=key, value=value)
            for key, value in TOPICS[0]["config"].items()
        ],
        producers=[Producer(producer=1, acks="all", idempotence=True)],
        node_events=[
            NodeEvent(at_ns=SECOND, node=node, role="controller" if node > 100 else "broker", event="started")
            for node in (*BROKERS, CONTROLLER)
        ],
        clocks=[ClockPair(at_ns=at * SECOND, wall_ns=at * SECOND) for at in range(2, 34, 2)],
        watermarks=[
            Watermark(
                **place,
                at_ns=at * SECOND,
                asked_ns=at * SECOND - SECOND // 20,
                leader=leader,
                leader_epoch=epoch,
                isr=BROKERS,
                log_start=0,
                high_watermark=high,
                last_stable=high,
            )
            for at, leader, epoch, high in ((14, 1, 0, 3), (22, 2, 1, 11), (28, 2, 1, 12))
        ],
        replica_offsets=[
            ReplicaOffset(
                **place, at_ns=at * SECOND, broker=broker, leader_epoch=epoch, log_start=0, log_end=end
            )
            for at, broker, epoch, end in ((14, 1, 0, 4), (22, 2, 1, 12), (28, 2, 1, 12))
        ],
        replicas=[
            Replica(
                **place,
                broker=broker,
                log_start=0,
                log_end=RECORDS,
                recovery_point=RECORDS,
                hw_checkpoint=RECORDS,
                epochs=(0, 1),
                epoch_starts=(0, half),
                segments=1,
                bytes=100 * RECORDS,
                batches=RECORDS,
            )
            for broker in BROKERS
        ],
        replica_batches=batches,
    )


def whole_run(path: Path, rows: History | None = None, **facts: Any) -> RunDir:
    """The run directory of that history, or of this one."""
    known = {"topics": TOPICS, "cluster": CLUSTER, "run_id": "af8c272e", "load_ended_ns": 24 * SECOND}
    return make_run(path, rows or whole_history(), **{**known, **facts})


_MIXED = ("offset", "producer", "sequence", "checksum")


def _column(record: object, name: str) -> Any:
    return np.array([getattr(record, name)], np.int64)
