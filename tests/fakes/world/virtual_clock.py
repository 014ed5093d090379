"""A clock for schedules that jumps instead of waiting."""

import heapq
import itertools
from collections.abc import Callable
from threading import Event


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
