"""One thread that reads the clocks and the machine's pressure through a whole run, and writes both down.

It sleeps in ticks of TICK_S, and adds up how late it wakes: that is what any timed loop of the harness met in
the same time, for want of a processor or of the interpreter's lock. Time spent on a question to the engine is
none of it.
"""

import time
from collections.abc import Callable
from dataclasses import asdict
from threading import Event

from compose.protocols import ClockReading
from workloads.observe import pressure
from workloads.observe.pressure import Counters
from workloads.record.journal import Journal

TICK_S = 0.1
PRESSURE_NS = 1_000_000_000
"""A row of pressure about each second: an outage of some seconds is told from the time around it."""
CLOCKS_NS = 2_000_000_000
"""A pair of clocks every two seconds. An engine on another machine answers in 10 to 14 ms."""


class MachineSampler:
    """What one `workloads.watched_thread.Worker` runs; `clocks` and `pressures` are journals."""

    def __init__(
        self,
        read_clocks: Callable[[], ClockReading],
        *,
        clocks: Journal,
        pressures: Journal,
        read_counters: Callable[[], Counters] = pressure.read,
        now_ns: Callable[[], int] = time.monotonic_ns,
    ) -> None:
        """Nothing is read yet."""
        self._read_clocks, self._read_counters, self._now_ns = read_clocks, read_counters, now_ns
        self._clocks, self._pressures = clocks, pressures

    def __call__(self, stop: Event) -> None:
        """Sample until stopped; the first pair of clocks at once, the last one at the end."""
        before, since_ns, late_ns, asked_ns = self._read_counters(), self._now_ns(), 0, None
        is_over = False
        while not is_over:
            if asked_ns is None or self._now_ns() - asked_ns >= CLOCKS_NS:
                self._sample_clocks()
                asked_ns = self._now_ns()
            due_ns = self._now_ns() + int(TICK_S * 1e9)
            is_over = stop.wait(TICK_S)
            now_ns = self._now_ns()
            late_ns += max(0, now_ns - due_ns)
            if is_over or now_ns - since_ns >= PRESSURE_NS:
                now = self._read_counters()
                row = pressure.since(before, now, at_ns=now_ns, span_ns=now_ns - since_ns, late_ns=late_ns)
                self._pressures.write_rows([asdict(row)])
                before, since_ns, late_ns = now, now_ns, 0
        self._sample_clocks()

    def _sample_clocks(self) -> None:
        self._clocks.write_rows([asdict(self._read_clocks())])
