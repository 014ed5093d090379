"""Runs tasks on one thread, in order of time; their background jobs run on other threads.

What happens on the loop's thread happens in order of time, and in order of entry at one time. All that asks
or changes the cluster may take a while, on a busy machine seconds, and is a background job.
"""

import heapq
import itertools
from collections.abc import Callable
from concurrent.futures import Executor, Future
from dataclasses import dataclass
from threading import Event
from typing import Any

from faults.clock import Clock, ns
from faults.tasks import Pending, Signal, Sleep, Start, Submit, Task

POLL_NS = ns(0.01)
"""How often a background job is polled: far below the 0.05 s that a probe takes."""


@dataclass(slots=True, eq=False)
class Running:
    """A task that was started, and what it waits for."""

    task: Task[None]
    wait: Sleep | Pending | Signal[Any] | None = None
    has_ended: bool = False
    is_abandoned: bool = False


class EventLoop:
    """Tasks on a clock. What a task raises is raised by what resumed it: `start`, `run` or `finish`."""

    def __init__(self, clock: Clock, threads: Executor) -> None:
        self._clock, self._threads = clock, threads
        self._queue: list[tuple[int, int, Callable[[], None]]] = []
        self._order = itertools.count()
        self._running: set[Running] = set()

    def start(self, task: Task[None]) -> Running:
        """Run `task` to its first wait; `run` resumes it."""
        running = Running(task=task)
        self._running.add(running)
        self._resume(running)
        return running

    def run(self, stop: Event, done: Callable[[], bool]) -> None:
        """Resume tasks until `done`, until none waits for a time, or until `stop` is set."""
        while self._queue and not done():
            if self._clock.wait(stop, self._queue[0][0]):
                return
            heapq.heappop(self._queue)[2]()

    def abandon(self) -> None:
        """Resume none of the tasks any more. Their background jobs go on to their end."""
        for running in self._running:
            running.is_abandoned = True
        self._running.clear()
        self._queue.clear()

    def finish(self, running: Running, until: Callable[[], bool]) -> None:
        """Resume one abandoned task alone, waiting here for what it waits for, until `until` or its end."""
        while not running.has_ended and not until():
            self._block(running)
            self._advance(running)

    def run_alone(self, task: Task[None]) -> None:
        """Run `task` to its end here and now, and no other task meanwhile."""
        running = Running(task=task, is_abandoned=True)
        self._advance(running)
        self.finish(running, until=lambda: False)

    def _resume(self, running: Running) -> None:
        if not running.is_abandoned:
            self._advance(running)
            self._schedule(running)
        if running.has_ended:
            self._running.discard(running)

    def _advance(self, running: Running) -> None:
        """Run the task to its next wait, or to its end."""
        running.wait = None
        try:
            wait = next(running.task)
            while isinstance(wait, Submit | Start):
                wait = running.task.send(self._begin(wait, running))
            running.wait = wait
        except StopIteration:
            running.has_ended = True
        except BaseException:
            running.has_ended = True
            raise

    def _begin(self, what: Submit | Start, running: Running) -> "Future[Any] | None":
        """A job on another thread; or a task on this loop, unless nothing more is begun."""
        if isinstance(what, Submit):
            return self._threads.submit(what.job)
        if not running.is_abandoned:
            self.start(what.task)
        return None

    def _schedule(self, running: Running) -> None:
        """Put into the queue when the task is resumed, or have its signal do so."""
        match running.wait:
            case Sleep(until_ns=until_ns):
                self._at(until_ns, lambda: self._resume(running))
            case Signal() as signal:
                signal.when_settled(lambda: self._at(self._clock.now_ns(), lambda: self._resume(running)))
            case Pending() as pending:
                self._poll(running, pending)

    def _poll(self, running: Running, pending: Pending) -> None:
        if pending.is_over(self._clock.now_ns()):
            self._resume(running)
        else:
            self._at(self._next_poll_ns(pending), lambda: self._poll(running, pending))

    def _block(self, running: Running) -> None:
        """Wait on this thread for what the task waits for."""
        match running.wait:
            case Sleep(until_ns=until_ns):
                self._clock.sleep_until(until_ns)
            case Pending() as pending:
                while not pending.is_over(self._clock.now_ns()):
                    self._clock.sleep_until(self._next_poll_ns(pending))
            case Signal() as signal:
                assert signal.is_settled, "a task that runs alone waits for no other"

    def _next_poll_ns(self, pending: Pending) -> int:
        next_ns = self._clock.now_ns() + POLL_NS
        return next_ns if pending.by_ns is None else min(next_ns, pending.by_ns)

    def _at(self, due_ns: int, call: Callable[[], None]) -> None:
        heapq.heappush(self._queue, (due_ns, next(self._order), call))
