"""Copies what an audit of the replicas reads from each broker's disk to a directory of this machine.

A disk is mounted by the helper only. It copies the files to the run's directory on the engine's machine,
which goes with the cluster. If that is this machine they are moved from there; else the engine sends them as
one archive, which takes ten times as long. Replicas of one log are alike, byte for byte: of three that are,
one is copied, and the others are compared with it and become links to it, in a third of the time. Nothing is
copied that the audit does not read: offset and time indexes are not.
"""

import re
import shutil
from collections.abc import Collection, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path, PurePosixPath

from compose.docker import containers
from compose.errors import ComposeError, DiskError
from compose.nodes.disks import Disks

CHECKPOINTS = frozenset(
    {
        "replication-offset-checkpoint",
        "recovery-point-offset-checkpoint",
        "log-start-offset-checkpoint",
        ".kafka_cleanshutdown",
        "meta.properties",
    }
)
"""Files of the data directory itself. What a directory of a partition has is all copied, but for SKIPPED."""

SKIPPED = (".index", ".timeindex")

LEFT_FREE = 1 << 30
"""Bytes that stay free on both machines: what else the run writes must not meet a full disk."""


def save(disks: Disks, brokers: Collection[int], topics: Collection[str], into: Path) -> dict[int, str]:
    """Copy the replicas of `topics` to `into`/<broker>/; by broker, why not, "" if it was done."""
    with ThreadPoolExecutor(len(brokers) + 1) as pool:
        free = pool.submit(_free_bytes, disks)
        listed = dict(zip(brokers, pool.map(lambda node: _listed(disks, node, topics), brokers), strict=True))
        wanted = {node: found for node, found in listed.items() if isinstance(found, dict)}
        size = sum(sum(sizes.values()) for sizes in wanted.values())
        unread = {node: reason for node, reason in listed.items() if isinstance(reason, str)}
        if full := _no_room(size, into, free.result()):
            return unread | dict.fromkeys(wanted, full)
        first = next(iter(wanted), None)
        like = "" if first is None else _gathered(disks, first, wanted[first])
        others = [node for node in wanted if node != first]
        found = pool.map(lambda node: _gathered(disks, node, wanted[node], like), others)
        alike = dict(zip(others, found, strict=True))
        copied = pool.map(
            lambda n: _saved(disks, n, topics, wanted[n], into / str(n), alike.get(n, like)), wanted
        )
        return unread | dict(zip(wanted, copied, strict=True))


def wanted_files(files: Mapping[str, int], topics: Collection[str]) -> dict[str, int]:
    """Those of a data directory's files (size by path) that an audit of `topics` reads.

    A partition's directory may have been renamed `<topic>-<p>.<id>-delete`, `-stray` or `-future`; it is
    copied under that name.
    """
    names = "|".join(map(re.escape, topics))
    partition = re.compile(rf"(?:{names})-\d+(?:\.[^/]+-(?:delete|stray|future))?")
    return {path: size for path, size in files.items() if _is_wanted(PurePosixPath(path), partition)}


def _is_wanted(path: PurePosixPath, partition: re.Pattern[str]) -> bool:
    match path.parts:
        case (name,):
            return name in CHECKPOINTS
        case (directory, name):
            return bool(partition.fullmatch(directory)) and not name.endswith(SKIPPED)
    return False


def _listed(disks: Disks, node: int, topics: Collection[str]) -> dict[str, int] | str:
    try:
        return wanted_files(disks.tree(node), topics)
    except ComposeError as error:
        return f"its disk cannot be read: {error}"


def _free_bytes(disks: Disks) -> int | str:
    try:
        return disks.free_bytes()
    except ComposeError as error:
        return f"the engine's free space is not known: {error}"


def _no_room(size: int, into: Path, free_there: int | str) -> str:
    """Why `size` bytes cannot be copied. One file system may have both directories, and so both copies."""
    if isinstance(free_there, str):
        return free_there
    into.mkdir(parents=True, exist_ok=True)
    needed, free = 2 * size + LEFT_FREE, min(shutil.disk_usage(into).free, free_there)
    if free >= needed:
        return ""
    return (
        f"{size >> 20} MiB of replicas were not copied: {free >> 20} MiB are free, {needed >> 20} are needed"
    )


def _gathered(disks: Disks, node: int, files: Mapping[str, int], like: str = "") -> str:
    """Where the copy is on the engine's machine; "" if there is none."""
    try:
        return _gather(disks, node, files, like)
    except ComposeError:
        return ""


def _saved(
    disks: Disks, node: int, topics: Collection[str], files: Mapping[str, int], into: Path, path: str
) -> str:
    """Take what was gathered at `path`. Once more if a file has changed meanwhile: a broker that runs
    replaces its checkpoints every 5 s."""
    try:
        try:
            if not path:
                raise DiskError(f"the disk of node {node} was not copied")
            _take(disks, path, files, into)
        except DiskError:
            shutil.rmtree(into, ignore_errors=True)
            files = wanted_files(disks.tree(node), topics)
            _take(disks, _gather(disks, node, files), files, into)
    except (ComposeError, OSError) as error:
        shutil.rmtree(into, ignore_errors=True)
        return f"its replicas could not be copied: {error}"
    return ""


def _moved(here: Path, into: Path) -> bool:
    """Move the directory, or copy it to another file system; False if this user cannot read it here."""
    into.mkdir(parents=True, exist_ok=True)
    try:
        here.rename(into)
    except OSError:
        try:
            shutil.copytree(here, into, dirs_exist_ok=True)
        except OSError:
            return False
    return True


def _gather(disks: Disks, node: int, files: Mapping[str, int], like: str = "") -> str:
    names = tuple(dict.fromkeys(PurePosixPath(path).parts[0] for path in files))
    size = sum(files.values())
    return disks.gather(node, names, size_bytes=size, to=f"replicas-{node}", like=like)


def _take(disks: Disks, path: str, files: Mapping[str, int], into: Path) -> None:
    if not _moved(Path(path), into):
        containers.save_directory(disks.helper.container_id, path, into)
    for name, size in files.items():
        file = into / name
        found = file.stat().st_size if file.is_file() else -1
        if found != size:
            raise DiskError(f"{name}: {size} bytes on the disk, {found} in the copy")
