"""What the leaders themselves say of their partitions: offsets that only a broker that leads can tell.

Each broker is asked by itself. First for its metadata: leader, epoch and in-sync replicas as it knows them.
Then, for those partitions and *at those epochs*, for the offsets: a broker that does not lead at just that
epoch refuses (NOT_LEADER, FENCED_LEADER_EPOCH, UNKNOWN_LEADER_EPOCH), so every answer is that of a leader and
names its epoch. A zombie still answers, truthfully, for the epoch that it led.
"""

import struct
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import TracebackType

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
from compose.kafka.wire import Connection
from workloads.errors import BrokerSilent

Address = tuple[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaderState:
    """One partition as its leader tells it; offsets are those of one moment each, in the order asked."""

    tp: TopicPartition
    leader: int
    leader_epoch: int
    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    log_start: int
    high_watermark: int
    last_stable: int


def addresses(bootstrap: str) -> tuple[Address, ...]:
    """The brokers of a "host:port,host:port" list."""
    pairs = (item.strip().rpartition(":") for item in bootstrap.split(","))
    return tuple((host, int(port)) for host, _, port in pairs)


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """One broker's answer: every partition as it knows it, and the state of those that it leads."""

    known: Mapping[TopicPartition, PartitionAnswer]
    led: tuple[LeaderState, ...]


class Broker:
    """A standing connection to one broker."""

    def __init__(self, address: Address, *, within_s: float) -> None:
        """`within_s` bounds each wait for bytes of an answer."""
        self._connection = Connection(address, within_s=within_s)

    def ask(self, partitions: Iterable[TopicPartition]) -> Told:
        """What this broker knows of `partitions`; BrokerSilent if it tells nothing.

        Asked in this order, log_start ≤ last_stable ≤ high_watermark holds although each moves.
        """
        try:
            return self._told(set(partitions))
        except (OSError, ValueError, struct.error) as error:
            self.close()
            host, port = self._connection.address
            raise BrokerSilent(f"broker at {host}:{port}: {type(error).__name__}: {error}") from error

    def _told(self, partitions: set[TopicPartition]) -> Told:
        topics = sorted({tp.topic for tp in partitions})
        answer = metadata(self._connection, topics)
        everything = ((TopicPartition(t.name, p.partition), p) for t in answer.topics for p in t.partitions)
        known = {tp: partition for tp, partition in everything if tp in partitions}
        epochs = {tp: partition.leader_epoch for tp, partition in known.items() if partition.leader >= 0}
        log_starts = self._offsets(epochs, EARLIEST, READ_UNCOMMITTED)
        stable = self._offsets(epochs, LATEST, READ_COMMITTED)
        ends = self._offsets(epochs, LATEST, READ_UNCOMMITTED)
        led = sorted(log_starts.keys() & stable.keys() & ends.keys())
        states = (_state(tp, known[tp], log_starts[tp], ends[tp], stable[tp]) for tp in led)
        return Told(known=known, led=tuple(states))

    def _offsets(
        self, epochs: Mapping[TopicPartition, int], which: int, isolation: int
    ) -> dict[TopicPartition, int]:
        """The offset of each partition that the broker leads at the given epoch."""
        if not epochs:
            return {}
        asked = {(tp.topic, tp.partition): epoch for tp, epoch in epochs.items()}
        told = list_offsets(self._connection, asked, which, isolation)
        return {TopicPartition(*place): offset for place, (error, offset) in told.items() if error == 0}

    def close(self) -> None:
        """Hang up."""
        self._connection.close()

    def __enter__(self) -> "Broker":
        """Nothing to do yet."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Hang up."""
        self.close()


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
