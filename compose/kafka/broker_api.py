"""What *one* broker says when it is asked by itself, with a deadline.

Every function raises OSError or ValueError if it does not answer in time, or not as it should.

A Kafka client asks whichever broker it likes, and so cannot tell what a certain broker knows: a zombie,
say, that takes itself for the leader. Layouts: the message definitions in Kafka's
clients/src/main/resources/common/message.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from compose.kafka.wire import Connection, Reader, Writer

METADATA, METADATA_VERSION = 3, 12
LIST_OFFSETS, LIST_OFFSETS_VERSION = 2, 7
DESCRIBE, DESCRIBE_VERSION = 75, 0
MOST_PARTITIONS = 2000
LATEST, EARLIEST = -1, -2
READ_UNCOMMITTED, READ_COMMITTED = 0, 1

Place = tuple[str, int]
"""Topic and partition."""


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


def metadata(connection: Connection, topics: Iterable[str] | None) -> MetadataAnswer:
    """Ask for `topics`, None: for all."""
    body = Writer()
    if topics is None:
        body.count(0)
    else:
        body.array(topics, lambda name: body.fixed("qq", 0, 0).text(name).tags())
    answer = connection.ask(METADATA, METADATA_VERSION, body.fixed("??", False, False).tags())
    answer.fixed("i")
    brokers = answer.array(lambda: _broker(answer))
    answer.text()
    answer.fixed("i")
    return MetadataAnswer(brokers=brokers, topics=answer.array(lambda: _metadata_topic(answer)))


def describe(connection: Connection, topic: str) -> TopicAnswer:
    """Ask for one topic with its ELR (KIP-966, Kafka 3.8 and newer)."""
    body = Writer()
    body.array([topic], lambda name: body.text(name).tags()).fixed("i", MOST_PARTITIONS).fixed("b", -1).tags()
    answer = connection.ask(DESCRIBE, DESCRIBE_VERSION, body)
    answer.fixed("i")
    (described,) = answer.array(lambda: _described_topic(answer))
    return described


def list_offsets(
    connection: Connection,
    epochs: Mapping[Place, int],
    which: int = LATEST,
    isolation: int = READ_UNCOMMITTED,
) -> dict[Place, tuple[int, int]]:
    """Ask a broker, as the leader at these epochs, for the offset `which`: (error code, offset) by partition.

    Error 0: it serves the partition as its leader at just that epoch. Metadata alone does not say so: a
    broker learns that it leads a little earlier than it acts on it.
    """
    body = Writer().fixed("ib", -1, isolation)

    def partition(place: Place) -> object:
        return body.fixed("iiq", place[1], epochs[place], which).tags()

    def topic(name: str) -> object:
        return body.text(name).array([place for place in epochs if place[0] == name], partition).tags()

    body.array(dict.fromkeys(name for name, _ in epochs), topic).tags()
    answer = connection.ask(LIST_OFFSETS, LIST_OFFSETS_VERSION, body)
    answer.fixed("i")
    return {place: told for rows in answer.array(lambda: _offsets_topic(answer)) for place, told in rows}


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


def _offsets_topic(answer: Reader) -> list[tuple[Place, tuple[int, int]]]:
    name = answer.text()

    def partition() -> tuple[Place, tuple[int, int]]:
        number, error = answer.fixed("i"), answer.fixed("h")
        answer.fixed("q")
        offset, _ = answer.fixed("q"), answer.fixed("i")
        answer.tags()
        return (name, number), (error, offset)

    rows = list(answer.array(partition))
    answer.tags()
    return rows
