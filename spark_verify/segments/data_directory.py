"""What lies where in a broker's log directories, of which it may have several.

    <broker>/                   the copy of the first, which has the metadata log
    <broker>-2/, ...            those of the others

In each of them:

    <topic>-<partition>/<base offset, 20 digits>.log, .index, .timeindex, .txnindex, .snapshot
    <topic>-<partition>/leader-epoch-checkpoint
    replication-offset-checkpoint, ..., .kafka_cleanshutdown

Folders of replicas that were deleted, moved or found without an owner have names that end otherwise
(`-delete`, `-future`, `-stray`), and so do files that are about to be deleted or swapped in.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from checkers.history.rows import TopicPartition

METADATA_TOPIC = "__cluster_metadata"
NOT_READ = "not-read.json"
"""Beside the copies of the brokers' directories: why there is none of a broker, by its id."""
READ_WHILE_RUNNING = "read-while-running.json"
"""Beside them too: the ids of the brokers that ran while their directories were copied."""
_COPY = re.compile(r"([0-9]{1,9})(?:-[0-9]{1,9})?")
_FOLDER = re.compile(r"(.+)-([0-9]{1,9})")
_SEGMENT = re.compile(r"([0-9]{20})\.log")
_SNAPSHOT = re.compile(r"([0-9]{20})\.snapshot")


@dataclass(frozen=True, slots=True, kw_only=True)
class SegmentFile:
    """One segment as it is listed, nothing of it read yet."""

    base_offset: int
    path: Path
    bytes: int


def reasons_not_copied(replicas_dir: Path) -> Mapping[int, str]:
    """Why the directory of a broker was not copied, as far as it was noted."""
    try:
        noted = json.loads((replicas_dir / NOT_READ).read_text())
        return {int(broker): str(reason) for broker, reason in noted.items()}
    except (OSError, ValueError, AttributeError):
        return {}


def read_while_running(replicas_dir: Path) -> frozenset[int]:
    """The brokers that ran while their directories were copied; none if nothing says so.

    What says so and cannot be read says it of no broker in particular: then OSError or ValueError.
    """
    file = replicas_dir / READ_WHILE_RUNNING
    if not file.exists():
        return frozenset()
    noted = json.loads(file.read_text())
    if not isinstance(noted, list) or not all(isinstance(each, int) for each in noted):
        raise ValueError(f"{file}: not a list of brokers: {str(noted)[:100]}")
    return frozenset(noted)


def copies(replicas_dir: Path) -> dict[int, list[Path]]:
    """The copies of each broker's log directories, the first one first; raises OSError."""
    found: dict[int, list[Path]] = {}
    for directory in sorted(replicas_dir.iterdir()) if replicas_dir.is_dir() else ():
        if name := _COPY.fullmatch(directory.name):
            found.setdefault(int(name[1]), []).append(directory)
    return found


def partition_folders(broker_dir: Path) -> dict[TopicPartition, Path]:
    """The folders of the replicas in this log directory, but that of the metadata log; raises OSError."""
    found = {}
    for folder in sorted(broker_dir.iterdir()):
        name = _FOLDER.fullmatch(folder.name)
        if name and name[1] != METADATA_TOPIC and folder.is_dir():
            found[TopicPartition(name[1], int(name[2]))] = folder
    return found


def segment_files(folder: Path) -> list[SegmentFile]:
    """The segments of a replica in the order of the log; raises OSError."""
    return [
        SegmentFile(base_offset=offset, path=path, bytes=path.stat().st_size)
        for offset, path in _numbered(folder, _SEGMENT)
    ]


def last_snapshot(folder: Path) -> tuple[int, Path] | None:
    """The offset and file of the youngest producer snapshot of a replica, if it has any; raises OSError."""
    return max(_numbered(folder, _SNAPSHOT), default=None)


def _numbered(folder: Path, pattern: re.Pattern[str]) -> list[tuple[int, Path]]:
    files = ((pattern.fullmatch(path.name), path) for path in folder.iterdir())
    return sorted((int(name[1]), path) for name, path in files if name)
