"""What a person sees while a run goes: a live panel on a terminal, otherwise a line for each change of state.

Both get the same calls. `watch` hands over a function that reads the load's figures; it is called from the
view's own thread, so a slow answer delays the view and not the run.
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
class Snapshot:
    """The load at one moment; `isr` is partition → number in sync, empty if nobody could say."""

    acked: int = 0
    failed: int = 0
    indeterminate: int = 0
    acks_per_s: float = 0.0
    isr: Mapping[str, int] = field(default_factory=dict)
    replication: Mapping[str, int] = field(default_factory=dict)
    faults: tuple[str, ...] = ()


Probe = Callable[[], Snapshot]


class Show(Protocol):
    """What the runner tells the person in front of it."""

    def __enter__(self) -> "Show": ...
    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...

    def phase(self, text: str) -> None:
        """A step of the run begins."""

    def event(self, text: str) -> None:
        """Something happened: a fault, a recovery, a signal."""

    def watch(self, probe: Probe | None) -> None:
        """Read the load's figures from `probe` until told otherwise (None: there is no load)."""


class Lines:
    """One line a change, with the seconds since the run began, and a heartbeat while there is load."""

    def __init__(self, out: TextIO | None = None, *, heartbeat_s: float = HEARTBEAT_S) -> None:
        """Write to `out`, stdout unless told."""
        self._out = out or sys.stdout
        self._begin = time.monotonic()
        self._heartbeat_s = heartbeat_s
        self._probe: Probe | None = None
        self._lock = threading.Lock()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._beat, name="heartbeat", daemon=True)

    def __enter__(self) -> "Lines":
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

    def watch(self, probe: Probe | None) -> None:
        """Let the heartbeat read from `probe`."""
        self._probe = probe

    def _line(self, text: str) -> None:
        with self._lock:
            print(f"{time.monotonic() - self._begin:6.1f}s {text}", file=self._out, flush=True)

    def _beat(self) -> None:
        while not self._over.wait(self._heartbeat_s):
            snapshot = read(self._probe)
            if snapshot is not None:
                self._line(f"  {figures(snapshot)}")


def read(probe: Probe | None) -> Snapshot | None:
    """The probe's answer, or None: a view never stops a run, and the load may end while it is being asked."""
    if probe is None:
        return None
    try:
        return probe()
    except Exception:
        return None


def figures(snapshot: Snapshot) -> str:
    """ "18,204 acked (3,100/s), 12 failed, 3 open; ISR full; kill 1 active"."""
    words = [f"{snapshot.acked:,} acked ({snapshot.acks_per_s:,.0f}/s)"]
    if snapshot.failed:
        words.append(f"{snapshot.failed:,} failed")
    if snapshot.indeterminate:
        words.append(f"{snapshot.indeterminate:,} indeterminate")
    parts = [", ".join(words)]
    if snapshot.isr:
        parts.append(f"ISR {isr_words(snapshot)}")
    if snapshot.faults:
        parts.append(f"active: {', '.join(snapshot.faults)}")
    return "; ".join(parts)


def isr_words(snapshot: Snapshot) -> str:
    """ "full", or how many partitions are below their replication factor and the worst of them."""
    short = {tp: n for tp, n in snapshot.isr.items() if n < snapshot.replication.get(tp, n)}
    if not short:
        return "full"
    worst = min(short, key=lambda tp: short[tp])
    return f"short on {len(short)} of {len(snapshot.isr)} partitions ({worst}: {short[worst]})"
