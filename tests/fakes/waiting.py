"""Waiting for what happens on its own."""

import time
from collections.abc import Callable


def until(what: Callable[[], object], within_s: float) -> None:
    """Return when it is true."""
    deadline = time.monotonic() + within_s
    while not what():
        assert time.monotonic() < deadline, f"it never came to that within {within_s:g} s"
        time.sleep(0.05)
