"""What a person reads during a run: a live panel on a terminal, otherwise a line for each change of state.

Both are a `Progress`. `follow_load` hands over a function that returns the load's figures; it is called from
the view's own thread, so a slow answer delays the view and not the run.
"""

import sys
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import TracebackType
from typing import Protocol, TextIO

HEARTBEAT_S = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadFigures:
    """The load at one moment; `isr` is partition → number in sync, empty if no broker answered."""

    acked: int = 0
    failed: int = 0
    indeterminate: int = 0
    acks_per_s: float = 0.0
    isr: Mapping[str, int] = field(default_factory=dict)
    replication: Mapping[str, int] = field(default_factory=dict)
    faults: tuple[str, ...] = ()


ReadFigures = Callable[[], LoadFigures]


class Progress(Protocol):
    """Where a run reports its steps and events."""

    def __enter__(self) -> "Progress": ...
    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...

    def phase(self, text: str) -> None:
        """A step of the run begins."""

    def event(self, text: str) -> None:
        """Something happened: a fault, a recovery, a signal."""

    def follow_load(self, figures: ReadFigures | None) -> None:
        """Show what `figures` returns from now on (None: there is no load any more)."""


class ProgressLines:
    """One line a change, with the seconds since the run began, and a heartbeat while there is load."""

    def __init__(self, out: TextIO | None = None, *, heartbeat_s: float = HEARTBEAT_S) -> None:
        """Write to `out`, stdout by default."""
        self._out = out or sys.stdout
        self._begin = time.monotonic()
        self._heartbeat_s = heartbeat_s
        self._read_figures: ReadFigures | None = None
        self._lock = threading.Lock()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._beat, name="heartbeat", daemon=True)

    def __enter__(self) -> "ProgressLines":
        """Start the heartbeat."""
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop the heartbeat."""
        self._over.set()
        self._thread.join(timeout=self._heartbeat_s)

    def phase(self, text: str) -> None:
        """Print the step."""
        self._line(text)

    def event(self, text: str) -> None:
        """Print the event, indented below its step."""
        self._line(f"  {text}")

    def follow_load(self, figures: ReadFigures | None) -> None:
        """Print what `figures` returns at each heartbeat."""
        self._read_figures = figures

    def _line(self, text: str) -> None:
        with self._lock:
            print(f"{time.monotonic() - self._begin:6.1f}s {text}", file=self._out, flush=True)

    def _beat(self) -> None:
        while not self._over.wait(self._heartbeat_s):
            figures = figures_now(self._read_figures)
            if figures is not None:
                self._line(f"  {figures_text(figures)}")


def figures_now(read: ReadFigures | None) -> LoadFigures | None:
    """The figures, or None: a view never stops a run, and the load may end while it is being asked."""
    if read is None:
        return None
    try:
        return read()
    except Exception:
        return None


def figures_text(load: LoadFigures) -> str:
    """ "18,204 acked (3,100/s), 12 failed, 3 indeterminate; ISR full; active: kill 1"."""
    counts = [f"{load.acked:,} acked ({load.acks_per_s:,.0f}/s)"]
    if load.failed:
        counts.append(f"{load.failed:,} failed")
    if load.indeterminate:
        counts.append(f"{load.indeterminate:,} indeterminate")
    parts = [", ".join(counts)]
    if load.isr:
        parts.append(f"ISR {isr_text(load)}")
    if load.faults:
        parts.append(f"active: {', '.join(load.faults)}")
    return "; ".join(parts)


def isr_text(load: LoadFigures) -> str:
    """ "full", or how many partitions are below their replication factor and the worst of them."""
    short = {tp: n for tp, n in load.isr.items() if n < load.replication.get(tp, n)}
    if not short:
        return "full"
    worst = min(short, key=lambda tp: short[tp])
    return f"short on {len(short)} of {len(load.isr)} partitions ({worst}: {short[worst]})"
