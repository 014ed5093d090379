"""The codec of Kafka's protocol, as far as broker_api.py and admin_api.py need it: requests to one broker,
answered in time.

Requests and answers are "flexible" (KIP-482): compact strings and arrays, whose length is written plus one
so that 0 is null, and tagged fields at the end of every structure.
"""

import socket
import struct
import time
from collections.abc import Callable, Iterable
from types import TracebackType
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

    def ids(self, numbers: Iterable[int]) -> "Writer":
        """An array of 32-bit numbers."""
        return self.array(numbers, lambda number: self.fixed("i", number))

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
        self.tagged()

    def tagged(self) -> dict[int, bytes]:
        """The tagged fields, by tag, each as its own bytes."""
        return {self.count(): self.take(self.count()) for _ in range(self.count())}


class Connection:
    """A connection to one broker, opened by the first request; an error closes it, and the next request opens
    a new one. Used by one thread at a time."""

    def __init__(self, address: tuple[str, int], *, within_s: float) -> None:
        """`within_s` bounds all requests of one question together, from `begin_question` on."""
        self.address, self._within_s = address, within_s
        self.offered: dict[int, tuple[int, int]] | None = None
        """The API versions that the broker offers, by key; None until it was asked on this connection."""
        self._socket: socket.socket | None = None
        self._requests = 0
        self.begin_question()

    @property
    def is_open(self) -> bool:
        """Whether there is a connection now, as far as this side knows."""
        return self._socket is not None

    def begin_question(self, within_s: float | None = None) -> None:
        """Start the time that the next requests have together, None: that of every question."""
        self._deadline = time.monotonic() + (self._within_s if within_s is None else within_s)

    def ask(
        self, key: int, version: int, body: Writer, *, flexible: bool = True, tagged_answer: bool = True
    ) -> Reader:
        """Send a request of API `key`, and return the body of its answer. Raises OSError or ValueError.

        `flexible` False is for versions from before KIP-482, whose headers have no tagged fields;
        `tagged_answer` False for ApiVersions, the headers of whose answers never have any (KIP-511).
        """
        try:
            answer = self._ask(key, version, body, flexible=flexible)
            if flexible and tagged_answer:
                answer.tags()
            return answer
        except BaseException:
            self.close()
            raise

    def _ask(self, key: int, version: int, body: Writer, *, flexible: bool) -> Reader:
        if self._socket is None:
            self._socket = socket.create_connection(self.address, timeout=self._left_s())
        self._requests += 1
        header = struct.pack(">hhih", key, version, self._requests, len(CLIENT_ID)) + CLIENT_ID
        request = header + (b"\0" if flexible else b"") + body.raw
        self._socket.settimeout(self._left_s())
        self._socket.sendall(struct.pack(">i", len(request)) + request)
        (size,) = struct.unpack(">i", self._exactly(self._socket, 4))
        if not 0 < size <= LARGEST_ANSWER:
            raise ValueError(f"{self.address[0]}:{self.address[1]} announces an answer of {size} bytes")
        answer = Reader(self._exactly(self._socket, size))
        answered = answer.fixed("i")
        if answered != self._requests:
            raise ValueError(f"answer to request {answered}, the last request is {self._requests}")
        return answer

    def _exactly(self, connection: socket.socket, size: int) -> bytes:
        parts = bytearray()
        while len(parts) < size:
            connection.settimeout(self._left_s())
            part = connection.recv(size - len(parts))
            if not part:
                raise ConnectionError("connection closed before the answer was whole")
            parts += part
        return bytes(parts)

    def _left_s(self) -> float:
        """Time left of the question; TimeoutError if there is none."""
        left_s = self._deadline - time.monotonic()
        if left_s <= 0:
            raise TimeoutError("timed out")
        return left_s

    def close(self) -> None:
        """Close the connection; the next request opens a new one."""
        if self._socket is not None:
            self._socket.close()
            self._socket = None
        self.offered = None

    def __enter__(self) -> "Connection":
        """Nothing to do yet."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close."""
        self.close()
