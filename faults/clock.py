"""The clock that a schedule runs on: the machine's monotonic one; tests have a virtual one.

All times are nanoseconds of one monotonic clock, the one of the history.
"""

import time
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
