"""A thread whose death is noticed: what it raises is kept, and raised by `check`."""

import threading
import time
from collections.abc import Callable, Iterable
from threading import Event

from workloads.errors import ThreadStuck, WorkloadDied


class Worker:
    """Runs `work(stop)` in a thread until `stop` is set. Starts at once."""

    def __init__(self, name: str, work: Callable[[Event], None]) -> None:
        self.name = name
        self._work = work
        self._stop = Event()
        self._error: BaseException | None = None
        # A daemon, for a client that is blocked in a call must not keep the interpreter; `join` reports it.
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            self._work(self._stop)
        except BaseException as error:  # kept whatever it is: a thread has no caller
            self._error = error

    def check(self) -> None:
        """Raise WorkloadDied if the thread has died of an error, or ended before it was stopped."""
        if self._error is not None:
            text = f"{type(self._error).__name__}: {self._error}"
            raise WorkloadDied(f"thread '{self.name}' of the workload died: {text}") from self._error
        if not self._thread.is_alive() and not self._stop.is_set():
            raise WorkloadDied(f"thread '{self.name}' of the workload ended before it was stopped")

    def stop(self) -> None:
        """Ask the thread to end."""
        self._stop.set()

    def join(self, deadline: float) -> None:
        """Wait until the thread has ended; ThreadStuck if it has not at `deadline` (time.monotonic())."""
        self._thread.join(max(0.0, deadline - time.monotonic()))
        if self._thread.is_alive():
            raise ThreadStuck(f"thread '{self.name}' of the workload has not ended; it is blocked in a call")


def end(workers: Iterable[Worker], *, within_s: float) -> None:
    """Stop all, wait for all, and raise what the first of them that failed has raised."""
    ended = list(workers)
    for worker in ended:
        worker.stop()
    deadline = time.monotonic() + within_s
    for worker in ended:
        worker.join(deadline)
    for worker in ended:
        worker.check()
