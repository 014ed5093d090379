"""What brokers report of their partitions: offsets that only a leader can know, and each replica's own.

Each broker is asked by itself. First for its metadata: leader, epoch and in-sync replicas as it knows them.
Then, for those partitions and *at those epochs*, for the offsets: a broker that does not lead at just that
epoch refuses (NOT_LEADER, FENCED_LEADER_EPOCH, UNKNOWN_LEADER_EPOCH), so every answer is that of a leader and
names its epoch. A zombie still answers, truthfully, for the epoch that it led.

Every replica is asked for its log start and log end, at the epoch that its broker knows; a leader's are asked
beside its high watermark.
"""

import time
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from checkers.history.rows import TopicPartition
from checkers.history.tables import NONE
from compose.kafka.broker_api import (
    CONSUMER,
    DEBUGGING,
    EARLIEST,
    LATEST,
    READ_COMMITTED,
    READ_UNCOMMITTED,
    PartitionAnswer,
    list_offsets,
    metadata,
)
from compose.kafka.brokers import Ask
from compose.kafka.wire import Connection
from workloads.observe.replica_offsets import ReplicaState, replicas_of


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaderState:
    """One partition as its leader reports it; offsets are those of one moment each, in the order asked.

    `log_end` is -1 where the leader does not report it. `asked_ns` is when it was asked for the high
    watermark, which it measured then or later; no part of the state.
    """

    tp: TopicPartition
    leader: int
    leader_epoch: int
    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    log_start: int
    high_watermark: int
    last_stable: int
    log_end: int = NONE
    asked_ns: int = field(default=NONE, compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerReport:
    """One broker's answer: every partition as it knows it, the state of those that it leads, its replicas."""

    known: Mapping[TopicPartition, PartitionAnswer]
    led: tuple[LeaderState, ...]
    replicas: tuple[ReplicaState, ...] = ()


def state_of(partitions: Collection[TopicPartition]) -> Ask[BrokerReport]:
    """The question what a broker knows of `partitions`: one request for metadata, five for offsets.

    Asked in this order, log_start ≤ last_stable ≤ high_watermark ≤ log_end holds although each moves.
    """

    def ask(number: int, broker: Connection) -> BrokerReport:
        known = _known(broker, partitions)
        epochs = {tp: partition.leader_epoch for tp, partition in known.items()}
        may_lead = {tp: epoch for tp, epoch in epochs.items() if known[tp].leader >= 0}
        has = {tp: epoch for tp, epoch in epochs.items() if number in known[tp].replicas}
        log_starts = _offsets(broker, may_lead, EARLIEST)
        replica_starts = _offsets(broker, has, EARLIEST, replica=DEBUGGING)
        stable = _offsets(broker, may_lead, LATEST, READ_COMMITTED)
        led_asked_ns = time.monotonic_ns()
        high_watermarks = _offsets(broker, may_lead, LATEST)
        asked_ns = time.monotonic_ns()
        log_ends = _offsets(broker, has, LATEST, replica=DEBUGGING)
        led = sorted(log_starts.keys() & stable.keys() & high_watermarks.keys())
        return BrokerReport(
            known=known,
            led=tuple(
                _state(
                    tp,
                    known[tp],
                    log_start=log_starts[tp],
                    last_stable=stable[tp],
                    high_watermark=high_watermarks[tp],
                    log_end=log_ends.get(tp, NONE),
                    asked_ns=led_asked_ns,
                )
                for tp in led
            ),
            replicas=replicas_of(number, known, replica_starts, log_ends, asked_ns),
        )

    return ask


def _known(
    broker: Connection, partitions: Collection[TopicPartition]
) -> dict[TopicPartition, PartitionAnswer]:
    """The broker's metadata of those of `partitions` that it knows."""
    answer = metadata(broker, sorted({tp.topic for tp in partitions}))
    everything = ((TopicPartition(t.name, p.partition), p) for t in answer.topics for p in t.partitions)
    return {tp: partition for tp, partition in everything if tp in partitions}


def _offsets(
    broker: Connection,
    epochs: Mapping[TopicPartition, int],
    which: int,
    isolation: int = READ_UNCOMMITTED,
    replica: int = CONSUMER,
) -> dict[TopicPartition, int]:
    """The offset of each partition that the broker leads, or has if `replica` is DEBUGGING, at that epoch."""
    if not epochs:
        return {}
    wanted = {(tp.topic, tp.partition): epoch for tp, epoch in epochs.items()}
    answers = list_offsets(broker, wanted, which, isolation, replica)
    return {TopicPartition(*place): offset for place, (error, offset) in answers.items() if error == 0}


def _state(
    tp: TopicPartition,
    known: PartitionAnswer,
    *,
    log_start: int,
    high_watermark: int,
    last_stable: int,
    log_end: int,
    asked_ns: int,
) -> LeaderState:
    return LeaderState(
        tp=tp,
        leader=known.leader,
        leader_epoch=known.leader_epoch,
        replicas=known.replicas,
        isr=known.isr,
        log_start=log_start,
        high_watermark=high_watermark,
        last_stable=last_stable,
        log_end=log_end,
        asked_ns=asked_ns,
    )
