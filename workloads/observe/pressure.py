"""How starved this machine is of processors, as its kernel counts it.

    /proc/pressure/cpu   "some … total=<µs>": how long at least one task waited for a processor (PSI, Linux
                         4.20 and later; absent where the kernel was booted with psi=0)
    /proc/stat           "cpu user nice system idle iowait irq softirq steal …" in clock ticks, over all
                         processors; steal is what a hypervisor took

Sources: Documentation/accounting/psi.rst in the kernel, proc_stat(5).
"""

import os
import re
from dataclasses import dataclass
from pathlib import Path

from checkers.history.rows import Pressure
from checkers.history.tables import NONE

PROC = Path("/proc")
SECOND_NS = 1_000_000_000
SOME_US = re.compile(r"^some .*total=(\d+)$", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Counters:
    """What has passed since the machine was booted, in nanoseconds; -1: the kernel does not count it.

    `steal_ns` and `busy_ns` are the mean of all processors, so that they compare with the time on a clock.
    """

    stall_ns: int = NONE
    steal_ns: int = NONE
    busy_ns: int = NONE


def read(proc: Path = PROC, *, ticks_per_s: int | None = None) -> Counters:
    """The counters now; reads two small files."""
    ticks = os.sysconf("SC_CLK_TCK") if ticks_per_s is None else ticks_per_s
    steal_ns, busy_ns = _processors(_text(proc / "stat"), ticks)
    return Counters(stall_ns=_stall_ns(_text(proc / "pressure/cpu")), steal_ns=steal_ns, busy_ns=busy_ns)


def since(before: Counters, now: Counters, *, at_ns: int, span_ns: int, late_ns: int) -> Pressure:
    """What has passed between two readings, as a row of the history."""
    return Pressure(
        at_ns=at_ns,
        span_ns=span_ns,
        stall_ns=_passed(before.stall_ns, now.stall_ns),
        steal_ns=_passed(before.steal_ns, now.steal_ns),
        busy_ns=_passed(before.busy_ns, now.busy_ns),
        late_ns=late_ns,
    )


def _text(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:  # no such counter: psi=0 answers EOPNOTSUPP, other systems have no /proc
        return ""


def _stall_ns(text: str) -> int:
    found = SOME_US.search(text)
    return NONE if found is None else int(found[1]) * 1000


def _processors(text: str, ticks_per_s: int) -> tuple[int, int]:
    """Steal and busy time, the mean of all processors."""
    lines = [line.split() for line in text.splitlines() if line.startswith("cpu")]
    processors = sum(1 for line in lines if line[0] != "cpu")
    whole = next((line for line in lines if line[0] == "cpu" and len(line) > 8), None)
    if whole is None or not processors:
        return NONE, NONE
    user, nice, system, _, _, irq, softirq, steal = map(int, whole[1:9])
    tick_ns = SECOND_NS // ticks_per_s
    return (
        steal * tick_ns // processors,
        (user + nice + system + irq + softirq) * tick_ns // processors,
    )


def _passed(before_ns: int, now_ns: int) -> int:
    return NONE if NONE in (before_ns, now_ns) else max(0, now_ns - before_ns)
