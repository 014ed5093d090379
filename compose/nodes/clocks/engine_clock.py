"""The wall clock of the engine, which is that of the nodes, and the harness's own clocks beside it.

Where a node's process is a process of this machine, both run on one kernel and so on one clock: it is read
within microseconds. Else the engine is asked, which takes 10 to 14 ms, and 0.7 s where processors are short.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass

from compose.docker import containers
from compose.docker.events import engine_now_ns
from compose.errors import ComposeError
from compose.nodes import cpu_time
from compose.protocols import ClockReading


@dataclass(frozen=True, slots=True)
class EngineClock:
    """`ask` gives the engine's wall clock in nanoseconds."""

    ask: Callable[[], int]

    def read(self) -> ClockReading:
        """All clocks at the middle of the question; -1 for the engine's if it does not answer."""
        before_ns, wall_ns = time.monotonic_ns(), time.time_ns()
        try:
            engine_ns = self.ask()
        except ComposeError:
            return ClockReading(at_ns=before_ns, wall_ns=wall_ns, engine_ns=-1, error_ns=0)
        half_ns = (time.monotonic_ns() - before_ns) // 2
        return ClockReading(
            at_ns=before_ns + half_ns, wall_ns=wall_ns + half_ns, engine_ns=engine_ns, error_ns=half_ns
        )


def engine_clock(container_id: str) -> EngineClock:
    """The clock of the engine that runs this container; its main process tells whose machine it is."""
    try:
        pid = int(containers.inspect(container_id)["State"]["Pid"])
    except ComposeError:
        return EngineClock(engine_now_ns)
    ours = pid > 0 and cpu_time.of_container(container_id, pid) is not None
    return EngineClock(time.time_ns if ours else engine_now_ns)
