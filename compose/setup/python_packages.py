"""Programs that come as Python packages: pinned by hash, from a requirements file among the recipes."""

from importlib.resources import as_file, files
from pathlib import Path

from compose.host import shell
from compose.host.progress import OnLine

INSTALL_TIMEOUT_S = 600


def install(python: Path, requirements: str, on_line: OnLine) -> None:
    """Install the recipe file `requirements` into the environment of `python`. Raises CommandFailed."""
    with as_file(files("compose.recipes").joinpath(requirements)) as path:
        shell.run_logged(
            [
                *(str(python), "-m", "pip", "install", "--quiet", "--no-deps", "--only-binary=:all:"),
                *("--require-hashes", "-r", str(path)),
            ],
            timeout_s=INSTALL_TIMEOUT_S,
            on_line=on_line,
        )
