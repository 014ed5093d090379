"""A script that drives Spark, in a process of its own."""

import os
import subprocess
import sys
from pathlib import Path

DEADLINE_S = 180


def drive(script: str, *arguments: object, folder: Path, **more) -> subprocess.Popen:
    """Run a script as a driver whose temporary files are in `folder` and whose directory is not the
    project."""
    return subprocess.Popen(
        [sys.executable, "-c", script, *map(str, arguments)],
        cwd=folder,
        env=os.environ | {"TMPDIR": str(folder)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        **more,
    )
