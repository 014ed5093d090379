"""The part of a consumer that reading a log takes; it is assigned to partitions, and in no group."""

from collections.abc import Callable
from typing import Any, Protocol

from confluent_kafka import KafkaError, Message
from confluent_kafka import TopicPartition as Position

MOVED = frozenset({KafkaError._AUTO_OFFSET_RESET, KafkaError.OFFSET_OUT_OF_RANGE, KafkaError._LOG_TRUNCATION})
"""Codes of the errors that say: the log is not any more what was being read."""


class Client(Protocol):
    """The part of confluent_kafka.Consumer that is used."""

    def assign(self, positions: list[Position], /) -> None:
        """Read from these positions from now on."""

    def consume(self, num_messages: int = 1, timeout: float = -1) -> list[Message]:
        """Records and error events, at most `num_messages`, waiting at most `timeout` seconds."""

    def close(self) -> None:
        """Let go."""


MakeClient = Callable[[dict[str, Any]], Client]
"""From librdkafka's settings to a client."""
