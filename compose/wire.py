"""Just enough of Kafka's protocol to ask *one* broker what it knows, with a deadline.

A Kafka client asks whichever broker it likes, and so cannot tell what a certain broker knows: a zombie,
say, that takes itself for the leader. Layouts: the message definitions in Kafka's
clients/src/main/resources/common/message (Metadata 12, ListOffsets 7, DescribeTopicPartitions 0; all
"flexible", see KIP-482).
"""

import socket
import struct
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TypeVar

METADATA, METADATA_VERSION = 3, 12
LIST_OFFSETS, LIST_OFFSETS_VERSION = 2, 7
DESCRIBE, DESCRIBE_VERSION = 75, 0
CLIENT_ID = b"highwater-view"
LARGEST_ANSWER = 64 * 1024 * 1024
LATEST = -1

Item = TypeVar("Item")


class Writer:
    """Builds a request body, big-endian; every method returns the writer."""

    def __init__(self) -> None:
        self.raw = bytearray()

    def fixed(self, layout: str, *values: int | bool) -> "Writer":
        """Numbers of fixed size, by struct's letters: b, h, i, q, ? ."""
        self.raw += struct.pack(f">{layout}", *values)
        return self

    def count(self, number: int) -> "Writer":
        """An unsigned variable-length number."""
        while number > 0x7F:
            self.raw.append(number & 0x7F | 0x80)
            number >>= 7
        self.raw.append(number)
        return self

    def text(self, text: str) -> "Writer":
        """A compact string."""
        raw = text.encode()
        self.count(len(raw) + 1).raw.extend(raw)
        return self

    def array(self, items: Iterable[Item], write: Callable[[Item], object]) -> "Writer":
        """A compact array: its length, then what `write` adds for each item."""
        listed = list(items)
        self.count(len(listed) + 1)
        for item in listed:
            write(item)
        return self

    def tags(self) -> "Writer":
        """No tagged fields."""
        return self.count(0)


class Reader:
    """Takes an answer apart; ValueError if it is shorter than its layout."""

    def __init__(self, raw: bytes) -> None:
        self._raw, self._at = raw, 0

    def fixed(self, layout: str) -> int:
        """One number of fixed size."""
        (value,) = struct.unpack(f">{layout}", self.take(struct.calcsize(f">{layout}")))
        return int(value)

    def take(self, size: int) -> bytes:
        """The next `size` bytes."""
        part = self._raw[self._at : self._at + size]
        if len(part) != size:
            raise ValueError(f"answer ends after {len(self._raw)} bytes, {size} more expected at {self._at}")
        self._at += size
        return part

    def count(self) -> int:
        """An unsigned variable-length number."""
        number = shift = 0
        while True:
            byte = self.take(1)[0]
            number |= (byte & 0x7F) << shift
            if byte < 0x80:
                return number
            shift += 7

    def text(self) -> str:
        """A compact string; "" also for null."""
        return self.take(max(0, self.count() - 1)).decode()

    def array(self, read: Callable[[], Item]) -> tuple[Item, ...]:
        """A compact array; empty also for null."""
        return tuple(read() for _ in range(self.count() - 1))

    def ids(self) -> tuple[int, ...]:
        """An array of 32-bit numbers."""
        return self.array(lambda: self.fixed("i"))

    def tags(self) -> None:
        """Skip the tagged fields."""
        for _ in range(self.count()):
            self.count()
            self.take(self.count())


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionAnswer:
    """What one broker says of one partition; `error` is Kafka's code, 0 for none."""

    error: int
    partition: int
    leader: int
    leader_epoch: int
    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    elr: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicAnswer:
    """What one broker says of one topic."""

    error: int
    name: str
    internal: bool
    partitions: tuple[PartitionAnswer, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class MetadataAnswer:
    """What one broker says of the cluster: the brokers that are not fenced, and the topics asked for."""

    brokers: tuple[int, ...]
    topics: tuple[TopicAnswer, ...] = field(default=())


def metadata(address: tuple[str, int], topics: Iterable[str] | None, *, within_s: float) -> MetadataAnswer:
    """Ask for `topics`, None: for all. Raises OSError or ValueError."""
    body = Writer()
    if topics is None:
        body.count(0)
    else:
        body.array(topics, lambda name: body.fixed("qq", 0, 0).text(name).tags())
    answer = _ask(address, METADATA, METADATA_VERSION, body.fixed("??", False, False).tags(), within_s)
    answer.fixed("i")
    brokers = answer.array(lambda: _broker(answer))
    answer.text()
    answer.fixed("i")
    return MetadataAnswer(brokers=brokers, topics=answer.array(lambda: _metadata_topic(answer)))


def describe(address: tuple[str, int], topic: str, *, within_s: float) -> TopicAnswer:
    """Ask for one topic with its ELR (KIP-966, Kafka 3.8 and newer). Raises OSError or ValueError."""
    body = Writer()
    body.array([topic], lambda name: body.text(name).tags()).fixed("i", 2000).fixed("b", -1).tags()
    answer = _ask(address, DESCRIBE, DESCRIBE_VERSION, body, within_s)
    answer.fixed("i")
    (described,) = answer.array(lambda: _described_topic(answer))
    return described


def leads(address: tuple[str, int], topic: str, epochs: dict[int, int], *, within_s: float) -> dict[int, int]:
    """Ask a broker, as the leader at these `epochs` by partition, for the ends; error code by partition.

    0: it serves the partition as its leader. Metadata alone does not say so: a broker learns that it leads
    a little earlier than it acts on it. Raises OSError or ValueError.
    """
    body = Writer().fixed("ib", -1, 0)

    def partition(item: tuple[int, int]) -> object:
        return body.fixed("iiq", item[0], item[1], LATEST).tags()

    body.array([topic], lambda name: body.text(name).array(epochs.items(), partition).tags()).tags()
    answer = _ask(address, LIST_OFFSETS, LIST_OFFSETS_VERSION, body, within_s)
    answer.fixed("i")
    return dict(pair for pairs in answer.array(lambda: _offsets_topic(answer)) for pair in pairs)


def _ask(address: tuple[str, int], key: int, version: int, body: Writer, within_s: float) -> Reader:
    header = struct.pack(">hhih", key, version, 1, len(CLIENT_ID)) + CLIENT_ID + b"\0"
    request = header + bytes(body.raw)
    with socket.create_connection(address, timeout=within_s) as connection:
        connection.sendall(struct.pack(">i", len(request)) + request)
        (size,) = struct.unpack(">i", _exactly(connection, 4))
        if not 0 < size <= LARGEST_ANSWER:
            raise ValueError(f"{address[0]}:{address[1]} announces an answer of {size} bytes")
        answer = Reader(_exactly(connection, size))
    answer.fixed("i")
    answer.tags()
    return answer


def _exactly(connection: socket.socket, size: int) -> bytes:
    parts = bytearray()
    while len(parts) < size:
        part = connection.recv(size - len(parts))
        if not part:
            raise ConnectionError("connection closed before the answer was whole")
        parts += part
    return bytes(parts)


def _broker(answer: Reader) -> int:
    node = answer.fixed("i")
    answer.text()
    answer.fixed("i")
    answer.text()
    answer.tags()
    return node


def _metadata_topic(answer: Reader) -> TopicAnswer:
    error, name = answer.fixed("h"), answer.text()
    answer.take(16)
    internal = bool(answer.fixed("?"))
    partitions = answer.array(lambda: _partition(answer, with_elr=False))
    answer.fixed("i")
    answer.tags()
    return TopicAnswer(error=error, name=name, internal=internal, partitions=partitions)


def _described_topic(answer: Reader) -> TopicAnswer:
    error, name = answer.fixed("h"), answer.text()
    answer.take(16)
    internal = bool(answer.fixed("?"))
    partitions = answer.array(lambda: _partition(answer, with_elr=True))
    answer.fixed("i")
    answer.tags()
    return TopicAnswer(error=error, name=name, internal=internal, partitions=partitions)


def _partition(answer: Reader, *, with_elr: bool) -> PartitionAnswer:
    error, partition, leader, epoch = (answer.fixed(size) for size in "hiii")
    replicas, isr = answer.ids(), answer.ids()
    elr: tuple[int, ...] = ()
    if with_elr:
        elr = answer.ids()
        answer.ids()
    answer.ids()
    answer.tags()
    return PartitionAnswer(
        error=error,
        partition=partition,
        leader=leader,
        leader_epoch=epoch,
        replicas=replicas,
        isr=isr,
        elr=elr,
    )


def _offsets_topic(answer: Reader) -> list[tuple[int, int]]:
    answer.text()

    def partition() -> tuple[int, int]:
        number, error = answer.fixed("i"), answer.fixed("h")
        answer.take(8 + 8 + 4)
        answer.tags()
        return number, error

    pairs = list(answer.array(partition))
    answer.tags()
    return pairs
