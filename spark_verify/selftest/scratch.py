"""Where a fuzz keeps its files for the seconds that they live: in memory, if there is room.

On ext4, to make and to remove a small file costs as much processor time as to write it, and a file that is
made where one was just removed costs more: the file system looks for an inode that was not used lately.
"""

import os
import shutil
from pathlib import Path

_MEMORY = Path("/dev/shm")
_LEAST_BYTES = 2 << 30
"""A fuzz needs a tenth; a container has often no more than 64 MiB there."""


def roomy_memory() -> Path | None:
    """The folder whose files are in memory; None, as `tempfile` understands it, where there is no room."""
    is_roomy = os.access(_MEMORY, os.W_OK) and shutil.disk_usage(_MEMORY).free >= _LEAST_BYTES
    return _MEMORY if is_roomy else None
