"""Asks the helper container all the time whether it answers: without it no disk is frozen, thawed or read.

What a fault asks of it shows that too, but only when a fault is due, and a step that fails is not the end of
a run: the next fault may be another one.
"""

from collections.abc import Callable
from contextlib import suppress
from threading import Event

from compose.errors import ComposeError, DiskError
from harness.errors import StepFailed

EVERY_S = 2.0


class HelperPulse:
    """What one `workloads.watched_thread.Worker` runs; `ask` is `compose.protocols.Cluster.check_helper`."""

    def __init__(self, ask: Callable[[], None]) -> None:
        """Nothing is asked yet."""
        self._ask = ask
        self._trouble = ""

    def __call__(self, stop: Event) -> None:
        """Ask until stopped."""
        while not stop.wait(EVERY_S):
            with suppress(ComposeError):  # of an engine that does not answer the watch of the nodes tells
                self._ask_once()

    def check(self) -> None:
        """Raise StepFailed if it has ever failed to answer."""
        if self._trouble:
            raise StepFailed("watch", f"{self._trouble}; without it no disk can be frozen, thawed or read")

    def _ask_once(self) -> None:
        try:
            self._ask()
        except DiskError as error:
            self._trouble = str(error)
