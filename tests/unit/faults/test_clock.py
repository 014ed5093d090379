"""The virtual clock is exact and quick; the system clock really waits and can be woken."""

import threading
import time
from threading import Event

from fakes.world.virtual_clock import VirtualClock

from faults.clock import SystemClock, ns


def test_jumping() -> None:
    """Sleeping on the virtual clock sets it to the time waited for."""
    clock = VirtualClock(start_ns=5)
    clock.sleep_until(ns(600))
    assert clock.now_ns() == 600_000_000_000


def test_never_falling() -> None:
    """Waiting for the past leaves the virtual clock where it is."""
    clock = VirtualClock(start_ns=100)
    clock.sleep_until(50)
    assert clock.wait(Event(), 60) is False
    assert clock.now_ns() == 100


def test_callbacks() -> None:
    """Callbacks run in order of time, with the clock standing at their time."""
    clock = VirtualClock()
    calls: list[tuple[str, int]] = []
    clock.call_at(20, lambda: calls.append(("second", clock.now_ns())))
    clock.call_at(10, lambda: calls.append(("first", clock.now_ns())))
    clock.call_at(31, lambda: calls.append(("never", clock.now_ns())))
    clock.sleep_until(30)
    assert calls == [("first", 10), ("second", 20)]
    assert clock.now_ns() == 30


def test_stopping() -> None:
    """A stop that is set on the way ends the wait where it was set."""
    clock, stop = VirtualClock(), Event()
    clock.call_at(40, stop.set)
    assert clock.wait(stop, 100) is True
    assert clock.now_ns() == 40


def test_system_clock() -> None:
    """The system clock waits, and returns at once for the past."""
    clock = SystemClock()
    begin = clock.now_ns()
    clock.sleep_until(begin + ns(0.02))
    assert clock.now_ns() - begin >= ns(0.02)
    clock.sleep_until(begin)
    assert clock.wait(Event(), begin) is False


def test_system_clock_is_woken() -> None:
    """A wait on the system clock ends when another thread sets the stop."""
    clock, stop = SystemClock(), Event()
    threading.Timer(0.02, stop.set).start()
    began = time.monotonic()
    assert clock.wait(stop, clock.now_ns() + ns(30)) is True
    assert time.monotonic() - began < 10
