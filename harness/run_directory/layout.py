"""The run directory: the names of its files, and how one is made, opened and written to.

A run that is killed at any point leaves a directory that `highwater check` can judge; docs/history.md has
the layout of the history in it.
"""

import os
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from uuid import uuid4

from harness.errors import HistoryError, RunDirectoryError

LATEST = "latest"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunDir:
    """One run's directory and the names of what is in it.

    `id` is the run's id, which every file of its history carries; "" of a run that was opened again, of which
    the manifest has it.
    """

    path: Path
    id: str = ""

    @property
    def manifest(self) -> Path:
        """State, seed, versions, timings (manifest.py); JSON."""
        return self.path / "manifest.json"

    @property
    def scenario(self) -> Path:
        """The resolved scenario; replaying it draws nothing."""
        return self.path / "scenario.yaml"

    @property
    def journal(self) -> Path:
        """Sends and reads as they are recorded, until they are sealed."""
        return self.path / "journal"

    @property
    def history(self) -> Path:
        """The sealed history, Parquet."""
        return self.path / "history"

    @property
    def replicas(self) -> Path:
        """What each broker's disk held of its replicas, a folder for each; removed again if all is well."""
        return self.path / "replicas"

    @property
    def nodes(self) -> Path:
        """Logs and server.properties, a folder for each node."""
        return self.path / "nodes"

    @property
    def verdict(self) -> Path:
        """The verdict for machines."""
        return self.path / "verdict.json"

    @property
    def summary(self) -> Path:
        """The verdict for people."""
        return self.path / "summary.md"


def create(out: Path, scenario: str, seed: int, now: datetime | None = None) -> RunDir:
    """Make `out`/<utc>_<scenario>_<seed>/, numbered if that is taken, and point `out`/latest at it.

    The run gets a new id.
    """
    stamp = (now or datetime.now(UTC)).strftime("%Y%m%dT%H%M%SZ")
    base = f"{stamp}_{scenario}_{seed}"
    for attempt in range(1, 1000):
        path = out / (base if attempt == 1 else f"{base}-{attempt}")
        try:
            path.mkdir(parents=True)
        except FileExistsError:
            continue
        _point_latest_at(path)
        return RunDir(path=path, id=str(uuid4()))
    raise HistoryError(f"{out / base}: a thousand runs have this name")


def create_named(path: Path) -> RunDir:
    """Make the directory `path` for a run, which gets a new id. HistoryError if it is there already."""
    try:
        path.mkdir(parents=True)
    except FileExistsError:
        raise HistoryError(f"{path}: there is a run of this name already") from None
    return RunDir(path=path, id=str(uuid4()))


def _point_latest_at(path: Path) -> None:
    link = path.parent / LATEST
    fresh = path.parent / f".{LATEST}-{path.name}"
    fresh.symlink_to(path.name)
    fresh.replace(link)


def open_run(path: Path) -> RunDir:
    """The run at `path` (or the one its `latest` points at); RunDirectoryError if there is none."""
    if not path.exists():
        raise RunDirectoryError(
            f"{path}: no such directory; runs are below runs/, the last one is runs/latest"
        )
    if not path.is_dir():
        raise RunDirectoryError(f"{path}: a run is a directory, this is a file")
    if not (path / "manifest.json").exists() and not (path / "scenario.yaml").exists():
        raise RunDirectoryError(
            f"{path}: not a run directory: neither manifest.json nor scenario.yaml is in it"
        )
    return RunDir(path=path)


def write_whole(path: Path, text: str) -> None:
    """Write a file that is either the old one or the whole new one, whatever happens.

    What a killed writer left is removed first: in a directory from elsewhere it may be a link to any file.
    """
    growing = path.with_name(f".{path.name}.growing")
    growing.unlink(missing_ok=True)
    with growing.open("x") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    growing.replace(path)
