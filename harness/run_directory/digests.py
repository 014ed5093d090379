"""What the manifest keeps of each file of a history: its rows, and the SHA-256 of its bytes.

The files are hashed side by side: hashing gives up the interpreter's lock.
"""

import hashlib
import os
from collections.abc import Callable, Collection, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

from checkers.history.load import rows_of
from harness.run_directory.manifest import ManifestFile

Item = TypeVar("Item")
Result = TypeVar("Result")


def files_of(history: Path) -> Mapping[str, Path]:
    """Every Parquet file of a history by its path below it; none if there is no history."""
    return {str(path.relative_to(history)): path for path in sorted(history.rglob("*.parquet"))}


def digests(history: Path, but: Collection[str] = ()) -> dict[str, ManifestFile]:
    """Rows and SHA-256 of every file of a history, by its path below it, without those in `but`.

    Raises MalformedHistory for one that is not whole.
    """
    files = {name: path for name, path in files_of(history).items() if name not in but}
    return dict(zip(files, side_by_side(_digest, files.values()), strict=True))


def sha256_of(path: Path) -> str:
    """The SHA-256 of a file's bytes."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def side_by_side(work: Callable[[Item], Result], items: Iterable[Item]) -> list[Result]:
    """`work` on every item, a thread for each processor; the results in order, or the first error."""
    with ThreadPoolExecutor(os.cpu_count(), "digest") as pool:
        return list(pool.map(work, items))


def _digest(path: Path) -> ManifestFile:
    return ManifestFile(rows=rows_of(path), sha256=sha256_of(path))
