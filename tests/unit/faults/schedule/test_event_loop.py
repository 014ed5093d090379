"""Tasks on one thread: in order of time, side by side with what runs in the background."""

from threading import Event

import pytest
from fakes.world.fault_world import Inline, Slow
from fakes.world.virtual_clock import VirtualClock

from faults.clock import ns
from faults.schedule.event_loop import EventLoop
from faults.tasks import (
    Signal,
    Task,
    as_job,
    first_of,
    in_background,
    last_of,
    outcome,
    sleep_until,
    start,
    submit,
)


def never() -> bool:
    """Run until no task waits for a time."""
    return False


def test_tasks_are_resumed_in_order_of_time_and_of_entry() -> None:
    """Those of one time in the order in which they went to sleep."""
    clock, done = VirtualClock(), list[str]()
    loop = EventLoop(clock, Inline())

    def note(at_s: float, name: str) -> Task[None]:
        yield from sleep_until(ns(at_s))
        done.append(name)

    for at_s, name in ((2, "third"), (1, "first"), (1, "second")):
        loop.start(note(at_s, name))
    loop.run(Event(), never)
    assert done == ["first", "second", "third"]
    assert clock.now_ns() == ns(2)


def test_a_background_job_holds_up_no_other_task() -> None:
    """Its result reaches its own task when it is done, and other tasks go on meanwhile."""
    clock, done = VirtualClock(), list[tuple[str, int]]()
    loop = EventLoop(clock, Slow(clock, latency_ns=ns(1)))

    def ask() -> Task[None]:
        done.append(((yield from in_background(lambda: "answer")), clock.now_ns()))

    def sleep() -> Task[None]:
        yield from sleep_until(ns(0.5))
        done.append(("meanwhile", clock.now_ns()))

    loop.start(ask())
    loop.start(sleep())
    loop.run(Event(), never)
    assert done == [("meanwhile", ns(0.5)), ("answer", ns(1))]


def test_an_error_of_a_background_job_is_raised_in_its_task_and_then_by_the_loop() -> None:
    """What a job did not expect is not lost on another thread."""
    clock, caught = VirtualClock(), list[str]()
    loop = EventLoop(clock, Slow(clock))

    def divide() -> Task[None]:
        try:
            yield from in_background(lambda: 1 // 0)
        except ZeroDivisionError:
            caught.append("in the task")
            raise

    loop.start(divide())
    with pytest.raises(ZeroDivisionError):
        loop.run(Event(), never)
    assert caught == ["in the task"]


def test_a_task_starts_another_one_beside_it() -> None:
    """And does not wait for it; a loop that was abandoned starts none."""
    clock, done = VirtualClock(), list[tuple[str, int]]()
    loop = EventLoop(clock, Inline())

    def note(name: str, at_s: float) -> Task[None]:
        yield from sleep_until(ns(at_s))
        done.append((name, clock.now_ns()))

    def both(at_s: float) -> Task[None]:
        yield from start(note("other", at_s + 1))
        yield from note("own", at_s)

    loop.start(both(1))
    loop.run(Event(), never)
    loop.run_alone(both(5))
    loop.run(Event(), never)
    assert done == [("own", ns(1)), ("other", ns(2)), ("own", ns(5))]


def test_a_job_can_be_waited_for_a_while_and_then_again() -> None:
    """A time-out leaves the job running; its result can be had later."""
    clock, done = VirtualClock(), list[tuple[str, int]]()
    loop = EventLoop(clock, Slow(clock, latency_ns=ns(1)))

    def ask_twice() -> Task[None]:
        future = yield from submit(lambda: "answer")
        try:
            yield from outcome(future, by_ns=ns(0.3))
        except TimeoutError:
            done.append(("late", clock.now_ns()))
        done.append(((yield from outcome(future)), clock.now_ns()))

    loop.start(ask_twice())
    loop.run(Event(), never)
    assert done == [("late", ns(0.3)), ("answer", ns(1))]


def test_a_signal_resumes_whoever_waits_for_it() -> None:
    """Before it has come and after; and its value does not change any more."""
    clock, came = VirtualClock(), list[tuple[int, int]]()
    loop, signal = EventLoop(clock, Inline()), Signal[int]()

    def wait() -> Task[None]:
        came.append(((yield from signal.wait()), clock.now_ns()))

    def send() -> Task[None]:
        yield from sleep_until(ns(1))
        signal.come(5)
        signal.come(6)
        signal.never(ValueError("too late"))
        yield from sleep_until(ns(2))
        loop.start(wait())

    loop.start(wait())
    loop.start(send())
    loop.run(Event(), never)
    assert came == [(5, ns(1)), (5, ns(2))]


def test_a_signal_that_never_comes_raises_its_reason() -> None:
    """In the task that waits."""
    clock, reasons = VirtualClock(), list[str]()
    loop, signal = EventLoop(clock, Inline()), Signal[int]()

    def wait() -> Task[None]:
        try:
            yield from signal.wait()
        except LookupError as error:
            reasons.append(str(error))

    loop.start(wait())
    signal.never(LookupError("nobody sends it"))
    loop.run(Event(), never)
    assert reasons == ["nobody sends it"]


def test_an_abandoned_task_is_not_resumed_but_can_be_finished_alone() -> None:
    """Up to the point that is asked for; no other task runs meanwhile."""
    clock, done = VirtualClock(), list[str]()
    loop = EventLoop(clock, Slow(clock, latency_ns=ns(1)))

    def work(name: str) -> Task[None]:
        yield from in_background(lambda: None)
        done.append(f"{name} half")
        yield from sleep_until(ns(5))
        done.append(f"{name} whole")

    first = loop.start(work("first"))
    loop.start(work("second"))
    loop.abandon()
    loop.run(Event(), never)
    assert done == []
    loop.finish(first, until=lambda: bool(done))
    assert (done, clock.now_ns()) == (["first half"], ns(1))


def test_a_task_runs_alone_to_its_end() -> None:
    """It sleeps, and waits for its jobs, on the thread that runs it."""
    clock, done = VirtualClock(), list[str]()

    def work() -> Task[None]:
        yield from sleep_until(ns(2))
        done.append((yield from in_background(lambda: "job")))

    EventLoop(clock, Slow(clock, latency_ns=ns(1))).run_alone(work())
    assert (done, clock.now_ns()) == (["job"], ns(3))


def test_a_change_as_a_job_holds_up_no_other_task() -> None:
    """It is done when the task that needs it goes on; others go on before."""
    clock, done = VirtualClock(), list[tuple[str, int]]()
    loop = EventLoop(clock, Slow(clock, latency_ns=ns(2)))

    @as_job
    def change(name: str) -> None:
        done.append((name, clock.now_ns()))

    def needs_it() -> Task[None]:
        yield from change("changed")
        done.append(("goes on", clock.now_ns()))

    def other() -> Task[None]:
        yield from sleep_until(ns(1))
        done.append(("other", clock.now_ns()))

    loop.start(needs_it())
    loop.start(other())
    loop.run(Event(), never)
    assert done == [("changed", 0), ("other", ns(1)), ("goes on", ns(2))]


def test_a_stop_ends_the_run_where_it_was_set() -> None:
    """What sleeps is not resumed any more."""
    clock, stop, done = VirtualClock(), Event(), list[str]()
    loop = EventLoop(clock, Inline())

    def sleep() -> Task[None]:
        yield from sleep_until(ns(9))
        done.append("resumed")

    loop.start(sleep())
    clock.call_at(ns(4), stop.set)
    loop.run(stop, never)
    assert (done, clock.now_ns()) == ([], ns(4))


def test_the_last_and_the_first_of_several_signals() -> None:
    """One comes with the last of them, the other with the first, whichever came before it was asked for."""
    a, b, c = Signal[int](), Signal[int](), Signal[int]()
    b.come(5)
    last, first, late = last_of([a, b, c]), first_of([a, c]), first_of([a, b])
    assert (last.has_come, first.has_come, late.value) == (False, False, 5)
    c.come(7)
    assert (last.has_come, first.value) == (False, 7)
    a.come(9)
    assert (last.value, first.value) == (9, 7)
    assert first_of([a, b, c]).value == 5


def test_signals_that_never_come() -> None:
    """One that is missing is missed by the last of them at once; by the first, only if all are."""
    a, b, c = Signal[int](), Signal[int](), Signal[int]()
    last, first, either = last_of([a, b]), first_of([a, b]), first_of([a, c])
    a.never(ValueError("a"))
    assert str(last.error) == "a"
    assert not first.is_settled
    b.never(ValueError("b"))
    c.come(3)
    assert (str(first.error), either.value) == ("b", 3)
    with pytest.raises(ValueError, match="b"):
        _ = first.value
