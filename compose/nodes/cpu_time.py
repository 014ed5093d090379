"""CPU time of a container, straight from the kernel where the engine runs on this machine.

The engine's own statistics come once a second, and a question waits for the next; the kernel answers at once.
Control groups v1 (`cpuacct.usage`, nanoseconds) and v2 (`cpu.stat`, `usage_usec`): man 7 cgroups.
"""

import re
from pathlib import Path

from compose.nodes.control_group import GROUPS, PROC, directory

USAGE_US = re.compile(r"^usage_usec (\d+)$", re.MULTILINE)


def of_container(container_id: str, pid: int, *, proc: Path = PROC, groups: Path = GROUPS) -> int | None:
    """Nanoseconds that the container with the main process `pid` has used; None: not known here."""
    group = directory(container_id, pid, "cpuacct", proc=proc, groups=groups)
    if group is None:
        return None
    usage = group / "cpuacct.usage"
    try:
        if usage.exists():
            return int(usage.read_text())
        used = USAGE_US.search((group / "cpu.stat").read_text())
        return int(used[1]) * 1000 if used else None
    except (OSError, ValueError):
        return None
