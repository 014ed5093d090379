"""Each node's disks: an ext4 in a file behind a loop device; and the faults of a real file system.

A node has a disk for each of its log directories, numbered from 1 on; the first one has its metadata log too.
All work is done by recipes/programs/disk.sh in the standing helper container. It mounts a disk only for
the time of a call, so a power cut finds no other mount that would keep the file system alive.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from compose.docker import containers
from compose.docker.labels import Owner
from compose.errors import DiskError
from compose.nodes.disks.storage_format import Files, new_id
from compose.nodes.helper import DISKS_DIR, Helper
from compose.protocols import LogExtent
from compose.spec.server_properties import disk_label

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
    """The disks of one run's nodes. `log_dir` is the number of a node's log directory, None: all of them."""

    helper: Helper
    directory: str
    devices: Mapping[int, Sequence[str]]
    """By node, in the order of its log directories."""

    def count(self, node: int) -> int:
        """How many log directories the node has."""
        return len(self.devices[node])

    def fill(self, made: Mapping[int, Sequence[Files]]) -> None:
        """Write each node's formatted files to its disks, synced, so that a power cut finds them whole."""
        staged: dict[str, bytes] = {}
        pairs: list[str] = []
        for node, directories in made.items():
            for number, (files, device) in enumerate(
                zip(directories, self.devices[node], strict=True), start=1
            ):
                label = disk_label(node, number)
                staged |= {f"{STAGE}/{label}/{path}": text for path, text in files.items()}
                pairs.append(f"{label}={device}")
        containers.put_files(self.helper.container_id, staged)
        self.helper.disk("fill", STAGE, *pairs)

    def freeze(self, node: int, log_dir: int | None = None) -> None:
        """Flush the file system, then let every write to it block."""
        for device in self._of(node, log_dir):
            self.helper.disk("freeze", device)

    def thaw(self, node: int, log_dir: int | None = None) -> None:
        """Undo `freeze`; nothing to do on a disk that is not frozen."""
        for device in self._of(node, log_dir):
            self.helper.disk("thaw", device)

    def is_frozen(self, node: int, log_dir: int | None = None) -> bool:
        """Whether any of the disks is mounted and frozen, read from its superblock."""
        return any(self.helper.disk("frozen", each).strip() == "yes" for each in self._of(node, log_dir))

    def drop_unsynced(self, node: int, log_dir: int | None = None) -> tuple[str, ...]:
        """Shut the file system down without a flush: what was never synced is gone. Returns the error with
        which each of them answers since; DiskError if one still opens files."""
        return tuple(self.helper.disk("drop", device).strip() for device in self._of(node, log_dir))

    def fill_up(self, node: int, log_dir: int) -> None:
        """Take all space that is free on the disk. Raises DiskError if a MiB or more is free after."""
        self.helper.disk("fill-up", *self._of(node, log_dir))
        if room := self.room_bytes(node, log_dir):
            raise DiskError(
                f"log directory {log_dir} of node {node} was filled up, and still has {room} bytes free"
            )

    def free_up(self, node: int, log_dir: int) -> None:
        """Give back what `fill_up` has taken."""
        self.helper.disk("free-up", *self._of(node, log_dir))

    def wipe(self, node: int, log_dir: int | None = None, *, new: bool) -> None:
        """Empty the node's log directories, formatted for the same node; `new`: each under another id."""
        for device in self._of(node, log_dir):
            self.helper.disk("wipe", device, *([new_id()] if new else []))

    def log_sizes(self, node: int, log_dir: int | None = None, *, with_metadata: bool) -> dict[str, int]:
        """Bytes of each `*.log` file, by the number of its log directory and its path there.

        `with_metadata`: also those of the KRaft metadata log.
        """
        numbers = range(1, self.count(node) + 1) if log_dir is None else (log_dir,)
        found: dict[str, int] = {}
        for number, device in zip(numbers, self._of(node, log_dir), strict=True):
            rows = (line.split(" ", 1) for line in self.helper.disk("logs", device).splitlines())
            found |= {f"{number}/{path}": int(size) for size, path in rows}
        return {path: size for path, size in found.items() if counts(path, with_metadata=with_metadata)}

    def unsynced_bytes(self, node: int, log_dir: int | None = None, *, with_metadata: bool) -> int:
        """Bytes of `*.log` files that have no place on the disk yet, so that a power cut takes them.

        A lower bound: what was written back in the last seconds has a place, but the journal may not know
        it yet.
        """
        found = (delayed_bytes(self.helper.disk("extents", each)) for each in self._of(node, log_dir))
        return sum(
            size
            for by_file in found
            for path, size in by_file.items()
            if counts(path, with_metadata=with_metadata)
        )

    def show(self, path: str, nodes: Sequence[int]) -> dict[int, str]:
        """The text of the file `path` of each node's first log directory, "" where there is none."""
        text = self.helper.disk("show", f"kafka/{path}", *(self._first(node) for node in nodes))
        parts = re.split(r"^== \S+\n", text, flags=re.MULTILINE)[1:]
        return dict(zip(nodes, parts, strict=True))

    def files(self, node: int, directory: str) -> dict[str, int]:
        """Size by name of the files in `directory` of the node's first log directory."""
        lines = self.helper.disk("files", self._first(node), f"kafka/{directory}").splitlines()
        return {name: int(size) for size, name in (line.split(" ", 1) for line in lines)}

    def copy_out(self, node: int, directory: str, names: Sequence[str], *, to: str) -> str:
        """Copy files of the first log directory to the subdirectory `to` of the run's directory; its path on
        the engine's machine."""
        path = f"{self.directory}/{to}"
        self.helper.disk("copy", self._first(node), f"kafka/{directory}", path, *names)
        return path

    def log_ends(self, node: int, log_dir: int | None = None) -> dict[tuple[str, int], LogExtent]:
        """The extent of each partition's log as it is on the disk; Kafka's internal topics are left out.

        So is a partition that lies in two log directories: nobody knows which of them the node would take.
        """
        found: dict[tuple[str, int], LogExtent] = {}
        twice: set[tuple[str, int]] = set()
        for device in self._of(node, log_dir):
            extents = dict(_extent(line) for line in self.helper.disk("ends", device).splitlines())
            twice |= found.keys() & extents.keys()
            found |= extents
        return {place: extent for place, extent in found.items() if place not in twice}

    def tree(self, node: int, log_dir: int) -> dict[str, int]:
        """Size by path of the files in the log directory, and in the directories in it."""
        lines = self.helper.disk("tree", *self._of(node, log_dir)).splitlines()
        return {path: int(size) for size, path in (line.split(" ", 1) for line in lines)}

    def gather(
        self, node: int, log_dir: int, names: Sequence[str], *, size_bytes: int, to: str, like: str = ""
    ) -> str:
        """As `copy_out`, for files and whole directories of a log directory; indexes are left out.

        All of them have `size_bytes`, by which it may take its time. `like` is what this has returned for
        another node: what is the same there takes no room again.
        """
        path = f"{self.directory}/{to}"
        within_s, device = max(GATHER_S, size_bytes / GATHERED_PER_S), self._of(node, log_dir)
        self.helper.disk("gather", *device, path, like or NOWHERE, *names, within_s=within_s)
        return path

    def free_bytes(self) -> int:
        """Bytes that are free where the run's disks are, on the engine's machine."""
        return int(self.helper.disk("free", self.directory)) << 20

    def room_bytes(self, node: int, log_dir: int) -> int:
        """Bytes that are free on the disk of a log directory, which must be readable. Raises DiskError."""
        return int(self.helper.disk("room", *self._of(node, log_dir))) << 20

    def _first(self, node: int) -> str:
        """The device with the node's metadata log."""
        return self.devices[node][0]

    def _of(self, node: int, log_dir: int | None) -> Sequence[str]:
        every = self.devices[node]
        if log_dir is None:
            return every
        if not 1 <= log_dir <= len(every):
            raise DiskError(f"node {node} has no log directory {log_dir}; it has {len(every)}")
        return every[log_dir - 1 : log_dir]

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


def make_disks(helper: Helper, owner: Owner, counts: Mapping[int, int], *, mib: int) -> Disks:
    """Make so many disks of `mib` MiB for each node; first the owner, so that a crash leaves nothing
    unnamed."""
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
    labels = {
        node: [disk_label(node, number) for number in range(1, count + 1)] for node, count in counts.items()
    }
    wanted = [label for its in labels.values() for label in its]
    lines = helper.disk("make", directory, owner.run_id, str(mib), *wanted, within_s=60).split("\n")
    made = {pair[0]: pair[1] for pair in (line.split() for line in lines if line)}
    if set(made) != set(wanted):
        raise DiskError(f"{directory}: disks were made for {sorted(made)}, wanted {sorted(wanted)}")
    devices = {node: tuple(made[label] for label in its) for node, its in labels.items()}
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
