"""The scripts that send requests through edges, against sockets of this machine that answer, or do worse."""

import re
import socket
import struct
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import pytest

import compose.recipes.programs

PROGRAMS = Path(str(compose.recipes.programs.__file__)).parent
LINGER_0 = struct.pack("ii", 1, 0)
ANSWER = struct.pack(">i", 396) + b"a" * 396

Serve = Callable[[socket.socket], None]


@contextmanager
def listening(serve: Serve) -> Iterator[str]:
    """A listener whose connections are served by a thread each, as address:port."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def accept() -> None:
            while True:
                try:
                    connection, _ = listener.accept()
                except OSError:
                    return
                threading.Thread(target=serve_one, args=(connection,), daemon=True).start()

        def serve_one(connection: socket.socket) -> None:
            with suppress(ConnectionError):  # the script has what it wants, or no more time
                serve(connection)

        threading.Thread(target=accept, daemon=True).start()
        yield f"127.0.0.1:{listener.getsockname()[1]}"
        listener.shutdown(socket.SHUT_RDWR)


def answer_all(connection: socket.socket) -> None:
    """400 bytes to each request."""
    with connection:
        received = b""
        while part := connection.recv(65536):
            received += part
            while len(received) >= 4 and len(received) >= (size := 4 + struct.unpack_from(">i", received)[0]):
                received = received[size:]
                connection.sendall(ANSWER)


def say_nothing(connection: socket.socket) -> None:
    """As a black hole."""
    with connection:
        while connection.recv(65536):
            pass


def reset(connection: socket.socket) -> None:
    """At the first byte."""
    connection.recv(1)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, LINGER_0)
    connection.close()


def close(connection: socket.socket) -> None:
    """After the request."""
    connection.recv(65536)
    connection.close()


def keep_answers(target: str) -> Serve:
    """Passes requests on to the target and its answers to nobody."""
    host, _, port = target.partition(":")

    def serve(connection: socket.socket) -> None:
        with connection, socket.create_connection((host, int(port))) as onward:
            while part := connection.recv(65536):
                onward.sendall(part)
                onward.recv(65536)

    return serve


def printed(script: str, *words: str) -> list[list[str]]:
    """The words of each line that a script prints."""
    argv = ["perl", str(PROGRAMS / script), *words]
    done = subprocess.run(argv, capture_output=True, text=True, check=True, timeout=30)
    return [line.split() for line in done.stdout.splitlines()]


@pytest.fixture
def places() -> Iterator[dict[str, str]]:
    """By what it does: a place to send a request to."""
    with ExitStack() as stack:
        found = {
            serve.__name__: stack.enter_context(listening(serve))
            for serve in (answer_all, say_nothing, reset, close)
        }
        found["keep_answers"] = stack.enter_context(listening(keep_answers(found["answer_all"])))
        with socket.create_server(("127.0.0.1", 0)) as gone:
            found["refuse"] = f"127.0.0.1:{gone.getsockname()[1]}"
        yield found


def test_how_far_a_request_comes(places: dict[str, str]) -> None:
    """All are asked at once, and each is told from the others."""
    lines = printed("reached.pl", "1", *places.values())
    names = {place: name for name, place in places.items()}
    assert {names[place]: word for place, word in lines} == {
        "answer_all": "source",
        "say_nothing": "proxy",
        "reset": "reset",
        "close": "closed",
        "keep_answers": "target",
        "refuse": "refused",
    }


class Node:
    """Answers what a Kafka node would, of those APIs that it has by key, and keeps what it was asked."""

    def __init__(self, apis: Mapping[int, tuple[int, int]], *, last_byte_after_s: float = 0.0) -> None:
        self.asked: list[tuple[int, int, list[str]]] = []
        self._apis, self._last_byte_after_s = apis, last_byte_after_s

    def __call__(self, connection: socket.socket) -> None:
        with connection, connection.makefile("rb") as stream:
            while size := stream.read(4):
                request = stream.read(*struct.unpack(">i", size))
                key, version, correlation, client = struct.unpack_from(">hhih", request)
                assert (correlation, client) == (1, -1)
                answer, names = self._answer(key, request[10:])
                self.asked.append((key, version, names))
                answer = struct.pack(">ii", 4 + len(answer), correlation) + answer
                connection.sendall(answer[:-1])
                time.sleep(self._last_byte_after_s if names else 0.0)
                connection.sendall(answer[-1:])

    def _answer(self, key: int, body: bytes) -> tuple[bytes, list[str]]:
        if key == API_VERSIONS:
            listed = [struct.pack(">hhh", each, *span) for each, span in self._apis.items()]
            return struct.pack(">hi", 0, len(listed)) + b"".join(listed), []
        return body, metadata_names(body) if key == METADATA else quorum_names(body)


def metadata_names(body: bytes) -> list[str]:
    """Of MetadataRequest v4, which must not create any."""
    (count,), at, names = struct.unpack_from(">i", body), 4, []
    for _ in range(count):
        (length,) = struct.unpack_from(">h", body, at)
        names.append(body[at + 2 : at + 2 + length].decode())
        at += 2 + length
    assert body[at:] == b"\0", "no topic is created"
    return names


def quorum_names(body: bytes) -> list[str]:
    """Of DescribeQuorumRequest v0, each with partition 0; after the tags of its header."""
    count, at, names = *uvarint(body, 1), []
    assert body[0] == 0
    for _ in range(count - 1):
        length, at = uvarint(body, at)
        names.append(body[at : at + length - 1].decode())
        at += length - 1
        assert body[at : at + 7] == b"\2" + bytes(6), "one partition, 0, and no tags"
        at += 7
    assert body[at:] == b"\0"
    return names


def uvarint(body: bytes, at: int) -> tuple[int, int]:
    """The number that begins there, and where it ends."""
    value = shift = 0
    while True:
        value |= (body[at] & 127) << shift
        shift += 7
        at += 1
        if body[at - 1] < 128:
            return value, at


METADATA, API_VERSIONS, DESCRIBE_QUORUM = 3, 18, 55
BROKER = {API_VERSIONS: (0, 4), METADATA: (0, 13), DESCRIBE_QUORUM: (0, 2)}
CONTROLLER = {API_VERSIONS: (0, 4), DESCRIBE_QUORUM: (0, 2)}


@pytest.mark.parametrize(
    ("apis", "key", "version"), [(BROKER, METADATA, 4), (CONTROLLER, DESCRIBE_QUORUM, 0)]
)
@pytest.mark.parametrize(("size", "names"), [(1, 1), (2_000, 9), (100_000, 402)])
def test_a_transfer_asks_a_node_what_it_can_answer(
    apis: Mapping[int, tuple[int, int]], key: int, version: int, size: int, names: int
) -> None:
    """About topics that cannot exist, as many as have so many bytes; in requests that say nothing else."""
    node = Node(apis)
    with listening(node) as place:
        ((_, request_bytes, answer_bytes, small_s, large_s),) = printed("transfer.pl", "5", str(size), place)
    assert [(asked, its_version, len(its)) for asked, its_version, its in node.asked] == [
        (API_VERSIONS, 0, 0),
        (key, version, names),
    ]
    asked_about = node.asked[1][2]
    assert len(set(asked_about)) == names
    assert all(re.fullmatch(r"~\d+~x+", name) and len(name) == 249 for name in asked_about)
    assert size <= int(answer_bytes) < int(request_bytes) <= size + 16 + 520 + names * 9
    assert 0.0 <= float(small_s) <= 5.0
    assert 0.0 <= float(large_s) <= 5.0


def test_of_a_transfer_each_request_is_timed_to_the_last_byte_of_its_answer() -> None:
    """Which is late here for the large one."""
    node = Node(BROKER, last_byte_after_s=0.6)
    with listening(node) as place:
        ((_, _, _, small_s, large_s),) = printed("transfer.pl", "5", "20000", place)
        assert printed("transfer.pl", "0.3", "20000", place) == [], "that was too late"
    assert float(small_s) < 0.5
    assert 0.59 <= float(large_s) <= 3.0


def test_of_a_transfer_only_places_that_answer_are_told(places: dict[str, str]) -> None:
    """Not those that answer with an error, or that serve neither API."""
    alone, neither = Node(CONTROLLER), Node({API_VERSIONS: (0, 4), METADATA: (5, 13)})
    with listening(alone) as answers, listening(neither) as other:
        lines = printed("transfer.pl", "1", "2000", *places.values(), other, answers)
    assert [place for place, *_ in lines] == [answers]
    assert [key for key, *_ in neither.asked] == [API_VERSIONS]
