"""What is to be done when: a priority queue on a clock, and looks that do not hold it up.

What changes the cluster is done on the thread that runs the agenda, in order of time, and in order of entry
at one time. What only looks at the cluster may take seconds, when a node does not answer, and so goes to
other threads; its result comes back into the queue.
"""

import heapq
import itertools
from collections.abc import Callable
from concurrent.futures import Executor, Future
from threading import Event
from typing import TypeVar

from faults.clock import Clock, ns

GLANCE_NS = ns(0.01)
"""How often it is asked whether a look is done: far below the 0.05 s that a look takes."""

Seen = TypeVar("Seen")


class Agenda:
    """Entries are calls without arguments. Everything but the looks' jobs runs in `run`."""

    def __init__(self, clock: Clock, eyes: Executor) -> None:
        self._clock, self._eyes = clock, eyes
        self._queue: list[tuple[int, int, Callable[[], None]]] = []
        self._order = itertools.count()

    def at(self, due_ns: int, call: Callable[[], None]) -> None:
        """Call at `due_ns`; a time that has passed means next."""
        heapq.heappush(self._queue, (due_ns, next(self._order), call))

    def soon(self, after_s: float, call: Callable[[], None]) -> None:
        """Call `after_s` from now."""
        self.at(self._clock.now_ns() + ns(after_s), call)

    def look(self, job: Callable[[], Seen], then: Callable[[Seen], None]) -> "Future[Seen]":
        """Run `job` on another thread, then `then` with its result here; an error of `job` is raised here."""
        future = self._eyes.submit(job)
        self._await(future, then)
        return future

    def _await(self, future: "Future[Seen]", then: Callable[[Seen], None]) -> None:
        if future.done():
            then(future.result())
        else:
            self.at(self._clock.now_ns() + GLANCE_NS, lambda: self._await(future, then))

    def run(self, stop: Event, done: Callable[[], bool]) -> None:
        """Go through the entries until `done`, until none is left, or until `stop` is set."""
        while self._queue and not done():
            if self._clock.wait(stop, self._queue[0][0]):
                return
            heapq.heappop(self._queue)[2]()

    def clear(self) -> None:
        """Forget every entry."""
        self._queue.clear()
