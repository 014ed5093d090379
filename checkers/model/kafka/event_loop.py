"""Virtual time: what happens next, and when. Equal times happen in the order in which they were asked for."""

from collections.abc import Callable
from heapq import heappop, heappush
from typing import Any

Callback = Callable[..., None]


class EventLoop:
    """A queue of callbacks; `now_s` is the time of the one that runs."""

    __slots__ = ("_count", "_queue", "now_s")

    def __init__(self, start_s: float) -> None:
        self.now_s = start_s
        self._queue: list[tuple[float, int, Callback, tuple[Any, ...]]] = []
        self._count = 0

    def at(self, at_s: float, callback: Callback, *arguments: Any) -> None:  # noqa: ANN401 - the callback's
        """Call back at a time, not before now."""
        self._count += 1
        heappush(self._queue, (at_s if at_s > self.now_s else self.now_s, self._count, callback, arguments))

    def after(self, delay_s: float, callback: Callback, *arguments: Any) -> None:  # noqa: ANN401
        """Call back once `delay_s` have passed."""
        self._count += 1
        heappush(self._queue, (self.now_s + delay_s, self._count, callback, arguments))

    def run(self, until_s: float) -> None:
        """Run callbacks until the next one is later than `until_s`, or there is none."""
        queue = self._queue
        while queue and queue[0][0] <= until_s:
            self.now_s, _, callback, arguments = heappop(queue)
            callback(*arguments)

    def run_until(self, done: Callable[[], bool], latest_s: float) -> None:
        """Run callbacks until `done`, but none that is later than `latest_s`."""
        queue = self._queue
        while queue and queue[0][0] <= latest_s and not done():
            self.now_s, _, callback, arguments = heappop(queue)
            callback(*arguments)
