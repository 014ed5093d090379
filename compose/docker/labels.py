"""Whose a container, network, volume or disk is: labels that name the run and the process that made it.

A process id alone proves little, since ids are used again; with its start time and the machine's boot it is
unique. A process can only be judged dead from the machine (and process-id namespace) it lives in: elsewhere
it is `foreign`.
"""

import platform
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from compose.errors import TopologyError

RUN = "highwater.run"
OWNER = "highwater.owner"
OWNER_START = "highwater.owner-start"
OWNER_HOST = "highwater.owner-host"

PROC = Path("/proc")
MACHINE_ID = Path("/etc/machine-id")
RUN_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,199}")

Life = Literal["alive", "dead", "foreign"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Owner:
    """A run, and the process that owns what the run made."""

    run_id: str
    pid: int
    start: str
    host: str

    def labels(self) -> dict[str, str]:
        """The labels that everything of this run carries."""
        return {RUN: self.run_id, OWNER: str(self.pid), OWNER_START: self.start, OWNER_HOST: self.host}

    @classmethod
    def from_labels(cls, labels: Mapping[str, str]) -> "Owner":
        """Read what `labels` wrote; what is missing makes an owner that cannot be alive on this machine."""
        pid = labels.get(OWNER, "")
        return cls(
            run_id=labels.get(RUN, ""),
            pid=int(pid) if pid.isdecimal() else 0,
            start=labels.get(OWNER_START, ""),
            host=labels.get(OWNER_HOST, this_host()),
        )

    def is_process_of(self, other: "Owner") -> bool:
        """Whether both are one process, whatever each is the owner of."""
        return (self.pid, self.start, self.host) == (other.pid, other.start, other.host)

    def life(self) -> Life:
        """Whether the owner's process still runs, as far as this process knows."""
        if self.host != this_host():
            return "foreign"
        return "alive" if self.start and process_start(self.pid) == self.start else "dead"


def owner_of(run_id: str, pid: int) -> Owner:
    """`pid`, a living process of this machine, as the owner of `run_id`.

    Raises ProcessLookupError, or TopologyError for a run id that cannot be part of names of files and
    containers.
    """
    if not RUN_ID.fullmatch(run_id):
        raise TopologyError(f"run id {run_id!r}: give letters, digits, dots, dashes and underscores only")
    start = process_start(pid)
    if start is None:
        raise ProcessLookupError(f"run {run_id}: its owner, process {pid}, does not run on this machine")
    return Owner(run_id=run_id, pid=pid, start=start, host=this_host())


def process_start(pid: int, proc: Path = PROC) -> str | None:
    """When `pid` started, as "<clock ticks since boot>@<boot>"; None if it does not run, or is a zombie."""
    try:
        stat = (proc / str(pid) / "stat").read_text()
        boot = (proc / "sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return None
    # The second field is the program's name in brackets, which may itself hold blanks and brackets (proc(5)).
    fields = stat.rpartition(")")[2].split()
    return None if fields[0] in "ZX" else f"{fields[19]}@{boot}"


def this_host(machine_id: Path = MACHINE_ID) -> str:
    """This machine and process-id namespace, in which process ids mean something.

    Many machines are called "debian" or "localhost", and the first namespace has the same number on all of
    them: the id that each was given at its installation (machine-id(5)) tells them apart, where it has one.
    """
    try:
        namespace = str((PROC / "self/ns/pid").readlink())
    except OSError:
        namespace = "pid:unknown"
    try:
        its_id = f"-{machine_id.read_text().strip()[:8]}"
    except OSError:
        its_id = ""
    return f"{platform.node()}{its_id}/{namespace}"
