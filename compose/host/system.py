"""The system that this program runs on."""

import sys

from compose.errors import MachineError


def require_linux() -> None:
    """Raise MachineError where what a run measures and breaks is not to be had: anywhere but on Linux."""
    if sys.platform != "linux":
        raise MachineError(
            f"clusters are run and broken on Linux only, and this is {sys.platform}\n"
            "    next step: a Linux machine, or a virtual one; `highwater check` judges runs here, too"
        )
