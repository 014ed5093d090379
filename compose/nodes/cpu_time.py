"""CPU time of a container, straight from the kernel where the engine runs on this machine.

The engine's own statistics come once a second, and a question waits for the next; the kernel answers at once.
Control groups v1 (`cpuacct.usage`, nanoseconds) and v2 (`cpu.stat`, `usage_usec`): man 7 cgroups.
"""

import re
from pathlib import Path

USAGE_US = re.compile(r"^usage_usec (\d+)$", re.MULTILINE)


def of_container(
    container_id: str, pid: int, *, proc: Path = Path("/proc"), groups: Path = Path("/sys/fs/cgroup")
) -> int | None:
    """Nanoseconds that the container with the main process `pid` has used; None if this machine lacks them.

    If the engine is on another machine, `pid` is no process of this one or an unrelated one, whose group does
    not have the container's id.
    """
    try:
        for line in (proc / str(pid) / "cgroup").read_text().splitlines():
            _, names, path = line.split(":", 2)
            if container_id not in path:
                continue
            if "cpuacct" in names.split(","):
                return int((groups / "cpuacct" / path.lstrip("/") / "cpuacct.usage").read_text())
            if names == "" and (groups / "cgroup.controllers").exists():
                used = USAGE_US.search((groups / path.lstrip("/") / "cpu.stat").read_text())
                return int(used[1]) * 1000 if used else None
    except (OSError, ValueError):
        return None
    return None
