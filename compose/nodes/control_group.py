"""The control groups of a container, straight from the kernel where the engine runs on this machine.

Version 1 has a hierarchy for each controller, version 2 one for all: man 7 cgroups. What a kernel does not
count has no line, or no file: then nothing is known of it.
"""

import re
from pathlib import Path

from compose.protocols import MemoryUse

PROC, GROUPS = Path("/proc"), Path("/sys/fs/cgroup")


def directory(
    container_id: str, pid: int, controller: str, *, proc: Path = PROC, groups: Path = GROUPS
) -> Path | None:
    """Where the kernel shows `controller` of the container with the main process `pid`; None: not here.

    If the engine is on another machine, `pid` is no process of this one or an unrelated one, whose group does
    not have the container's id.
    """
    try:
        lines = (proc / str(pid) / "cgroup").read_text().splitlines()
    except OSError:
        return None
    for line in lines:
        _, names, path = line.split(":", 2)
        if container_id in path and controller in names.split(","):
            return groups / controller / path.lstrip("/")
        if container_id in path and names == "" and (groups / "cgroup.controllers").exists():
            return groups / path.lstrip("/")
    return None


def throttled_ns(group: Path) -> int | None:
    """Nanoseconds for which the processes of a group had to wait for a limit of its processor time.

    `cpu.stat`: `throttled_time` of version 1, in nanoseconds, or `throttled_usec` of version 2. None: the
    kernel has no CFS bandwidth control.
    """
    nanoseconds = _line(group / "cpu.stat", "throttled_time")
    if nanoseconds is not None:
        return nanoseconds
    microseconds = _line(group / "cpu.stat", "throttled_usec")
    return None if microseconds is None else microseconds * 1000


def memory_use(group: Path) -> MemoryUse | None:
    """What a group of the memory controller holds, and how often it was at its limit; None: not known.

    Version 2: `anon` of `memory.stat`, `max` of `memory.events`. Version 1: `total_rss` of `memory.stat`, and
    `memory.failcnt`, which counts from the last 256 KiB below the limit on: the kernel tries to charge 64
    pages at a time (mm/memcontrol.c), and only one after that has failed.
    """
    held, met = _line(group / "memory.stat", "anon"), _line(group / "memory.events", "max")
    if met is None:
        held, met = _line(group / "memory.stat", "total_rss"), _line(group / "memory.failcnt")
    return None if held is None or met is None else MemoryUse(held_bytes=held, limit_met=met)


def _line(path: Path, name: str = "") -> int | None:
    """The number after a name at the beginning of a line; without a name, the number that is the line."""
    try:
        found = re.search(rf"^{name} ?(\d+)$", path.read_text(), re.MULTILINE)
    except OSError:
        return None
    return int(found[1]) if found else None
