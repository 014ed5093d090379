"""The scripts that send requests through edges, against sockets of this machine that answer, or do worse."""

import socket
import struct
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import pytest

import compose.recipes

RECIPES = Path(str(compose.recipes.__file__)).parent
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
    argv = ["perl", str(RECIPES / script), *words]
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


def test_a_transfer_counts_the_bytes_of_all_answers(places: dict[str, str]) -> None:
    """Of places that answer every request in time; 300 of them do not fit into the buffers at once."""
    words = ("transfer.pl", "2", "from", "120000", "120000", "0", "512", *places.values())
    ((place, requests, size, seconds),) = printed(*words)
    assert (place, int(requests), int(size)) == (places["answer_all"], 300, 300 * 400)
    assert 0.0 <= float(seconds) <= 2.0


def test_a_transfer_lasts_until_the_last_answer() -> None:
    """Each answer comes a twentieth of a second after its request; the pauses between are not counted."""

    def answer_slowly(connection: socket.socket) -> None:
        wait = threading.Event()
        with connection:
            while connection.recv(64):
                wait.wait(0.05)
                connection.sendall(ANSWER)

    with listening(answer_slowly) as place:
        ((_, requests, _, seconds),) = printed("transfer.pl", "5", "to", "640", "64", "0.2", "64", place)
        assert printed("transfer.pl", "0.2", "to", "640", "64", "0.2", "64", place) == []
    assert requests == "10"
    assert 0.48 <= float(seconds) <= 1.8


@pytest.mark.parametrize(
    ("direction", "size", "at_once", "bursts"),
    [
        ("from", 3900, 1300, [1, 3, 3, 3]),
        ("from", 4000, 399, [1] * 10),
        ("from", 4000, 4000, [1, 9]),
        ("to", 641, 640, [1, 10]),
        ("to", 1, 1, [1]),
    ],
)
def test_so_many_requests_are_sent_at_a_time(
    direction: str, size: int, at_once: int, bursts: list[int]
) -> None:
    """The first alone, and the next ones when all are answered, each with 400 bytes."""
    seen: list[int] = []

    def answer_bursts(connection: socket.socket) -> None:
        with connection:
            connection.settimeout(0.1)
            received = connection.recv(65536)
            while received:
                with suppress(TimeoutError):
                    while part := connection.recv(65536):
                        received += part
                    return
                seen.append(len(received) // 64)
                connection.sendall(ANSWER * seen[-1])
                connection.settimeout(2)
                received = connection.recv(65536)
                connection.settimeout(0.1)

    with listening(answer_bursts) as place:
        ((_, requests, answered, _),) = printed(
            "transfer.pl", "5", direction, str(size), str(at_once), "0", "64", place
        )
    assert seen == bursts
    assert (int(requests), int(answered)) == (sum(bursts), 400 * sum(bursts))
