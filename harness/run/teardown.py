"""Everything a run has opened, closed in reverse order: at the end, or while the history is verified."""

import threading
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack
from types import TracebackType
from typing import TypeVar

Entered = TypeVar("Entered")


class TearDown:
    """An ExitStack that can be closed in its own thread; leaving it waits until everything is closed.

    What goes wrong while closing does not hide what went wrong before: it is in `problem`.
    """

    def __init__(self) -> None:
        """Nothing is open yet."""
        self.problem = ""
        self._stack = ExitStack()
        self._at_once: list[Callable[[], None]] = []
        self._thread: threading.Thread | None = None

    def __enter__(self) -> "TearDown":
        """Nothing to do yet."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close what is open, or wait for the thread that does; at once if something was raised."""
        self.close(at_once=error is not None)

    def close(self, *, at_once: bool = False) -> None:
        """Close what is open, or wait for the thread that does. `at_once`: nothing else may be waited for."""
        if at_once:
            self._hurry()
        self.begin()
        assert self._thread is not None
        self._thread.join()

    def open(self, manager: AbstractContextManager[Entered]) -> Entered:
        """Enter `manager`; it is left when this is closed."""
        return self._stack.enter_context(manager)

    def first_if_at_once(self, do: Callable[[], None]) -> None:
        """Do this before anything is closed at once: it ends what would take its time else."""
        self._at_once.append(do)

    def begin(self) -> None:
        """Start to close everything, in a thread of its own; later calls do nothing."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._close, name="tear-down")
            self._thread.start()

    def _hurry(self) -> None:
        for do in self._at_once:
            try:
                do()
            except Exception as error:  # as below
                self.problem = f"tear-down: {error}"

    def _close(self) -> None:
        try:
            self._stack.close()
        except Exception as error:  # whatever it is, the run's own result must still be reported
            self.problem = f"tear-down: {error}; run 'highwater clean' to remove what is left"
