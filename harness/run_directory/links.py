"""Is a run directory what it seems? One from elsewhere may hold links to any place of this machine.

Who completes a run writes files into its directory and removes some: with a link among them, files that lie
elsewhere would be written over or removed. Reading needs no such care.
"""

import os
import stat
from pathlib import Path

from harness.errors import HistoryError


def refuse_links(directory: Path) -> None:
    """HistoryError with the first entry of a run directory that is neither a file nor a folder.

    The directory itself may be reached by a link, as runs/latest is.
    """
    for folder, folders, files in os.walk(directory):
        for name in sorted((*folders, *files)):
            path = Path(folder, name)
            mode = path.lstat().st_mode
            if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
                kind = "a link" if stat.S_ISLNK(mode) else "neither a file nor a folder"
                raise HistoryError(f"{path}: is {kind}, and a run that is still to be sealed has none")
