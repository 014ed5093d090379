"""The KRaft metadata log as records, decoded by Kafka's own DumpLogSegments in one JVM (about 1 s).

Copying the log takes a moment, decoding it a JVM. So the two are apart, and who decodes later decodes what
the log was when it was copied.
"""

import json
import re
import secrets
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from compose.docker import containers
from compose.docker.containers import ContainerSpec
from compose.errors import NodeNotReady
from compose.host.waiting import wait_until
from compose.nodes.disks.disks import METADATA_LOG, Disks
from compose.spec.images import java_argv, kafka_image

DUMP_S = 60.0
HEAP_MIB = 256
# Kafka has moved the tool between its modules; the name that does not exist ends at once.
TOOLS = ("org.apache.kafka.tools.DumpLogSegments", "kafka.tools.DumpLogSegments")
OUTPUT = "/tmp/dump/output"

SEGMENT = re.compile(r"(\d{20})\.log")
SNAPSHOT = re.compile(r"(\d{20})-\d{10}\.checkpoint")
DUMPING = re.compile(r"Dumping (\S+)")
RECORD = re.compile(r"\| offset: (\d+) CreateTime: (-?\d+) .*? payload: (\{.*\})$")
LEADER_CHANGE = re.compile(r"\| offset: (\d+) CreateTime: (-?\d+) .*? LeaderChange: (\{.*\})$")


@dataclass(frozen=True, slots=True, kw_only=True)
class CopiedLog:
    """A copy of one controller's log, in the run's directory on the engine's machine, until it is decoded."""

    labels: Mapping[str, str]
    release: str
    directory: str
    names: Sequence[str]
    disks: Disks

    def records(self) -> list[dict[str, object]]:
        """Decode it and delete the copy. Raises ComposeError.

        Each record is a dict of `offset`, `timestamp_ms`, `type` and `data`. What stems from a snapshot,
        where the log no longer begins at 0, comes first and has offset -1.
        """
        try:
            return list(parse(_dump(self.labels, self.release, self.directory, self.names)))
        finally:
            self.disks.discard(self.directory)


def copied(labels: Mapping[str, str], release: str, controllers: Sequence[int], disks: Disks) -> CopiedLog:
    """Copy the longest log of `controllers`; the tool of `release` decodes it. Raises ComposeError."""
    listings = {node: disks.files(node, METADATA_LOG) for node in controllers}
    node = max(listings, key=lambda number: _extent(listings[number]))
    names = _wanted(listings[node])
    directory = disks.copy_out(node, METADATA_LOG, names, to=f"metadata-{node}-{secrets.token_hex(4)}")
    return CopiedLog(labels=labels, release=release, directory=directory, names=names, disks=disks)


def parse(text: str) -> Iterator[dict[str, object]]:
    """The records in DumpLogSegments' output, without a torn tail.

    Of the control records only those of leader changes, of type LEADER_CHANGE, where the tool prints what
    they hold (from 4.2 on): `leaderId` is the controller that wrote what follows.
    """
    snapshot = False
    for line in text.splitlines():
        if file := DUMPING.match(line):
            snapshot = file[1].endswith(".checkpoint")
        elif found := RECORD.match(line.strip()):
            payload = json.loads(found[3])
            yield {
                "offset": -1 if snapshot else int(found[1]),
                "timestamp_ms": int(found[2]),
                "type": payload["type"],
                "data": payload["data"],
            }
        elif not snapshot and (found := LEADER_CHANGE.match(line.strip())):
            yield {
                "offset": int(found[1]),
                "timestamp_ms": int(found[2]),
                "type": "LEADER_CHANGE",
                "data": json.loads(found[3]),
            }


def _extent(files: Mapping[str, int]) -> tuple[int, int]:
    """How far a log reaches: the first offset of its last segment, and that segment's size."""
    return max(((int(found[1]), size) for name, size in files.items() if (found := SEGMENT.fullmatch(name))))


def _wanted(files: Mapping[str, int]) -> list[str]:
    """All segments; before them, if they do not begin at 0, the last snapshot that they continue."""
    segments = sorted(name for name in files if SEGMENT.fullmatch(name))
    begin = int(segments[0].removesuffix(".log"))
    snapshots = sorted(name for name in files if (f := SNAPSHOT.fullmatch(name)) and int(f[1]) <= begin)
    return [*snapshots[-1:], *segments] if begin else segments


def _dump(labels: Mapping[str, str], release: str, directory: str, names: Sequence[str]) -> str:
    files = ",".join(f"/metadata/{name}" for name in names)
    options = ("--cluster-metadata-decoder", "--files", files)
    attempts = " || ".join(_quoted(java_argv(tool, *options, heap_mib=HEAP_MIB)) for tool in TOOLS)
    spec = ContainerSpec(
        name=f"hw-{labels['highwater.run']}-dump",
        image=kafka_image(release),
        # What a container prints can be lost when it ends at once; a file in it cannot.
        command=("sh", "-c", f"mkdir -p /tmp/dump; {{ {attempts}; }} >{OUTPUT} 2>/tmp/dump/errors"),
        labels=labels,
        network="none",
        volumes={directory: "/metadata"},
    )
    container = containers.start(spec)
    try:
        state = wait_until(
            f"{spec.name}: the metadata log is decoded",
            lambda: containers.inspect(container.id)["State"],
            lambda state: state["Status"] == "exited",
            within_s=DUMP_S,
        )
        written = containers.get_files(container.id, "/tmp/dump")
    finally:
        containers.remove(container.id, name=spec.name)
    if state["ExitCode"] != 0:
        output = written["errors"].decode(errors="replace")[-2000:]
        raise NodeNotReady(
            f"{spec.name}: DumpLogSegments failed with exit code {state['ExitCode']}:\n{output}"
        )
    return written["output"].decode(errors="replace")


def _quoted(argv: Sequence[str]) -> str:
    return " ".join("'" + word.replace("'", "'\\''") + "'" for word in argv)
