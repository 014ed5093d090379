"""Asks every broker by itself, all at once, each on a connection that stays open.

One broker alone proves nothing (a zombie reports its old leadership for half a minute), and a client asks
whichever broker it likes. So each broker gets the question itself and has a deadline for its answer; one that
is dead, paused or cut off costs the others nothing. A new connection through a proxy costs more than the
question, hence the standing ones. One that the other side has closed since the last question, as a restarted
broker or a mended edge does, is replaced by a new one within the same question. Questions that are asked at
one time go over connections of their own: a silent broker costs each asker its time, and no asker another's.
Of these only STANDING stay open, and the usual threads are there from the first question to all on,
so that neither grows with the hours.
"""

import time
from collections.abc import Callable, Collection, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from functools import cached_property
from types import TracebackType
from typing import Any, Generic, TypeVar

from compose.errors import BrokerSilent
from compose.host.threads import started_pool
from compose.kafka.wire import Connection

AT_ONCE = 50
USUAL_QUESTIONS = 3
"""So many questions to all at one time find their threads started."""
STANDING = 2
"""So many connections to one broker stay open when no question is under way."""
SILENT_S = 1.0
"""For so long after its silence a broker is not waited for by who skips the silent ones. Who asks several
times a second asks anew within that time, and so it stays skipped until it answers."""

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

    def __init__(self, bootstrap: str, *, within_s: float, skips_silent: bool = False) -> None:
        """`bootstrap`: "host:port,host:port". `within_s` bounds each broker's whole answer to a question.

        With `skips_silent` a question to all does not wait for a broker that was silent just before, while
        another one answers: for who wants to know soon, and needs not to know from all.
        """
        numbered = enumerate(addresses(bootstrap), start=1)
        self._lines = {number: _Line(address, within_s) for number, address in numbered}
        self._skips_silent = skips_silent
        self._ends = ExitStack()

    @cached_property
    def _pool(self) -> ThreadPoolExecutor:
        """For questions to all; who only asks single brokers needs none."""
        usual = min(USUAL_QUESTIONS * len(self._lines), AT_ONCE)
        return self._ends.enter_context(started_pool("brokers", usual=usual, most=AT_ONCE))

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
            raise BrokerSilent(f"{line}: {type(error).__name__}: {error}") from error

    def ask_all(self, ask: Ask[Answer], only: Collection[int] | None = None) -> Answers[Answer]:
        """The answers of all brokers, or of `only` some, asked at once."""
        asked = [number for number in self._lines if only is None or number in only]
        skipped = [each for each in asked if self._skips_silent and self._lines[each].was_silent]
        answers = self._wait_for(ask, [number for number in asked if number not in skipped])
        if not answers.given:
            rest = self._wait_for(ask, skipped)
            return Answers(given=rest.given, silent={**answers.silent, **rest.silent})
        for number in skipped:
            self._ask_aside(number, ask)
        silent = {number: f"{self._lines[number]}: it was silent a moment ago" for number in skipped}
        return Answers(given=answers.given, silent={**answers.silent, **silent})

    def _wait_for(self, ask: Ask[Answer], asked: Collection[int]) -> Answers[Answer]:
        futures = {number: self._pool.submit(self.ask, number, ask) for number in asked}
        given, silent = {}, {}
        for number, future in futures.items():
            try:
                given[number] = future.result()
            except BrokerSilent as error:
                silent[number] = str(error)
        return Answers(given=given, silent=silent)

    def _ask_aside(self, number: int, ask: Ask[Answer]) -> None:
        """Find out whether a broker is still silent, unless that is being found out; nobody waits for it."""
        line = self._lines[number]
        if line.aside is None or line.aside.done():
            line.aside = self._pool.submit(self.ask, number, ask)

    def close(self) -> None:
        """Close every connection; a question that is under way ends first."""
        self._ends.close()
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
    """The standing connections to one broker, STANDING at most.

    `aside` is the last question that nobody has waited for.
    """

    def __init__(self, address: Address, within_s: float) -> None:
        self.address, self._within_s = address, within_s
        self.aside: Future[Any] | None = None
        self._idle: list[Connection] = []
        self._answered_at = self._silent_at = float("-inf")

    def __str__(self) -> str:
        host, port = self.address
        return f"broker at {host}:{port}"

    @property
    def was_silent(self) -> bool:
        """Whether the last that was found out is that it gives no answer in time, a moment ago."""
        return self._silent_at > max(self._answered_at, time.monotonic() - SILENT_S)

    def ask(self, number: int, ask: Ask[Answer]) -> Answer:
        connection, began_at = self._connection(), time.monotonic()
        try:
            answer = self._ask(number, ask, connection)
        except TimeoutError:
            if self._answered_at < began_at:
                self._silent_at = time.monotonic()
            raise
        finally:
            self._put_back(connection)
        self._answered_at = time.monotonic()
        return answer

    def _connection(self) -> Connection:
        """One on which no question is under way."""
        with suppress(IndexError):
            return self._idle.pop()
        return Connection(self.address, within_s=self._within_s)

    def _put_back(self, connection: Connection) -> None:
        if len(self._idle) < STANDING:
            self._idle.append(connection)
        else:
            connection.close()

    def _ask(self, number: int, ask: Ask[Answer], connection: Connection) -> Answer:
        connection.begin_question()
        standing = connection.is_open
        try:
            return ask(number, connection)
        except TimeoutError:
            raise
        except OSError:
            # Every question only reads, so it can be asked again.
            if not standing:
                raise
        return ask(number, connection)

    def close(self) -> None:
        while self._idle:
            self._idle.pop().close()
