"""Requests to *one* broker, and its answers as plain data.

A Kafka client asks whichever broker it likes, and so cannot report what a certain broker knows, such as a
zombie that takes itself for the leader. Layouts: the message definitions in Kafka's
clients/src/main/resources/common/message.

Every function raises OSError or ValueError if the broker does not answer in time, or not as it should.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace

from compose.kafka.wire import Connection, Reader, Writer

METADATA, METADATA_VERSION = 3, 12
LIST_OFFSETS, LIST_OFFSETS_VERSION = 2, 7
API_VERSIONS = 18
INIT_PRODUCER_ID, INIT_PRODUCER_ID_VERSION = 22, 4
LOG_DIRS, LOG_DIRS_VERSION = 35, 3
KAFKA_STORAGE_ERROR = 56
DESCRIBE, DESCRIBE_VERSION = 75, 0
TRANSACTION_MS = 60_000
"""Time-out of a transaction, which nobody begins."""

MOST_PARTITIONS = 2000
"""In one answer; a broker gives no more by default (max.request.partition.size.limit)."""
NULL, NOT_NULL = -1, 1
LATEST, EARLIEST = -1, -2
READ_UNCOMMITTED, READ_COMMITTED = 0, 1
CONSUMER, DEBUGGING = -1, -2
"""Replica ids of ListOffsets (ListOffsetsRequest.java): who asks decides what LATEST means.

A consumer gets the high watermark, or the last stable offset, of the leader only. The debugging id gets the
log end of the broker that is asked, and its own log start; followers answer too, at the epoch they follow."""

Place = tuple[str, int]
"""Topic and partition."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionAnswer:
    """One broker's answer on one partition; `error` is Kafka's code, 0 for none; `elr` None: not reported."""

    error: int
    partition: int
    leader: int
    leader_epoch: int
    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    elr: tuple[int, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicAnswer:
    """One broker's answer on one topic."""

    error: int
    name: str
    internal: bool
    partitions: tuple[PartitionAnswer, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class MetadataAnswer:
    """One broker's answer on the cluster: the brokers that are not fenced, and the topics asked for."""

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
    return MetadataAnswer(brokers=brokers, topics=answer.array(lambda: _topic(answer, with_elr=False)))


def offered(connection: Connection) -> dict[int, tuple[int, int]]:
    """The API versions that the broker offers: (oldest, newest) by key; asked once a connection."""
    if connection.offered is None:
        # Version 0: a broker answers newer ones only if it knows them.
        answer = connection.ask(API_VERSIONS, 0, Writer(), flexible=False)
        error, count = answer.fixed("h"), answer.fixed("i")
        if error:
            raise ValueError(f"ApiVersions is refused with error {error}")
        rows = [[answer.fixed("h") for _ in range(3)] for _ in range(count)]
        connection.offered = {key: (oldest, newest) for key, oldest, newest in rows}
    return connection.offered


def gives_producer_ids(connection: Connection) -> bool:
    """Take a producer id, as an idempotent producer does first; False if the broker has none to give.

    A broker asks the controller for its first block of ids when a client first asks it for one, and refuses
    that client (RPCProducerIdManager.java); a client of librdkafka asks again after half a second.
    """
    body = Writer().count(0).fixed("iqh", TRANSACTION_MS, -1, -1).tags()
    answer = connection.ask(INIT_PRODUCER_ID, INIT_PRODUCER_ID_VERSION, body)
    answer.fixed("i")
    return answer.fixed("h") == 0


def describe(connection: Connection, topics: Collection[str]) -> dict[str, TopicAnswer]:
    """Ask for topics, by name, with their ELR if the broker offers that (KIP-966, Kafka 3.8 and newer)."""
    if DESCRIBE in offered(connection):
        answers = _described(connection, topics)
    else:
        answers = metadata(connection, topics).topics
    found: dict[str, TopicAnswer] = {}
    for answer in answers:
        known = found.get(answer.name, answer)
        more = () if known is answer else answer.partitions
        found[answer.name] = replace(known, partitions=known.partitions + more)
    if missing := set(topics) - found.keys():
        raise ValueError(f"no answer on {', '.join(sorted(missing))}")
    return found


def _described(connection: Connection, topics: Collection[str]) -> tuple[TopicAnswer, ...]:
    """DescribeTopicPartitions, asked again while there are more partitions: a topic whose partitions are in
    several answers is there several times."""
    found, rest = _described_from(connection, topics, None)
    while rest is not None:
        more, rest = _described_from(connection, topics, rest)
        found += more
    return found


def _described_from(
    connection: Connection, topics: Collection[str], first: Place | None
) -> tuple[tuple[TopicAnswer, ...], Place | None]:
    """One answer, from a partition on or from the first; and the partition from which on there are more."""
    body = Writer()
    body.array(topics, lambda name: body.text(name).tags()).fixed("i", MOST_PARTITIONS)
    if first is None:
        body.fixed("b", NULL)
    else:
        body.fixed("b", NOT_NULL).text(first[0]).fixed("i", first[1]).tags()
    answer = connection.ask(DESCRIBE, DESCRIBE_VERSION, body.tags())
    answer.fixed("i")
    found = answer.array(lambda: _topic(answer, with_elr=True))
    return found, None if answer.fixed("b") == NULL else (answer.text(), answer.fixed("i"))


def log_dirs(connection: Connection) -> dict[str, bool]:
    """Ask a broker for its log directories, by path: whether each is online (DescribeLogDirs, KIP-113).

    ValueError for any error but that a directory is offline.
    """
    no_topics = Writer().count(1)
    answer = connection.ask(LOG_DIRS, LOG_DIRS_VERSION, no_topics.tags())
    answer.fixed("i")
    if error := answer.fixed("h"):
        raise ValueError(f"DescribeLogDirs is refused with error {error}")
    return dict(answer.array(lambda: _log_dir(answer)))


def list_offsets(
    connection: Connection,
    epochs: Mapping[Place, int],
    which: int = LATEST,
    isolation: int = READ_UNCOMMITTED,
    replica: int = CONSUMER,
) -> dict[Place, tuple[int, int]]:
    """Ask a broker, as the leader at these epochs, for the offset `which`: (error code, offset) by partition.

    Error 0: it serves the partition as its leader at just that epoch. Metadata alone is no proof: a
    broker learns that it leads a little earlier than it acts on it. With `replica` DEBUGGING error 0 says
    only that it has a replica at that epoch, and the offset is of its own log.
    """
    body = Writer().fixed("ib", replica, isolation)

    def partition(place: Place) -> object:
        return body.fixed("iiq", place[1], epochs[place], which).tags()

    def topic(name: str) -> object:
        return body.text(name).array([place for place in epochs if place[0] == name], partition).tags()

    body.array(dict.fromkeys(name for name, _ in epochs), topic).tags()
    answer = connection.ask(LIST_OFFSETS, LIST_OFFSETS_VERSION, body)
    answer.fixed("i")
    return dict(row for rows in answer.array(lambda: _offsets_topic(answer)) for row in rows)


def _broker(answer: Reader) -> int:
    node = answer.fixed("i")
    answer.text()
    answer.fixed("i")
    answer.text()
    answer.tags()
    return node


def _topic(answer: Reader, *, with_elr: bool) -> TopicAnswer:
    """One topic of Metadata, or of DescribeTopicPartitions, which differs in its partitions' ELR only."""
    error, name = answer.fixed("h"), answer.text()
    answer.take(16)
    internal = bool(answer.fixed("?"))
    partitions = answer.array(lambda: _partition(answer, with_elr=with_elr))
    answer.fixed("i")
    answer.tags()
    return TopicAnswer(error=error, name=name, internal=internal, partitions=partitions)


def _partition(answer: Reader, *, with_elr: bool) -> PartitionAnswer:
    error, partition, leader, epoch = (answer.fixed(size) for size in "hiii")
    replicas, isr = answer.ids(), answer.ids()
    elr: tuple[int, ...] | None = None
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


def _log_dir(answer: Reader) -> tuple[str, bool]:
    error, path = answer.fixed("h"), answer.text()
    answer.array(lambda: _log_dir_topic(answer))
    answer.tags()
    if error not in (0, KAFKA_STORAGE_ERROR):
        raise ValueError(f"log directory {path} is reported with error {error}")
    return path, not error


def _log_dir_topic(answer: Reader) -> None:
    """A topic that was not asked for has no partitions in the answer; some releases name it all the same."""

    def partition() -> None:
        answer.take(4 + 8 + 8 + 1)
        answer.tags()

    answer.text()
    answer.array(partition)
    answer.tags()


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
