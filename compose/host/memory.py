"""The memory that new allocations can have: of this machine, and of the control groups of this process.

Where a group's limit is reached, the kernel ends processes as if the machine had none left, whatever it has.
What is only a copy of a file counts as available in both, since the kernel gives it up first.
"""

import ctypes
import functools
import gc
import mmap
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

PROC, GROUPS = Path("/proc"), Path("/sys/fs/cgroup")
PAGE_BYTES = mmap.PAGESIZE
M_ARENA_MAX = -8
"""Of mallopt(3)."""
MOST_HEAPS = 2
LONG_S = 0.01
"""Of a collection: a fault that is due meanwhile is late by as much."""
TUNABLES, NO_THREAD_CACHES = "GLIBC_TUNABLES", "glibc.malloc.tcache_count=0"
"""See https://sourceware.org/glibc/manual/latest/html_node/Memory-Allocation-Tunables.html"""


def available_bytes(proc: Path = PROC, groups: Path = GROUPS) -> int | None:
    """The least of them; None where the kernel is no Linux, and so tells neither."""
    try:
        meminfo = _fields(proc / "meminfo", ":")
    except OSError:
        return None
    return min((meminfo["MemAvailable"] * 1024, *_left_in_groups(proc, groups)))


def held_bytes(proc: Path = PROC) -> int:
    """The resident memory of this process and of all that it has started, and these in turn."""
    mine = int(_first_line(proc / "self/stat").partition(" ")[0])
    parents: dict[int, int] = {}
    pages: dict[int, int] = {}
    for stat in proc.glob("[0-9]*/stat"):
        # The second field is the program's name in brackets, which may itself hold blanks (proc(5)).
        if fields := _first_line(stat).rpartition(")")[2].split():
            pid = int(stat.parent.name)
            parents[pid], pages[pid] = int(fields[1]), int(fields[21])
    return PAGE_BYTES * sum(pages[pid] for pid in pages if mine in _ancestry(pid, parents))


def _ancestry(pid: int, parents: Mapping[int, int]) -> Iterator[int]:
    """The process, its parent, and so on; a table that was read while processes came and went has no circle
    that it does not leave."""
    seen: set[int] = set()
    while pid in parents and pid not in seen:
        yield pid
        seen.add(pid)
        pid = parents[pid]


def keep_heaps_few() -> None:
    """Let the C library keep at most MOST_HEAPS heaps from now on, whatever the number of threads.

    glibc makes eight for each processor. Each grows by what its threads held at their busiest, as clients do
    while their brokers do not answer, and is hardly ever free from its end on, so all of them together grow
    for hours. Other C libraries need no such call.
    """
    if (mallopt := _of_c_library("mallopt")) is not None:
        mallopt(M_ARENA_MAX, MOST_HEAPS)


def restart_without_thread_caches() -> None:
    """Begin this process anew, with the same arguments and the same id; returns in the new one.

    Each thread of glibc keeps some free blocks of each size for itself, up to a quarter of a MiB, and with
    each block the page it lies in. After outages that is what does not go back to the kernel. glibc reads the
    setting when a process starts, and no child gets it. Nothing to do where the user has settings of his own
    for glibc, or the C library is another.
    """
    asked = os.environ.get(TUNABLES)
    if asked == NO_THREAD_CACHES:
        del os.environ[TUNABLES]
    elif asked is None and "CS_GNU_LIBC_VERSION" in getattr(os, "confstr_names", ()):
        arguments = [sys.executable, *sys.orig_argv[1:]]
        os.execve(sys.executable, arguments, os.environ | {TUNABLES: NO_THREAD_CACHES})


def set_aside() -> None:
    """Free what lies in cycles, and let the collector of those look no more at all that is left.

    It looks at old objects only when a quarter as many have become old again, so that of half a million, all
    modules and what they hold, garbage of many minutes stays: what failed tasks have held, and their frames.
    Takes 0.1 to 0.2 s, in which nothing else of Python runs.
    """
    gc.collect()
    gc.freeze()


def take_back() -> None:
    """Let the collector look at everything again."""
    gc.unfreeze()


def give_back() -> None:
    """Free what lies in cycles and was not set aside, and give what is free in the C library's heaps back to
    the kernel; takes a few milliseconds.

    What is left where that took long, as after the modules of Spark have come, is set aside too.
    """
    begin = time.perf_counter()
    gc.collect()
    if time.perf_counter() - begin > LONG_S:
        gc.freeze()
    _trim()


def _trim() -> None:
    """glibc keeps a heap for each few threads, and what is free in the middle of one stays with the process:
    one whose threads come and go, as those of clients do, grows for hours. Other C libraries need no such
    call."""
    if (trim := _of_c_library("malloc_trim")) is not None:
        trim(0)


@functools.cache
def _of_c_library(name: str) -> Callable[..., int] | None:
    return getattr(ctypes.CDLL(None), name, None) if os.name == "posix" else None


def _left_in_groups(proc: Path, groups: Path) -> Iterator[int]:
    """Of each group with a limit, from the process's own to the topmost; version 1 and 2."""
    for line in _lines(proc / "self/cgroup"):
        _, controllers, path = line.split(":", 2)
        if controllers in ("", "memory"):
            top = groups / controllers
            own = top / path.lstrip("/")
            for group in (own, *own.parents):
                if group == top.parent:
                    break
                yield from _left_in(group, version=1 if controllers else 2)


def _left_in(group: Path, *, version: int) -> Iterator[int]:
    """Nothing of a group without a limit, or that is not to be seen from here."""
    limit, used, prefix = {
        1: ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_"),
        2: ("memory.max", "memory.current", ""),
    }[version]
    try:
        most, now = (group / limit).read_text().strip(), int((group / used).read_text())
        stat = _fields(group / "memory.stat", " ")
    except OSError:
        return
    if most != "max":
        files = stat.get(f"{prefix}inactive_file", 0) + stat.get(f"{prefix}active_file", 0)
        yield int(most) - now + files


def _fields(path: Path, separator: str) -> dict[str, int]:
    """The number that follows each name."""
    pairs = (line.split(separator, 1) for line in path.read_text().splitlines() if separator in line)
    return {name.strip(): int(rest.split()[0]) for name, rest in pairs}


def _first_line(path: Path) -> str:
    return next(iter(_lines(path)), "")


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text().splitlines()
    except OSError:
        return []
