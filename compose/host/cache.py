"""The folder of this user in which highwater keeps what it can make again, and its locks."""

import os
from pathlib import Path


def cache_folder() -> Path:
    """`$XDG_CACHE_HOME/highwater`, by default `~/.cache/highwater`; whoever writes there makes it."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "highwater"
