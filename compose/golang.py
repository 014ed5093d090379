"""A Go that can build Toxiproxy."""

import shutil
from pathlib import Path

from compose.progress import Say


def go_with(work: Path, say: Say) -> Path:
    """Return the path of a Go new enough."""
    found = shutil.which("go")
    assert found
    return Path(found)
