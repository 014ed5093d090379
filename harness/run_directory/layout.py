"""The run directory: the names of its files, and how one is made, opened and written to.

A run that is killed at any point leaves a directory that `highwater check` can judge; docs/history.md has
the layout of the history in it.
"""

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from uuid import uuid4

from harness.errors import HighwaterError, HistoryError, RunDirectoryError, UsageError

LATEST = "latest"
MOST_BYTES = 1 << 28
"""Of a file of JSON or YAML that is read as a whole; some 1,000 times what a run of today writes."""
OF_THE_MACHINE = (errno.ENOSPC, errno.EDQUOT, errno.EIO)
"""Why nothing can be written, whatever place is asked for."""


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
    link = out / LATEST
    with making(link):
        if link.exists() and not link.is_symlink():
            raise UsageError(f"{link}: in the way of the link to the last run: move it away")
    path = numbered(out, f"{stamp}_{scenario}_{seed}")
    with making(link):
        _point_at(link, path)
    return RunDir(path=path, id=str(uuid4()))


def numbered(out: Path, name: str) -> Path:
    """Make `out`/`name`, numbered if that is taken. UsageError if nothing can be made there."""
    with making(out):
        out.mkdir(parents=True, exist_ok=True)
        for attempt in range(1, 1000):
            path = out / (name if attempt == 1 else f"{name}-{attempt}")
            with suppress(FileExistsError):
                path.mkdir()
                return path
    raise UsageError(f"{out / name}: a thousand directories have this name")


def create_named(path: Path) -> RunDir:
    """Make the directory `path` for a run, which gets a new id. HistoryError if it is there already."""
    with making(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            path.mkdir()
        except FileExistsError:
            raise HistoryError(f"{path}: there is a run of this name already") from None
    return RunDir(path=path, id=str(uuid4()))


@contextmanager
def making(place: Path) -> Iterator[None]:
    """Where a directory cannot be made: UsageError with the place; HighwaterError if the disk is full."""
    try:
        yield
    except (OSError, ValueError) as error:  # a name may hold what no file system takes
        is_machine = isinstance(error, OSError) and error.errno in OF_THE_MACHINE
        kind = HighwaterError if is_machine else UsageError
        raise kind(f"{place}: cannot be made: {why_unusable(error)}") from None


def why_unusable(error: OSError | ValueError) -> str:
    """Why a file or a directory could not be used, without its name."""
    return getattr(error, "strerror", None) or str(error)


def _point_at(link: Path, path: Path) -> None:
    fresh = link.with_name(f".{link.name}-{path.name}")
    fresh.symlink_to(path.name)
    try:
        fresh.replace(link)
    except OSError:
        fresh.unlink()
        raise


def open_run(path: Path) -> RunDir:
    """The run at `path` (or the one its `latest` points at); RunDirectoryError if there is none."""
    try:
        return _opened(path)
    except (OSError, ValueError) as error:
        raise RunDirectoryError(f"{path}: cannot be read: {why_unusable(error)}") from None


def _opened(path: Path) -> RunDir:
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


def read_whole(path: Path) -> bytes:
    """The bytes of a file that may be from elsewhere: no more than MOST_BYTES, and of a regular file alone.

    Anything else might never end, or never begin. HistoryError.
    """
    try:
        with open(path, "rb", opener=lambda name, flags: os.open(name, flags | os.O_NONBLOCK)) as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise HistoryError(f"{path}: cannot be read: it is no file")
            found = file.read(MOST_BYTES + 1)
    except (OSError, ValueError) as error:
        raise HistoryError(f"{path}: cannot be read: {why_unusable(error)}") from None
    if len(found) > MOST_BYTES:
        raise HistoryError(f"{path}: cannot be read: longer than {MOST_BYTES >> 20} MiB")
    return found


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
