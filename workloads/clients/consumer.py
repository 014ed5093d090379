"""librdkafka's consumer as a log reader: assigned to partitions, and in no group."""

from collections.abc import Callable, Mapping, Sequence
from itertools import repeat
from operator import is_not, itemgetter, methodcaller
from typing import Any, Protocol

import numpy as np
from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, Message
from confluent_kafka import TopicPartition as Position
from numpy.typing import NDArray

from checkers.history.rows import TopicPartition
from checkers.history.tables import NONE
from workloads.clients.protocol import Delivered, Fetched, OpenLogReader
from workloads.plan import QUIET

TRUNCATED = frozenset(
    {KafkaError._AUTO_OFFSET_RESET, KafkaError.OFFSET_OUT_OF_RANGE, KafkaError._LOG_TRUNCATION}
)
"""Codes of the errors that mean: the log is no longer the one that was being read."""


class ConsumerClient(Protocol):
    """The part of confluent_kafka.Consumer that is used."""

    def assign(self, positions: list[Position], /) -> None:
        """Read from these positions from now on."""

    def consume(self, num_messages: int = 1, timeout: float = -1) -> list[Message]:
        """Records and error events, at most `num_messages`, waiting at most `timeout` seconds."""

    def close(self) -> None:
        """Release the client."""


_ERROR, _OFFSET, _LEADER_EPOCH, _TIMESTAMP = map(
    methodcaller, ("error", "offset", "leader_epoch", "timestamp")
)
_KEY, _VALUE, _HEADERS = map(methodcaller, ("key", "value", "headers"))
_TOPIC, _PARTITION = map(methodcaller, ("topic", "partition"))
_MILLISECONDS = itemgetter(1)
"""Of a message's timestamp, behind its type."""

LaneOf = Mapping[tuple[str | None, int | None], int]
"""A partition's lane by its topic and number."""

MakeConsumer = Callable[[dict[str, Any]], ConsumerClient]
"""From librdkafka's settings to a client."""


COMMITTED = {"isolation.level": "read_committed"}
REPORTS_ENDS = {"enable.partition.eof": True}


def tailing_reader(
    bootstrap: str, make: MakeConsumer = Consumer, *, committed: bool = False, reports_ends: bool = False
) -> OpenLogReader:
    """Readers of growing logs; `committed`: of what is committed only.

    `reports_ends`: they say how far they are where no record is, as at the marker of a transaction.
    """
    wanted = {**(COMMITTED if committed else {}), **(REPORTS_ENDS if reports_ends else {})}
    return lambda partitions: ConsumerLog(partitions, make(consumer_settings(bootstrap) | wanted))


def exact_reader(bootstrap: str, make: MakeConsumer = Consumer, *, committed: bool = False) -> OpenLogReader:
    """Readers of logs that no longer grow: they verify CRCs, report the ends, and fetch a lot at once."""
    exact = {
        **(COMMITTED if committed else {}),
        **REPORTS_ENDS,
        "check.crcs": True,
        "fetch.message.max.bytes": 8 << 20,
        "queued.max.messages.kbytes": 64 << 10,
        # A second by default, for which a client that has read enough ahead asks for no more: longer than it
        # takes to hand out all of that.
        "fetch.queue.backoff.ms": 20,
    }
    return lambda partitions: ConsumerLog(partitions, make(consumer_settings(bootstrap) | exact))


def consumer_settings(bootstrap: str) -> dict[str, Any]:
    """Settings of one consumer that is assigned, never a member of a group, and never moves by itself.

    With `auto.offset.reset=error` a truncated log is reported instead of silently sought in.
    """
    return {
        "bootstrap.servers": bootstrap,
        "group.id": "highwater",
        "enable.auto.commit": False,
        "enable.auto.offset.store": False,
        "auto.offset.reset": "error",
        "isolation.level": "read_uncommitted",
        "reconnect.backoff.ms": 100,
        "reconnect.backoff.max.ms": 500,
        "fetch.wait.max.ms": 100,
        "fetch.error.backoff.ms": 100,
        "topic.metadata.refresh.interval.ms": 5000,
        **QUIET,
    }


class ConsumerLog:
    """Implements `protocol.LogReader`. Errors that pass by themselves are left to the client."""

    def __init__(self, partitions: Sequence[TopicPartition], client: ConsumerClient) -> None:
        self._partitions, self._client = partitions, client
        self._lane_of: LaneOf = {(tp.topic, tp.partition): lane for lane, tp in enumerate(partitions)}

    def place(self, offsets: Sequence[int]) -> None:
        """Assign every partition from its offset on."""
        starts = (OFFSET_BEGINNING if offset == NONE else offset for offset in offsets)
        self._client.assign([Position(*tp, at) for tp, at in zip(self._partitions, starts, strict=True)])

    def fetch(self, most: int, within_s: float) -> Fetched:
        """What the client has, records and events apart."""
        messages = self._client.consume(most, within_s)
        records = messages
        if any(map(is_not, map(_ERROR, messages), repeat(None))):
            records = [message for message in messages if message.error() is None]
        fetched = delivered(records, self._lane_of)
        if len(records) == len(messages):
            return Fetched(records=fetched)
        ends, truncated = {}, set()
        for message in messages:
            error, lane = message.error(), self._lane_of.get((message.topic(), message.partition()))
            if error is None or lane is None:
                continue
            if error.code() == KafkaError._PARTITION_EOF:
                ends[lane] = message.offset() or 0
            elif error.code() in TRUNCATED:
                truncated.add(lane)
        return Fetched(records=fetched, ends=ends, truncated=frozenset(truncated))

    def close(self) -> None:
        """Close the client."""
        self._client.close()


def delivered(messages: Sequence[Message], lane_of: LaneOf) -> Delivered:
    """The columns of messages that carry records (no error events).

    The interpreter's lock is what a long read waits for, so no expression of Python's is evaluated for each.
    """
    count = len(messages)
    epochs: list[int | None] = list(map(_LEADER_EPOCH, messages))
    if None in epochs:
        epochs = [NONE if epoch is None else epoch for epoch in epochs]
    return Delivered(
        lanes=_lanes(messages, lane_of),
        offsets=np.fromiter(map(_OFFSET, messages), np.int64, count),
        leader_epochs=np.array(epochs, np.int32),
        timestamps_ms=np.fromiter(map(_MILLISECONDS, map(_TIMESTAMP, messages)), np.int64, count),
        keys=list(map(_KEY, messages)),
        values=list(map(_VALUE, messages)),
        headers=list(map(_HEADERS, messages)),
    )


def _lanes(messages: Sequence[Message], lane_of: LaneOf) -> NDArray[np.int16]:
    if len(lane_of) == 1:
        return np.zeros(len(messages), np.int16)
    places = zip(map(_TOPIC, messages), map(_PARTITION, messages), strict=True)
    return np.fromiter(map(lane_of.__getitem__, places), np.int16, len(messages))
