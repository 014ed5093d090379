"""Copies what an audit of the replicas reads from each broker's disks to directories of this machine.

A broker has a disk for each of its log directories, and a replica lies in any of them. A disk is mounted by
the helper only. It copies the files to the run's directory on the engine's machine, which goes with the
cluster. If that is this machine they are moved from there; else the engine sends them as one archive, which
takes ten times as long. Replicas of one log are alike, byte for byte: of three that are, one is copied, and
the others are compared with it and become links to it, in a third of the time. Nothing is copied that the
audit does not read: offset and time indexes are not.
"""

import re
import shutil
from collections.abc import Collection, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path, PurePosixPath

from compose.docker import containers
from compose.errors import ComposeError, DiskError
from compose.nodes.disks.disks import Disks
from compose.spec.server_properties import disk_label

Place = tuple[int, int]
"""A broker and the number of one of its log directories."""

CHECKPOINTS = frozenset(
    {
        "replication-offset-checkpoint",
        "recovery-point-offset-checkpoint",
        "log-start-offset-checkpoint",
        ".kafka_cleanshutdown",
        "meta.properties",
    }
)
"""Files of a log directory itself. What a directory of a partition has is all copied, but for SKIPPED."""

SKIPPED = (".index", ".timeindex")

TAKES = 4
"""How often a copy is taken that differs from its listing. A broker that runs replaces its high watermarks
every 5 s, its recovery points and log starts every 60 s, and these timers can run out together: each of the
three may have another length by the time that it is copied, and none in two copies that follow at once."""

LEFT_FREE = 1 << 30
"""Bytes that stay free on both machines: what else the run writes must not meet a full disk."""


class _Differs(DiskError):
    """A file of the copy has not the length that was listed."""


def save(disks: Disks, brokers: Collection[int], topics: Collection[str], into: Path) -> dict[int, str]:
    """Copy the replicas of `topics` to `into`/<broker>/, and from further log directories to
    `into`/<broker>-2/ and so on; by broker, why not, "" if all of it was done."""
    places = [(node, number) for node in brokers for number in range(1, disks.count(node) + 1)]
    with ThreadPoolExecutor(len(places) + 1) as pool:
        free = pool.submit(_free_bytes, disks)
        listed = dict(zip(places, pool.map(lambda each: _listed(disks, each, topics), places), strict=True))
        unread = {node: found for (node, _), found in listed.items() if isinstance(found, str)}
        wanted = {
            place: found
            for place, found in listed.items()
            if isinstance(found, dict) and place[0] not in unread
        }
        size = sum(sum(sizes.values()) for sizes in wanted.values())
        if full := _no_room(size, into, free.result()):
            return unread | {node: full for node, _ in wanted}
        first = [place for place in wanted if place[0] == min(wanted)[0]]
        others = [place for place in wanted if place not in first]
        paths = dict(
            zip(first, pool.map(lambda each: _gathered(disks, each, wanted[each]), first), strict=True)
        )
        like = next((str(PurePosixPath(path).parent) for path in paths.values() if path), "")
        found = pool.map(lambda each: _gathered(disks, each, wanted[each], like), others)
        paths |= dict(zip(others, found, strict=True))
        reasons = pool.map(lambda each: _saved(disks, each, topics, wanted[each], into, paths[each]), wanted)
        return unread | _by_broker(dict(zip(wanted, reasons, strict=True)), into)


def _by_broker(reasons: Mapping[Place, str], into: Path) -> dict[int, str]:
    """Why a broker's replicas were not all copied, by broker; then nothing stays of the others."""
    found: dict[int, str] = {}
    for (node, _), reason in reasons.items():
        found[node] = found.get(node) or reason
    for node, number in reasons:
        if found[node]:
            shutil.rmtree(into / disk_label(node, number), ignore_errors=True)
    return found


def wanted_files(files: Mapping[str, int], topics: Collection[str]) -> dict[str, int]:
    """Those of a log directory's files (size by path) that an audit of `topics` reads.

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


def _listed(disks: Disks, place: Place, topics: Collection[str]) -> dict[str, int] | str:
    try:
        return wanted_files(disks.tree(*place), topics)
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


def _gathered(disks: Disks, place: Place, files: Mapping[str, int], like: str = "") -> str:
    """Where the copy is on the engine's machine; "" if there is none."""
    try:
        return _gather(disks, place, files, like)
    except ComposeError:
        return ""


def _saved(
    disks: Disks, place: Place, topics: Collection[str], files: Mapping[str, int], into: Path, path: str
) -> str:
    """Take what was gathered at `path`, or take it anew."""
    into = into / disk_label(*place)
    try:
        if not (path and _is_taken(disks, path, files, into)):
            _take_anew(disks, place, topics, into)
    except (ComposeError, OSError) as error:
        shutil.rmtree(into, ignore_errors=True)
        return f"its replicas could not be copied: {error}"
    return ""


def _take_anew(disks: Disks, place: Place, topics: Collection[str], into: Path) -> None:
    """List, gather and take a log directory, again if the copy differs. Raises what the last of it raised."""
    for left in reversed(range(TAKES - 1)):
        shutil.rmtree(into, ignore_errors=True)
        files = wanted_files(disks.tree(*place), topics)
        try:
            _take(disks, _gather(disks, place, files), files, into)
        except _Differs:
            if not left:
                raise
        else:
            return


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


def _gather(disks: Disks, place: Place, files: Mapping[str, int], like: str = "") -> str:
    node, number = place
    names = tuple(dict.fromkeys(PurePosixPath(path).parts[0] for path in files))
    size, to = sum(files.values()), f"replicas-{node}/{number}"
    return disks.gather(node, number, names, size_bytes=size, to=to, like=like)


def _is_taken(disks: Disks, path: str, files: Mapping[str, int], into: Path) -> bool:
    try:
        _take(disks, path, files, into)
    except DiskError:
        return False
    return True


def _take(disks: Disks, path: str, files: Mapping[str, int], into: Path) -> None:
    if not _moved(Path(path), into):
        containers.save_directory(disks.helper.container_id, path, into)
    for name, size in files.items():
        file = into / name
        found = file.stat().st_size if file.is_file() else -1
        if found != size:
            raise _Differs(f"{name}: {size} bytes on the disk, {found} in the copy")
