"""Resumable tasks: generators that yield what they wait for, and that an event loop resumes.

A task sleeps, runs a job on a background thread, or waits for a signal of another task:

    def stopped(node: int) -> Task[None]:
        yield from in_background(lambda: cluster.stop(node, within_s=30))
        yield from sleep_until(clock.now_ns() + ns(1))
        began_ns = yield from other.begin.wait()

Between two waits a task has the loop's thread to itself. A task that waits holds up no other.
"""

from collections.abc import Callable, Generator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from functools import partial, wraps
from typing import Any, Generic, ParamSpec, TypeVar

Params = ParamSpec("Params")
Result = TypeVar("Result")

FOREVER_NS = 1 << 62


@dataclass(frozen=True, slots=True, kw_only=True)
class Sleep:
    """Resume at `until_ns`; a time that has passed means next."""

    until_ns: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Submit:
    """Start a job on a background thread, and resume at once with its future."""

    job: Callable[[], Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """Start another task on the same loop, and resume at once."""

    task: "Task[None]"


@dataclass(frozen=True, slots=True, kw_only=True)
class Pending:
    """Resume when a background job has ended, or at `by_ns` if it goes on."""

    future: "Future[Any]"
    by_ns: int | None

    def is_over(self, now_ns: int) -> bool:
        """Whether the task can be resumed."""
        return self.future.done() or (self.by_ns is not None and now_ns >= self.by_ns)


class Signal(Generic[Result]):
    """A value that comes once, or an error instead, if it never comes. For tasks of one loop."""

    def __init__(self) -> None:
        self._value: tuple[Result] | None = None
        self._error: Exception | None = None
        self._waiting: list[Callable[[], None]] = []

    @property
    def is_settled(self) -> bool:
        """Whether it has come, or never will."""
        return self._value is not None or self._error is not None

    @property
    def has_come(self) -> bool:
        """Whether there is a value."""
        return self._value is not None

    @property
    def value(self) -> Result:
        """The value, which has come; raises the error if it never does."""
        if self._error is not None:
            raise self._error
        assert self._value is not None, "it is asked for when the signal is settled"
        return self._value[0]

    @property
    def error(self) -> Exception | None:
        """Why it never comes; None as long as it may."""
        return self._error

    def come(self, value: Result) -> None:
        """Resume the tasks that wait with `value`; nothing if it is settled."""
        if not self.is_settled:
            self._value = (value,)
            self._wake()

    def never(self, error: Exception) -> None:
        """Raise `error` in the tasks that wait; nothing if it is settled."""
        if not self.is_settled:
            self._error = error
            self._wake()

    def wait(self) -> "Task[Result]":
        """The value, when it has come; raises the error if it never does."""
        if not self.is_settled:
            yield self
        return self.value

    def when_settled(self, call: Callable[[], None]) -> None:
        """Call when it is settled; at once if it is."""
        if self.is_settled:
            call()
        else:
            self._waiting.append(call)

    def _wake(self) -> None:
        waiting, self._waiting = self._waiting, []
        for call in waiting:
            call()


def last_of(times: Sequence[Signal[int]]) -> Signal[int]:
    """Comes with the last of them; never, with the error of the first that never comes, if one does not."""
    last, come = Signal[int](), list[int]()

    def settle(time: Signal[int]) -> None:
        if time.error is not None:
            last.never(time.error)
            return
        come.append(time.value)
        if len(come) == len(times):
            last.come(max(come))

    for time in times:
        time.when_settled(partial(settle, time))
    return last


def first_of(times: Sequence[Signal[int]]) -> Signal[int]:
    """Comes with the first of them; never, with the last error, if none does."""
    first, missing = Signal[int](), [len(times)]

    def settle(time: Signal[int]) -> None:
        missing[0] -= 1
        if time.error is None:
            first.come(time.value)
        elif missing[0] == 0:
            first.never(time.error)

    # Of those that have come already the earliest counts.
    for time in sorted(times, key=lambda each: each.value if each.has_come else FOREVER_NS):
        time.when_settled(partial(settle, time))
    return first


Wait = Sleep | Submit | Start | Pending | Signal[Any]
Task = Generator[Wait, Any, Result]


def sleep_until(at_ns: int) -> Task[None]:
    """Wait until `at_ns` on the loop's clock."""
    yield Sleep(until_ns=at_ns)


def start(task: "Task[None]") -> "Task[None]":
    """Start `task` beside this one, which does not wait for it."""
    yield Start(task=task)


def submit(job: Callable[[], Result]) -> Task["Future[Result]"]:
    """Start `job` on a background thread; its future goes to `outcome`."""
    future: Future[Result] = yield Submit(job=job)
    return future


def outcome(future: "Future[Result]", *, by_ns: int | None = None) -> Task[Result]:
    """The job's result, or its error raised here; TimeoutError if it goes on at `by_ns`."""
    if not future.done():
        yield Pending(future=future, by_ns=by_ns)
    if not future.done():
        raise TimeoutError
    return future.result()


def in_background(job: Callable[[], Result]) -> Task[Result]:
    """Run `job` on a background thread; its result, or its error raised here."""
    future = yield from submit(job)
    return (yield from outcome(future))


def as_job(change: Callable[Params, None]) -> Callable[Params, Task[None]]:
    """A change as a task: one job on a background thread, so that no other task waits for it."""

    @wraps(change)
    def task(*args: Params.args, **kwargs: Params.kwargs) -> Task[None]:
        yield from in_background(partial(change, *args, **kwargs))

    return task
