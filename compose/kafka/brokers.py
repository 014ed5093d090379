"""Asks every broker by itself, all at once, each on a connection that stays open.

One broker alone proves nothing (a zombie reports its old leadership for half a minute), and a client asks
whichever broker it likes. So each broker gets the question itself and has a deadline for its answer; one that
is dead, paused or cut off costs the others nothing. A new connection through a proxy costs more than the
question, hence the standing ones. One that the other side has closed since the last question, as a restarted
broker or a mended edge does, is replaced by a new one within the same question.
"""

import threading
from collections.abc import Callable, Collection, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from types import TracebackType
from typing import Generic, TypeVar

from compose.errors import BrokerSilent
from compose.kafka.wire import Connection

AT_ONCE = 50

Address = tuple[str, int]
Answer = TypeVar("Answer")
Ask = Callable[[int, Connection], Answer]
"""A question: from a broker's number and connection to its answer. Raises OSError or ValueError."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answers(Generic[Answer]):
    """What the brokers answered in time, by number; `silent`: those without a usable answer, and why."""

    given: Mapping[int, Answer]
    silent: Mapping[int, str]


class Brokers:
    """The brokers of one cluster, numbered 1, 2, … in the order of `bootstrap`. Safe to use from threads."""

    def __init__(self, bootstrap: str, *, within_s: float) -> None:
        """`bootstrap`: "host:port,host:port". `within_s` bounds each broker's whole answer to a question."""
        numbered = enumerate(addresses(bootstrap), start=1)
        self._lines = {number: _Line(address, within_s) for number, address in numbered}
        self._pool = ThreadPoolExecutor(min(AT_ONCE, len(self._lines)), "brokers")

    @property
    def numbers(self) -> tuple[int, ...]:
        """All brokers."""
        return tuple(self._lines)

    def ask(self, number: int, ask: Ask[Answer]) -> Answer:
        """The answer of one broker; BrokerSilent with the reason if it gives none in time."""
        line = self._lines[number]
        try:
            return line.ask(number, ask)
        except (OSError, ValueError) as error:
            host, port = line.address
            raise BrokerSilent(f"broker at {host}:{port}: {type(error).__name__}: {error}") from error

    def ask_all(self, ask: Ask[Answer], only: Collection[int] | None = None) -> Answers[Answer]:
        """The answers of all brokers, or of `only` some, asked at once."""
        asked = [number for number in self._lines if only is None or number in only]
        futures = {number: self._pool.submit(self.ask, number, ask) for number in asked}
        given, silent = {}, {}
        for number, future in futures.items():
            try:
                given[number] = future.result()
            except BrokerSilent as error:
                silent[number] = str(error)
        return Answers(given=given, silent=silent)

    def close(self) -> None:
        """Close every connection; a question that is under way ends first."""
        self._pool.shutdown()
        for line in self._lines.values():
            line.close()

    def __enter__(self) -> "Brokers":
        """Connections open with the first question."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close."""
        self.close()


def addresses(bootstrap: str) -> tuple[Address, ...]:
    """The brokers of a "host:port,host:port" list."""
    pairs = (item.strip().rpartition(":") for item in bootstrap.split(","))
    return tuple((host, int(port)) for host, _, port in pairs)


class _Line:
    """The standing connection to one broker; one question at a time."""

    def __init__(self, address: Address, within_s: float) -> None:
        self.address = address
        self._connection = Connection(address, within_s=within_s)
        self._lock = threading.Lock()

    def ask(self, number: int, ask: Ask[Answer]) -> Answer:
        with self._lock:
            self._connection.begin_question()
            standing = self._connection.is_open
            try:
                return ask(number, self._connection)
            except TimeoutError:
                raise
            except OSError:
                # Every question only reads, so it can be asked again.
                if not standing:
                    raise
            return ask(number, self._connection)

    def close(self) -> None:
        with self._lock:
            self._connection.close()
