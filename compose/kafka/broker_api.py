"""What *one* broker says when it is asked by itself, with a deadline.

A Kafka client asks whichever broker it likes, and so cannot tell what a certain broker knows: a zombie,
say, that takes itself for the leader. Layouts: the message definitions in Kafka's
clients/src/main/resources/common/message.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

from compose.kafka.wire import Reader, Writer, ask

METADATA, METADATA_VERSION = 3, 12
LIST_OFFSETS, LIST_OFFSETS_VERSION = 2, 7
DESCRIBE, DESCRIBE_VERSION = 75, 0
MOST_PARTITIONS = 2000
LATEST = -1


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
    answer = ask(address, METADATA, METADATA_VERSION, body.fixed("??", False, False).tags(), within_s)
    answer.fixed("i")
    brokers = answer.array(lambda: _broker(answer))
    answer.text()
    answer.fixed("i")
    return MetadataAnswer(brokers=brokers, topics=answer.array(lambda: _metadata_topic(answer)))


def describe(address: tuple[str, int], topic: str, *, within_s: float) -> TopicAnswer:
    """Ask for one topic with its ELR (KIP-966, Kafka 3.8 and newer). Raises OSError or ValueError."""
    body = Writer()
    body.array([topic], lambda name: body.text(name).tags()).fixed("i", MOST_PARTITIONS).fixed("b", -1).tags()
    answer = ask(address, DESCRIBE, DESCRIBE_VERSION, body, within_s)
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
    answer = ask(address, LIST_OFFSETS, LIST_OFFSETS_VERSION, body, within_s)
    answer.fixed("i")
    return dict(pair for pairs in answer.array(lambda: _offsets_topic(answer)) for pair in pairs)


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
