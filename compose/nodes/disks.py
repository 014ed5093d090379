"""Each node's disk: an ext4 in a file behind a loop device; and the faults of a real file system.

All work is done by recipes/disk.sh in the standing helper container. It mounts a disk only for the time of a
call, so a power cut finds no other mount that would keep the file system alive.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from compose.docker import containers
from compose.docker.labels import Owner
from compose.errors import DiskError
from compose.nodes.helper import DISKS_DIR, Helper
from compose.nodes.storage_format import new_id
from compose.protocols import LogExtent

OWNER_FILE = "owner.json"
STAGE = "/highwater/fill"
GATHER_S, GATHERED_PER_S = 120.0, 10_000_000
"""At least, and so many bytes a second: a very slow copy. A disk has 1 GiB by default, or as many as the load
needs."""
NOWHERE = "/nowhere"
METADATA_LOG = "__cluster_metadata-0"
PUT_ASIDE = ("-delete", "-stray")
"""How the name of a directory ends that Kafka will delete; a replica's ends with its partition's number."""

FILE_LINE = re.compile(r"File size of (.*) is (\d+) \(\d+ blocks? of (\d+) bytes\)")
EXTENT_LINE = re.compile(r"\s*\d+:\s*(\d+)\.\.\s*(\d+):.*:\s*(\S*)\s*$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Disks:
    """The disks of one run's nodes."""

    helper: Helper
    directory: str
    devices: Mapping[int, str]

    def fill(self, files: Mapping[int, Mapping[str, bytes]]) -> None:
        """Write each node's formatted files to its disk, synced, so that a power cut finds them whole."""
        staged = {f"{STAGE}/{node}/{path}": text for node, few in files.items() for path, text in few.items()}
        containers.put_files(self.helper.container_id, staged)
        self.helper.disk("fill", STAGE, *(f"{node}={self.devices[node]}" for node in files))

    def freeze(self, node: int) -> None:
        """Flush the file system, then let every write to it block."""
        self.helper.disk("freeze", self.devices[node])

    def thaw(self, node: int) -> None:
        """Undo `freeze`; nothing to do on a disk that is not frozen."""
        self.helper.disk("thaw", self.devices[node])

    def is_frozen(self, node: int) -> bool:
        """Whether the disk is mounted and frozen, read from its superblock."""
        return self.helper.disk("frozen", self.devices[node]).strip() == "yes"

    def drop_unsynced(self, node: int) -> None:
        """Shut the file system down without a flush: what was never synced is gone."""
        self.helper.disk("drop", self.devices[node])

    def fill_up(self, node: int) -> None:
        """Take all space that is free on the node's disk. Raises DiskError if a MiB or more is free after."""
        self.helper.disk("fill-up", self.devices[node])
        if room := self.room_bytes(node):
            raise DiskError(f"the disk of node {node} was filled up, and still has {room} bytes free")

    def free_up(self, node: int) -> None:
        """Give back what `fill_up` has taken."""
        self.helper.disk("free-up", self.devices[node])

    def wipe(self, node: int, *, new: bool) -> None:
        """Empty the node's data directory, formatted for the same node; `new`: under another id."""
        self.helper.disk("wipe", self.devices[node], *([new_id()] if new else []))

    def log_sizes(self, node: int, *, with_metadata: bool) -> dict[str, int]:
        """Bytes of each `*.log` file, by its path; `with_metadata`: also those of the KRaft metadata log."""
        rows = (line.split(" ", 1) for line in self.helper.disk("logs", self.devices[node]).splitlines())
        return {path: int(size) for size, path in rows if counts(path, with_metadata=with_metadata)}

    def unsynced_bytes(self, node: int, *, with_metadata: bool) -> int:
        """Bytes of `*.log` files that have no place on the disk yet, so that a power cut takes them.

        A lower bound: what was written back in the last seconds has a place, but the journal may not know
        it yet.
        """
        by_file = delayed_bytes(self.helper.disk("extents", self.devices[node]))
        return sum(size for path, size in by_file.items() if counts(path, with_metadata=with_metadata))

    def show(self, path: str, nodes: Sequence[int]) -> dict[int, str]:
        """The text of the file `path` of the data directory on each node's disk, "" where there is none."""
        text = self.helper.disk("show", f"kafka/{path}", *(self.devices[node] for node in nodes))
        parts = re.split(r"^== \S+\n", text, flags=re.MULTILINE)[1:]
        return dict(zip(nodes, parts, strict=True))

    def files(self, node: int, directory: str) -> dict[str, int]:
        """Size by name of the files in `directory` of the node's data directory."""
        lines = self.helper.disk("files", self.devices[node], f"kafka/{directory}").splitlines()
        return {name: int(size) for size, name in (line.split(" ", 1) for line in lines)}

    def copy_out(self, node: int, directory: str, names: Sequence[str], *, to: str) -> str:
        """Copy files to the subdirectory `to` of the run's directory; its path on the engine's machine."""
        path = f"{self.directory}/{to}"
        self.helper.disk("copy", self.devices[node], f"kafka/{directory}", path, *names)
        return path

    def log_ends(self, node: int) -> dict[tuple[str, int], LogExtent]:
        """The extent of each partition's log as it is on the disk; Kafka's internal topics are left out."""
        lines = self.helper.disk("ends", self.devices[node]).splitlines()
        return dict(_extent(line) for line in lines)

    def tree(self, node: int) -> dict[str, int]:
        """Size by path of the files in the node's data directory, and in the directories in it."""
        lines = self.helper.disk("tree", self.devices[node]).splitlines()
        return {path: int(size) for size, path in (line.split(" ", 1) for line in lines)}

    def gather(self, node: int, names: Sequence[str], *, size_bytes: int, to: str, like: str = "") -> str:
        """As `copy_out`, for files and whole directories of the data directory; indexes are left out.

        All of them have `size_bytes`, by which it may take its time. `like` is what this has returned for
        another node: what is the same there takes no room again.
        """
        path = f"{self.directory}/{to}"
        within_s = max(GATHER_S, size_bytes / GATHERED_PER_S)
        self.helper.disk("gather", self.devices[node], path, like or NOWHERE, *names, within_s=within_s)
        return path

    def free_bytes(self) -> int:
        """Bytes that are free where the run's disks are, on the engine's machine."""
        return int(self.helper.disk("free", self.directory)) << 20

    def room_bytes(self, node: int) -> int:
        """Bytes that are free on the node's own file system, which must be readable. Raises DiskError."""
        return int(self.helper.disk("room", self.devices[node])) << 20

    def discard(self, path: str) -> None:
        """Delete a directory that `copy_out` made."""
        self.helper.disk("remove", path)


def counts(path: str, *, with_metadata: bool) -> bool:
    """Is this the file of a replica that the node has, or, `with_metadata`, of its metadata log?

    A replica that is to be deleted gets another name at once, and its files go a minute later: nobody's loss,
    and no standstill of what is written.
    """
    directory = path.rpartition("/")[0]
    return not directory.endswith(PUT_ASIDE) and (
        with_metadata or directory.rpartition("/")[2] != METADATA_LOG
    )


def _extent(line: str) -> tuple[tuple[str, int], LogExtent]:
    """One line of log_ends.pl: "START END TOPIC-PARTITION"."""
    start, end, name = line.split(" ", 2)
    topic, _, partition = name.rpartition("-")
    return (topic, int(partition)), LogExtent(log_start=int(start), log_end=int(end))


def make_disks(helper: Helper, owner: Owner, nodes: Sequence[int], *, mib: int) -> Disks:
    """Make a disk of `mib` MiB for each node; first the owner, so that a crash leaves nothing unnamed."""
    directory = str(DISKS_DIR / owner.run_id)
    helper.run(
        [
            "sh",
            "-euc",
            f'mkdir -p "$1"; echo "$2" > "$1/{OWNER_FILE}"',
            "_",
            directory,
            json.dumps(owner.labels()),
        ]
    )
    lines = helper.disk("make", directory, owner.run_id, str(mib), *map(str, nodes), within_s=60).split("\n")
    devices = {int(node): device for node, device in (line.split() for line in lines if line)}
    if set(devices) != set(nodes):
        raise DiskError(f"{directory}: disks were made for nodes {sorted(devices)}, wanted {sorted(nodes)}")
    return Disks(helper=helper, directory=directory, devices=devices)


def delayed_bytes(filefrag: str) -> dict[str, int]:
    """By file of `filefrag -e -v` output: bytes in extents that are not yet allocated, or not yet written."""
    delayed: dict[str, int] = {}
    path, size, block = "", 0, 0
    for line in filefrag.splitlines():
        if head := FILE_LINE.match(line):
            path, size, block = head[1], int(head[2]), int(head[3])
        elif (extent := EXTENT_LINE.match(line)) and {"delalloc", "unwritten"} & set(extent[3].split(",")):
            first, last = int(extent[1]), int(extent[2])
            delayed[path] = delayed.get(path, 0) + max(0, min(size, (last + 1) * block) - first * block)
    return delayed
