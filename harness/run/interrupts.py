"""Ctrl-C, SIGTERM and a lost terminal: the first asks for an orderly end, the second tears down now.

Where there is nothing to judge yet (the cluster starts), the first tears down at once too. The exception is
raised once in a tear-down, so that a user who leans on Ctrl-C cannot break the tear-down itself.
"""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType, TracebackType

from harness.errors import Interrupted

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""SIGHUP comes when the terminal is closed; under `nohup` it is ignored already, and stays so."""


class Interrupts:
    """Owns the signals while it is entered."""

    def __init__(self, on_signal: Callable[[str], None]) -> None:
        """`on_signal` gets one sentence for the user each time a signal arrives."""
        self._stop = threading.Event()
        self.received: int | None = None
        self._on_signal = on_signal
        self._orderly = False
        self._raised = False
        self._count = 0
        self._previous: dict[int, object] = {}

    def __enter__(self) -> "Interrupts":
        """Take the signals; outside the main thread Python cannot, and the caller keeps them."""
        if threading.current_thread() is threading.main_thread():
            ours = [number for number in SIGNALS if not _is_ignored_hangup(number)]
            self._previous = {number: signal.signal(number, self._handle) for number in ours}
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Give the signals back; ignore them from now on if one came, as the process is about to end.

        Given back, the next one would end the process by the signal, in the midst of its last words.
        """
        for number, handler in self._previous.items():
            after = handler if self.received is None else signal.SIG_IGN
            signal.signal(number, after)  # type: ignore[arg-type]  # it came from signal.signal

    def new_stop(self) -> threading.Event:
        """What the first signal sets from now on, at once if it has come.

        Each run has its own: what else may end a run, as a proxy that dies, is not the end of the next.
        """
        self._stop = threading.Event()
        if self.received is not None:
            self._stop.set()
        return self._stop

    def go_on_in_order(self) -> bool:
        """Whether there was one signal only, and so what else there is may end in order: the next one is the
        second. To be asked when what the first one has torn down is gone."""
        if self._count > 1:
            return False
        self._raised = False
        return True

    @contextmanager
    def orderly(self) -> Iterator[None]:
        """Within: a first signal only sets what `new_stop` gave last, and the code goes on to its end."""
        self._orderly = True
        try:
            yield
        finally:
            self._orderly = False

    def _handle(self, number: int, frame: FrameType | None) -> None:
        self._count += 1
        if self._raised:
            self._on_signal("already tearing down; this takes a few seconds")
            return
        first = self.received is None
        self.received = self.received or number
        self._stop.set()
        if first and self._orderly:
            self._on_signal(
                "stopping the load and healing all faults, then judging; once more tears down now"
            )
            return
        self._raised = True
        self._on_signal("tearing down now")
        raise Interrupted(number)


def _is_ignored_hangup(number: int) -> bool:
    return number == signal.SIGHUP and signal.getsignal(number) is signal.SIG_IGN
