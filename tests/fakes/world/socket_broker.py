"""A broker made of one socket, which answers byte by byte as a test says; and the bytes of Kafka's types."""

import socket
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager


def number(layout: str, *values: int) -> bytes:
    """Big-endian numbers."""
    return struct.pack(f">{layout}", *values)


def text(value: str) -> bytes:
    """A short compact string."""
    return bytes([len(value) + 1]) + value.encode()


def ids(*values: int) -> bytes:
    """A compact array of node ids."""
    return bytes([len(values) + 1]) + number(f"{len(values)}i", *values)


TAGS = b"\0"


def offers(**newest: int) -> bytes:
    """An answer to ApiVersions v0: the newest version by API key, as `key3=12`."""
    rows = [number("hhh", int(key.removeprefix("key")), 0, version) for key, version in newest.items()]
    return number("hi", 0, len(rows)) + b"".join(rows)


def requests(connection: socket.socket) -> Iterator[bytes]:
    """The requests on a connection, each whole and without its length, until the other side closes it."""
    while head := connection.recv(4, socket.MSG_WAITALL):
        (size,) = struct.unpack(">i", head)
        yield connection.recv(size, socket.MSG_WAITALL)


@contextmanager
def paused_broker() -> Iterator[tuple[tuple[str, int], Callable[[], list[bytes]]]]:
    """A broker whose process is frozen: its kernel takes connections and requests, and nobody answers.

    Yields its address, and what it finds when it goes on: all requests on the connections that were closed.
    """
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.setblocking(False)

        def go_on() -> list[bytes]:
            found: list[bytes] = []
            while True:
                try:
                    connection, _ = server.accept()
                except BlockingIOError:
                    return found
                connection.settimeout(5)
                with connection:
                    found += requests(connection)

        yield server.getsockname(), go_on


@contextmanager
def broker(*answers: bytes | None) -> Iterator[tuple[tuple[str, int], list[bytes]]]:
    """Yields an address that answers with `answers` in turn (None: never), and the requests that it got."""
    got: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            connection, _ = server.accept()
            with connection:
                for asked, answer in enumerate(answers, start=1):
                    (size,) = struct.unpack(">i", connection.recv(4, socket.MSG_WAITALL))
                    got.append(connection.recv(size, socket.MSG_WAITALL))
                    if answer is None:
                        connection.recv(1)
                        return
                    untagged = got[-1][:2] == number("h", 18)  # the head of an answer to ApiVersions
                    body = number("i", asked) + (b"" if untagged else TAGS) + answer
                    connection.sendall(number("i", len(body)) + body)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield server.getsockname(), got
        thread.join(5)
