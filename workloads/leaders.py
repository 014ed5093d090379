"""What the leaders themselves say of their partitions: offsets that only a broker that leads can tell.

Each broker is asked by itself. First for its metadata: leader, epoch and in-sync replicas as it knows them.
Then, for those partitions and *at those epochs*, for the offsets: a broker that does not lead at just that
epoch refuses (NOT_LEADER, FENCED_LEADER_EPOCH, UNKNOWN_LEADER_EPOCH), so every answer is that of a leader and
names its epoch. A zombie still answers, truthfully, for the epoch that it led.
"""

import socket
import struct
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType

from checkers.rows import TopicPartition
from compose.kafka.broker_api import LATEST, LIST_OFFSETS, LIST_OFFSETS_VERSION, PartitionAnswer, metadata
from compose.kafka.wire import CLIENT_ID, Reader, Writer
from workloads.errors import BrokerSilent

EARLIEST = -2
READ_UNCOMMITTED, READ_COMMITTED = 0, 1

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
    """A standing connection to one broker; any error closes it, and the next question opens a new one."""

    def __init__(self, address: Address, *, within_s: float) -> None:
        """`within_s` bounds each wait for bytes of an answer."""
        self.address, self._within_s = address, within_s
        self._socket: socket.socket | None = None
        self._asked = 0

    def ask(self, partitions: Iterable[TopicPartition]) -> Told:
        """What this broker knows of `partitions`; BrokerSilent if it tells nothing.

        Asked in this order, log_start ≤ last_stable ≤ high_watermark holds although each moves.
        """
        try:
            return self._told(set(partitions))
        except (OSError, ValueError, struct.error) as error:
            self.close()
            host, port = self.address
            raise BrokerSilent(f"broker at {host}:{port}: {type(error).__name__}: {error}") from error

    def _told(self, partitions: set[TopicPartition]) -> Told:
        topics = sorted({tp.topic for tp in partitions})
        answer = metadata(self.address, topics, within_s=self._within_s)
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
        """The offset of each partition that the broker leads at the given epoch (ListOffsets)."""
        if not epochs:
            return {}
        body = Writer().fixed("ib", -1, isolation)

        def partition(tp: TopicPartition) -> object:
            return body.fixed("iiq", tp.partition, epochs[tp], which).tags()

        def topic(name: str) -> object:
            return body.text(name).array((tp for tp in epochs if tp.topic == name), partition).tags()

        answer = self._ask(
            LIST_OFFSETS, LIST_OFFSETS_VERSION, body.array({tp.topic for tp in epochs}, topic).tags()
        )
        answer.fixed("i")
        rows = answer.array(lambda: _offsets_of_topic(answer))
        return {tp: offset for topic_rows in rows for tp, error, offset in topic_rows if error == 0}

    def _ask(self, key: int, version: int, body: Writer) -> Reader:
        if self._socket is None:
            self._socket = socket.create_connection(self.address, timeout=self._within_s)
        self._asked += 1
        header = struct.pack(">hhih", key, version, self._asked, len(CLIENT_ID)) + CLIENT_ID + b"\0"
        self._socket.sendall(struct.pack(">i", len(header) + len(body.raw)) + header + body.raw)
        (size,) = struct.unpack(">i", _exactly(self._socket, 4))
        answer = Reader(_exactly(self._socket, size))
        answered = answer.fixed("i")
        if answered != self._asked:
            raise ValueError(f"answer to request {answered}, asked was {self._asked}")
        answer.tags()
        return answer

    def close(self) -> None:
        """Hang up."""
        if self._socket is not None:
            self._socket.close()
            self._socket = None

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


def _offsets_of_topic(answer: Reader) -> Sequence[tuple[TopicPartition, int, int]]:
    name = answer.text()

    def partition() -> tuple[TopicPartition, int, int]:
        number, error = answer.fixed("i"), answer.fixed("h")
        answer.fixed("q")
        offset, _ = answer.fixed("q"), answer.fixed("i")
        answer.tags()
        return TopicPartition(name, number), error, offset

    rows = answer.array(partition)
    answer.tags()
    return rows


def _exactly(connection: socket.socket, size: int) -> bytes:
    parts = bytearray()
    while len(parts) < size:
        part = connection.recv(size - len(parts))
        if not part:
            raise ConnectionError("connection closed before the answer was whole")
        parts += part
    return bytes(parts)
