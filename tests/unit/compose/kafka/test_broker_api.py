"""Kafka's protocol, byte by byte, against a broker made of one socket."""

import socket
import struct
import threading
from collections.abc import Callable, Iterator

import pytest
from fakes.world.socket_broker import TAGS, broker, ids, number, offers, text

from compose.kafka.broker_api import (
    DEBUGGING,
    MetadataAnswer,
    PartitionAnswer,
    TopicAnswer,
    describe,
    gives_producer_ids,
    list_offsets,
    log_dirs,
    metadata,
    offered,
)
from compose.kafka.wire import Connection

UUID = bytes(range(16))


BROKER_2 = number("i", 2) + text("kafka-2") + number("i", 9092) + b"\0" + TAGS
# One partition: no error, number 4, leader 3 at epoch 7, replicas 3 1 2, in sync 3 1.
PARTITION = number("hiii", 0, 4, 3, 7) + ids(3, 1, 2) + ids(3, 1)


def test_metadata() -> None:
    """A broker's answer becomes the brokers that it lists as alive and its view of the topics."""
    topic = number("h", 0) + text("orders") + UUID + b"\0" + b"\2" + PARTITION + ids() + TAGS
    answer = (
        number("i", 0)
        + b"\2"
        + BROKER_2
        + text("cluster")
        + number("i", 2)
        + b"\2"
        + topic
        + number("i", 0)
        + TAGS
    )
    with broker(answer + TAGS) as (address, got), Connection(address, within_s=2) as one:
        found = metadata(one, ["orders"])
    assert found == MetadataAnswer(
        brokers=(2,),
        topics=(
            TopicAnswer(
                error=0,
                name="orders",
                internal=False,
                partitions=(
                    PartitionAnswer(
                        error=0, partition=4, leader=3, leader_epoch=7, replicas=(3, 1, 2), isr=(3, 1)
                    ),
                ),
            ),
        ),
    )
    assert got == [
        number("hhih", 3, 12, 1, 14) + b"highwater-view" + TAGS
        + b"\2" + bytes(16) + text("orders") + TAGS + b"\0\0" + TAGS
    ]  # fmt: skip


@pytest.mark.parametrize(("topics", "sent"), [(None, b"\0"), ([], b"\1")])
def test_all_or_no_topics(topics: list[str] | None, sent: bytes) -> None:
    """Null asks for every topic, an empty array for none."""
    answer = number("i", 0) + b"\1" + b"\0" + number("i", -1) + b"\1" + TAGS
    with broker(answer) as (address, got), Connection(address, within_s=2) as one:
        assert metadata(one, topics) == MetadataAnswer(brokers=(), topics=())
    assert got[0].endswith(sent + b"\0\0" + TAGS)


def test_offered_versions() -> None:
    """They are asked for once a connection, in the form that every broker understands."""
    with broker(offers(key3=12, key75=0)) as (address, got), Connection(address, within_s=2) as one:
        assert offered(one) == offered(one) == {3: (0, 12), 75: (0, 0)}
    assert got == [number("hhih", 18, 0, 1, 14) + b"highwater-view"]


def test_describe_of_an_old_broker() -> None:
    """A broker that does not offer DescribeTopicPartitions reports no ELR, and is asked for metadata."""
    topic = number("h", 0) + text("orders") + UUID + b"\0" + b"\2" + PARTITION + ids() + TAGS
    known = b"\2" + topic + number("i", 0) + TAGS
    answer = number("i", 0) + b"\2" + BROKER_2 + text("c") + number("i", 2) + known + TAGS
    with broker(offers(key3=12), answer) as (address, _), Connection(address, within_s=2) as one:
        found = describe(one, ["orders"])["orders"]
    assert [(p.partition, p.isr, p.elr) for p in found.partitions] == [(4, (3, 1), None)]


def test_describe() -> None:
    """The eligible leader replicas are read, and a null array of them is none."""
    for elr, expected in ((ids(2), (2,)), (b"\0", ())):
        partition = PARTITION + elr + b"\0" + ids() + TAGS
        topic = number("h", 0) + text("orders") + UUID + b"\1" + b"\2" + partition + number("i", 0) + TAGS
        with (
            broker(offers(key75=0), number("i", 0) + b"\2" + topic + b"\xff" + TAGS) as (address, _),
            Connection(address, within_s=2) as one,
        ):
            found = describe(one, ["orders"])["orders"]
        assert (found.internal, found.partitions[0].elr) == (True, expected)


def described(rest: bytes, **partitions: tuple[int, ...]) -> bytes:
    """An answer to DescribeTopicPartitions on partitions by topic; `rest`: from which on there are more."""

    def partition(which: int) -> bytes:
        return number("hiii", 0, which, 3, 7) + ids(3) + ids(3) + ids() + b"\0" + ids() + TAGS

    def topic(name: str) -> bytes:
        rows = bytes([len(partitions[name]) + 1]) + b"".join(map(partition, partitions[name]))
        return number("h", 0) + text(name) + UUID + b"\0" + rows + number("i", 0) + TAGS

    topics = bytes([len(partitions) + 1]) + b"".join(map(topic, partitions))
    return number("i", 0) + topics + rest + TAGS


def test_topics_are_described_in_one_question_and_the_rest_of_them_in_the_next() -> None:
    """A broker gives so many partitions in one answer, and says from which one on there are more."""
    more = b"\1" + text("b") + number("i", 1) + TAGS
    first, second = described(more, a=(0,), b=(0,)), described(b"\xff", b=(1, 2))
    with broker(offers(key75=0), first, second) as (address, got), Connection(address, within_s=2) as one:
        found = describe(one, ["a", "b"])
    assert {name: [each.partition for each in answer.partitions] for name, answer in found.items()} == {
        "a": [0],
        "b": [0, 1, 2],
    }
    asked = b"\3" + text("a") + TAGS + text("b") + TAGS + number("i", 2000)
    assert got[1].endswith(asked + b"\xff" + TAGS)
    assert got[2].endswith(asked + more + TAGS)


def test_a_topic_that_is_missing_in_an_answer_makes_it_unusable() -> None:
    """It is not reported as one without partitions."""
    answer = described(b"\xff", a=(0,))
    with (
        broker(offers(key75=0), answer) as (address, _),
        Connection(address, within_s=2) as one,
        pytest.raises(ValueError, match="no answer on b"),
    ):
        describe(one, ["a", "b"])


@pytest.mark.parametrize(("error", "given"), [(0, True), (14, False)])
def test_producer_ids(error: int, given: bool) -> None:
    """Without a transactional id, a time-out of a minute, no id yet; 14: the coordinator is still loading."""
    with (
        broker(number("ihqh", 0, error, 1000, 0) + TAGS) as (address, got),
        Connection(address, within_s=2) as one,
    ):
        assert gives_producer_ids(one) is given
    assert got[0].startswith(number("hh", 22, 4))
    assert got[0].endswith(b"\0" + number("iqh", 60_000, -1, -1) + TAGS)


def test_list_offsets() -> None:
    """The error code of each partition shows whether the broker serves it as its leader."""
    served = number("ihqqi", 4, 0, -1, 7000, 3) + TAGS
    refused = number("ihqqi", 5, 6, -1, -1, -1) + TAGS
    answer = number("i", 0) + b"\2" + text("orders") + b"\3" + served + refused + TAGS + TAGS
    with broker(answer) as (address, got), Connection(address, within_s=2) as one:
        offsets = list_offsets(one, {("orders", 4): 7, ("orders", 5): 8})
    assert offsets == {("orders", 4): (0, 7000), ("orders", 5): (6, -1)}
    assert number("iiq", 4, 7, -1) + TAGS + number("iiq", 5, 8, -1) + TAGS in got[0]


def test_list_offsets_of_a_replicas_own_log() -> None:
    """The debugging replica id, −2, is the first field of the body."""
    answer = number("i", 0) + b"\2" + text("orders") + b"\2" + number("ihqqi", 4, 0, -1, 150, 3)
    with (
        broker(answer + TAGS + TAGS + TAGS, answer + TAGS + TAGS + TAGS) as (address, got),
        Connection(address, within_s=2) as one,
    ):
        assert list_offsets(one, {("orders", 4): 7}, replica=DEBUGGING) == {("orders", 4): (0, 150)}
        list_offsets(one, {("orders", 4): 7})
    head = len(number("hhih", 2, 7, 1, 14) + b"highwater-view" + TAGS)
    assert [request[head : head + 5] for request in got] == [number("ib", -2, 0), number("ib", -1, 0)]


def log_dir(path: str, error: int = 0, topics: bytes = b"\1") -> bytes:
    return number("h", error) + text(path) + topics + TAGS


def test_log_dirs() -> None:
    """Error 56 (KAFKA_STORAGE_ERROR) is a directory that is offline. Topics are skipped: none was asked
    for."""
    topic = b"\2" + text("orders") + b"\2" + number("iqqb", 0, 9000, 0, 0) + TAGS + TAGS
    found = b"\3" + log_dir("/data/kafka", topics=topic) + log_dir("/data-2/kafka", 56)
    with (
        broker(number("ih", 0, 0) + found + TAGS) as (address, got),
        Connection(address, within_s=2) as one,
    ):
        assert log_dirs(one) == {"/data/kafka": True, "/data-2/kafka": False}
    assert got == [number("hhih", 35, 3, 1, 14) + b"highwater-view" + TAGS + b"\1" + TAGS]


@pytest.mark.parametrize(
    ("answer", "complaint"),
    [
        (number("ih", 0, 31) + b"\1" + TAGS, "DescribeLogDirs is refused with error 31"),
        (
            number("ih", 0, 0) + b"\2" + log_dir("/data/kafka", -1) + TAGS,
            "log directory /data/kafka is reported with error -1",
        ),
    ],
)
def test_log_dirs_of_which_nothing_is_known(answer: bytes, complaint: str) -> None:
    """Any other error says neither that a directory is online nor that it is offline."""
    with (
        broker(answer) as (address, _),
        Connection(address, within_s=2) as one,
        pytest.raises(ValueError, match=complaint),
    ):
        log_dirs(one)


def test_long_strings() -> None:
    """Lengths from 127 on take two bytes."""
    answer = number("i", 0) + b"\1" + b"\0" + number("i", -1) + b"\1" + TAGS
    with broker(answer) as (address, got), Connection(address, within_s=2) as one:
        metadata(one, ["x" * 249])
    assert b"\xfa\x01" + b"x" * 249 in got[0]


@pytest.mark.parametrize(
    ("answer", "error"),
    [(None, TimeoutError), (number("i", 0) + b"\5", ValueError), (b"", ValueError)],
)
def test_trouble(answer: bytes | None, error: type[Exception]) -> None:
    """No answer in time, or one that is cut short, is an error and never a guess."""
    with (
        broker(answer) as (address, _),
        Connection(address, within_s=0.3) as one,
        pytest.raises(error),
    ):
        metadata(one, ["orders"])


def test_nobody_there() -> None:
    """A refused connection is an OSError."""
    with pytest.raises(OSError, match="refused"):
        metadata(Connection(("127.0.0.1", 1), within_s=1), [])


def test_closed_before_the_answer(make_closing: Callable[[], tuple[str, int]]) -> None:
    """A connection that closes before the answer is whole is an OSError."""
    with pytest.raises(OSError, match=r"closed before the answer was whole|reset"):
        metadata(Connection(make_closing(), within_s=1), [])


@pytest.fixture
def make_closing() -> Iterator[Callable[[], tuple[str, int]]]:
    """Makes an address that accepts a connection and closes it."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def make() -> tuple[str, int]:
            threading.Thread(target=lambda: server.accept()[0].close(), daemon=True).start()
            return server.getsockname()

        yield make


def test_a_standing_connection() -> None:
    """Requests follow each other on one connection; after an error the next one opens another."""
    answer = number("i", 0) + b"\1" + b"\0" + number("i", -1) + b"\1" + TAGS
    accepted: list[list[int]] = []

    def serve(server: socket.socket) -> None:
        for answers in (2, 1):
            connection, _ = server.accept()
            accepted.append([])
            with connection:
                for _ in range(answers):
                    (size,) = struct.unpack(">i", connection.recv(4, socket.MSG_WAITALL))
                    request = connection.recv(size, socket.MSG_WAITALL)
                    (asked,) = struct.unpack(">i", request[4:8])
                    accepted[-1].append(asked)
                    body = number("i", asked) + TAGS + answer
                    connection.sendall(number("i", len(body)) + body)

    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = threading.Thread(target=serve, args=(server,), daemon=True)
        thread.start()
        with Connection(server.getsockname(), within_s=2) as one:
            metadata(one, [])
            metadata(one, [])
            with pytest.raises(OSError, match=r"closed before the answer was whole|reset|[Bb]roken pipe"):
                metadata(one, [])
            metadata(one, [])
        thread.join(5)
    assert accepted == [[1, 2], [4]]
