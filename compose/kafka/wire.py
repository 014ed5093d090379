"""The codec of Kafka's protocol, as far as broker_api.py needs it: one request to one broker, in time.

Requests and answers are "flexible" (KIP-482): compact strings and arrays, whose length is written plus one
so that 0 is null, and tagged fields at the end of every structure.
"""

import socket
import struct
from collections.abc import Callable, Iterable
from typing import TypeVar

CLIENT_ID = b"highwater-view"
LARGEST_ANSWER = 64 * 1024 * 1024

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


def ask(address: tuple[str, int], key: int, version: int, body: Writer, within_s: float) -> Reader:
    """Send a request of API `key`, and return the body of its answer. Raises OSError or ValueError."""
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
