"""The clock that a schedule runs on: the machine's monotonic one, or a virtual one for tests.

All times are nanoseconds of one monotonic clock, the one of the history.
"""

import heapq
import itertools
import time
from collections.abc import Callable
from threading import Event
from typing import Protocol

SECOND_NS = 1_000_000_000


def ns(seconds: float) -> int:
    """Seconds as whole nanoseconds."""
    return round(seconds * SECOND_NS)


class Clock(Protocol):
    """Reads the time and waits."""

    def now_ns(self) -> int:
        """Nanoseconds since an arbitrary start; never falls."""

    def sleep_until(self, at_ns: int) -> None:
        """Return at `at_ns` or later; at once if it has passed."""

    def wait(self, stop: Event, until_ns: int) -> bool:
        """Return at `until_ns`, or earlier if `stop` is set; whether `stop` is set."""


class SystemClock:
    """`time.monotonic_ns()`."""

    def now_ns(self) -> int:
        """Nanoseconds of the machine's monotonic clock."""
        return time.monotonic_ns()

    def sleep_until(self, at_ns: int) -> None:
        """Sleep; a time that has passed returns at once."""
        time.sleep(max(0, at_ns - self.now_ns()) / SECOND_NS)

    def wait(self, stop: Event, until_ns: int) -> bool:
        """Sleep, but wake up when another thread sets `stop`."""
        return stop.wait(max(0, until_ns - self.now_ns()) / SECOND_NS)


class VirtualClock:
    """A clock that jumps to the time that is waited for, so a ten-minute schedule takes milliseconds.

    `call_at` lets a test make something happen in between: the callbacks run in order of time, on the thread
    that waits, with the clock standing at their time.
    """

    def __init__(self, start_ns: int = 0) -> None:
        self._now_ns = start_ns
        self._calls: list[tuple[int, int, Callable[[], None]]] = []
        self._order = itertools.count()

    def now_ns(self) -> int:
        """Where the clock stands."""
        return self._now_ns

    def call_at(self, at_ns: int, call: Callable[[], None]) -> None:
        """Run `call` when the clock passes `at_ns`."""
        heapq.heappush(self._calls, (at_ns, next(self._order), call))

    def advance(self, by_ns: int) -> None:
        """Let time pass: what a fake does that takes a while."""
        self.sleep_until(self._now_ns + by_ns)

    def sleep_until(self, at_ns: int) -> None:
        """Jump to `at_ns`, running what is due on the way."""
        while self._calls and self._calls[0][0] <= at_ns:
            due_ns, _, call = heapq.heappop(self._calls)
            self._now_ns = max(self._now_ns, due_ns)
            call()
        self._now_ns = max(self._now_ns, at_ns)

    def wait(self, stop: Event, until_ns: int) -> bool:
        """Jump to `until_ns`, or stay where a callback on the way has set `stop`."""
        while not stop.is_set() and self._calls and self._calls[0][0] <= until_ns:
            self.sleep_until(self._calls[0][0])
        if not stop.is_set():
            self._now_ns = max(self._now_ns, until_ns)
        return stop.is_set()
