"""Notices at once that a run cannot go on: its load has died, or its proxy, or nobody can watch it any more.

What the run waits for meanwhile, in its own thread, may take minutes: a schedule, or a final read. So the
checks are made in a thread of their own: the first that fails is told, and ends the schedule as a user does,
healed, or the read.
"""

from collections.abc import Callable, Sequence
from threading import Event, Thread
from types import TracebackType

EVERY_S = 0.2
STOP_S = 5.0

Check = Callable[[], None]
"""Raises if the run cannot go on."""


class Alarm:
    """Makes all checks all the time, within a `with` block.

    Leaving it raises what the first check that failed has raised, in place of what that has led to within.
    """

    def __init__(self, checks: Sequence[Check], stop: Event, on_trouble: Callable[[Exception], None]) -> None:
        """`stop` is set by the first check that fails, after `on_trouble` was given what it raised."""
        self._checks, self.stop, self._on_trouble = checks, stop, on_trouble
        self._over = Event()
        self._trouble: Exception | None = None
        self._thread = Thread(target=self._watch, name="alarm", daemon=True)

    def __enter__(self) -> "Alarm":
        """The checks begin."""
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """They end. An interrupt is hidden by nothing."""
        if error is None:
            self.end()
        self._over.set()
        if isinstance(error, Exception) and self._trouble is not None:
            raise self._trouble from error

    def end(self) -> None:
        """They end here, with a last one of each; raises as `check`. A second call does nothing."""
        if not self._over.is_set():
            self._over.set()
            self._thread.join(STOP_S)
            self.check()

    def check(self) -> None:
        """Raise what the first check that failed has raised; if none has, make all of them now."""
        if self._trouble is not None:
            raise self._trouble
        for each in self._checks:
            each()

    def _watch(self) -> None:
        while not self._over.wait(EVERY_S):
            try:
                for check in self._checks:
                    check()
            except Exception as error:  # whatever it is, somebody has to know
                self._trouble = error
                self._on_trouble(error)
                self.stop.set()
                return
