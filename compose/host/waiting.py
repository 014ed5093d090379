"""The one way to wait: a deadline, a condition with a name, and the last value seen."""

import time
from collections.abc import Callable
from typing import TypeVar

from compose.errors import ComposeError, NodeNotReady

Value = TypeVar("Value")


def wait_until(
    what: str,
    read: Callable[[], Value],
    holds: Callable[[Value], bool],
    *,
    within_s: float,
    every_s: float = 0.05,
    error: type[ComposeError] = NodeNotReady,
) -> Value:
    """Read until `holds` is true of the value, and return it. Reads at least once.

    Raises `error` after `within_s` seconds; its message has `what` and the last value.
    """
    started = time.monotonic()
    while True:
        value = read()
        if holds(value):
            return value
        waited = time.monotonic() - started
        if waited >= within_s:
            raise error(f"{what}: not so after {waited:.1f} s; last seen: {value}")
        time.sleep(min(every_s, within_s - waited))
