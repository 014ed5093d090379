"""What leaders report of their partitions: offsets that only a broker that leads can know.

Each broker is asked by itself. First for its metadata: leader, epoch and in-sync replicas as it knows them.
Then, for those partitions and *at those epochs*, for the offsets: a broker that does not lead at just that
epoch refuses (NOT_LEADER, FENCED_LEADER_EPOCH, UNKNOWN_LEADER_EPOCH), so every answer is that of a leader and
names its epoch. A zombie still answers, truthfully, for the epoch that it led.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from checkers.history.rows import TopicPartition
from compose.kafka.broker_api import (
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


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaderState:
    """One partition as its leader reports it; offsets are those of one moment each, in the order asked."""

    tp: TopicPartition
    leader: int
    leader_epoch: int
    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    log_start: int
    high_watermark: int
    last_stable: int


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerReport:
    """One broker's answer: every partition as it knows it, and the state of those that it leads."""

    known: Mapping[TopicPartition, PartitionAnswer]
    led: tuple[LeaderState, ...]


def state_of(partitions: Collection[TopicPartition]) -> Ask[BrokerReport]:
    """The question what a broker knows of `partitions`: one request for metadata, three for offsets.

    Asked in this order, log_start ≤ last_stable ≤ high_watermark holds although each moves.
    """

    def ask(_number: int, broker: Connection) -> BrokerReport:
        known = _known(broker, partitions)
        epochs = {tp: partition.leader_epoch for tp, partition in known.items() if partition.leader >= 0}
        log_starts = _offsets(broker, epochs, EARLIEST, READ_UNCOMMITTED)
        stable = _offsets(broker, epochs, LATEST, READ_COMMITTED)
        ends = _offsets(broker, epochs, LATEST, READ_UNCOMMITTED)
        led = sorted(log_starts.keys() & stable.keys() & ends.keys())
        states = (_state(tp, known[tp], log_starts[tp], ends[tp], stable[tp]) for tp in led)
        return BrokerReport(known=known, led=tuple(states))

    return ask


def _known(
    broker: Connection, partitions: Collection[TopicPartition]
) -> dict[TopicPartition, PartitionAnswer]:
    """The broker's metadata of those of `partitions` that it knows."""
    answer = metadata(broker, sorted({tp.topic for tp in partitions}))
    everything = ((TopicPartition(t.name, p.partition), p) for t in answer.topics for p in t.partitions)
    return {tp: partition for tp, partition in everything if tp in partitions}


def _offsets(
    broker: Connection, epochs: Mapping[TopicPartition, int], which: int, isolation: int
) -> dict[TopicPartition, int]:
    """The offset of each partition that the broker leads at the given epoch."""
    if not epochs:
        return {}
    wanted = {(tp.topic, tp.partition): epoch for tp, epoch in epochs.items()}
    answers = list_offsets(broker, wanted, which, isolation)
    return {TopicPartition(*place): offset for place, (error, offset) in answers.items() if error == 0}


def _state(
    tp: TopicPartition, known: PartitionAnswer, log_start: int, high_watermark: int, last_stable: int
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
    )
