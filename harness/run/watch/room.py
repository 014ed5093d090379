"""Free space where a run writes, and memory: planned before anything starts, watched while the load lasts.

A full disk looks like anything but that: a broker that halts, a journal that ends, a helper that fails. Where
memory runs out, the kernel ends some process, and most likely the largest: the run itself, or a broker.
"""

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from compose.host import memory
from harness.errors import StepFailed

LEFT_FREE = 512 << 20
"""Bytes that a planned load must leave free: for the engine's log, the verifier's files, other programs."""

LEAST_FREE = 256 << 20
"""Below this, of a disk or of memory, the run ends, while what it has to do then still fits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Writes:
    """What a load writes, in bytes, by directory; `load` is the load in words, with its figures."""

    load: str
    by_directory: Mapping[Path, int]


def require(writes: Writes) -> None:
    """Raise StepFailed, with all figures, if a file system lacks room for what is written there."""
    for directories in _by_file_system(list(writes.by_directory)):
        needed = sum(writes.by_directory[each] for each in directories)
        free = shutil.disk_usage(directories[0]).free
        if free < needed + LEFT_FREE:
            where = " and ".join(map(str, directories))
            raise StepFailed(
                "room",
                f"{writes.load} writes up to {_mib(needed)} to {where}, where {_mib(free)} are free and "
                f"{_mib(LEFT_FREE)} have to stay so\n"
                "    next step: a lower rate, a shorter load, or more room",
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class Room:
    """The directories of a run that goes on, and the memory that it can have."""

    directories: Sequence[Path]

    def check(self) -> None:
        """Raise StepFailed if one of them has hardly any room left, or there is hardly any memory."""
        for directory in self.directories:
            free = shutil.disk_usage(directory).free
            if free < LEAST_FREE:
                raise StepFailed("room", f"{directory} has {_mib(free)} left, {_mib(LEAST_FREE)} are needed")
        left = memory.available_bytes()
        if left is not None and left < LEAST_FREE:
            raise StepFailed(
                "memory", f"{_mib(left)} are available to this run, {_mib(LEAST_FREE)} are needed"
            )


def _by_file_system(directories: Sequence[Path]) -> list[list[Path]]:
    """The directories in groups that share one."""
    groups: dict[int, list[Path]] = {}
    for each in directories:
        groups.setdefault(each.stat().st_dev, []).append(each)
    return list(groups.values())


def _mib(count: int) -> str:
    return f"{count >> 20:,} MiB"
