"""What Kafka's own DumpLogSegments printed of segments and producer snapshots, as rows to compare with.

Not a stand-in: the text is Kafka's, from a cluster test or recorded in tests/fixtures/segments.
"""

import re
from dataclasses import dataclass, field
from pathlib import PurePosixPath

DUMPING = re.compile(r"Dumping (\S+)")
FIELD = re.compile(r"(\w+): (\S+)")
TORN = re.compile(r"Found (\d+) invalid bytes at the end of ")
MARKER = re.compile(r"endTxnMarker: (\w+) coordinatorEpoch: (-?\d+)")


@dataclass
class DumpedRecord:
    """One record line; `key` and `payload` are None where the tool printed none."""

    offset: int
    timestamp_ms: int
    key_bytes: int
    value_bytes: int
    sequence: int
    key: str | None
    payload: str | None
    header_keys: tuple[str, ...]
    marker: tuple[str, int] | None


@dataclass
class DumpedBatch:
    """One batch line: its fields as printed, and its records."""

    fields: dict[str, str]
    records: list[DumpedRecord] = field(default_factory=list)

    def number(self, name: str) -> int:
        return int(self.fields[name])


@dataclass
class DumpedFile:
    """What was printed of one file."""

    batches: list[DumpedBatch] = field(default_factory=list)
    producers: list[dict[str, str]] = field(default_factory=list)
    torn_bytes: int = 0


def parse(text: str) -> dict[str, DumpedFile]:
    """By the file's path, from its folder on."""
    files: dict[str, DumpedFile] = {}
    current = DumpedFile()
    for line in text.splitlines():
        if found := DUMPING.match(line):
            current = files[_name(found[1])] = DumpedFile()
        elif found := TORN.match(line):
            current.torn_bytes = int(found[1])
        elif line.startswith("baseOffset:"):
            current.batches.append(DumpedBatch(dict(FIELD.findall(line))))
        elif line.startswith("producerId:"):
            current.producers.append(dict(FIELD.findall(line)))
        elif line.startswith("| offset:"):
            current.batches[-1].records.append(_record(line))
    return files


def _name(path: str) -> str:
    return "/".join(PurePosixPath(path).parts[-2:])


def _record(line: str) -> DumpedRecord:
    fields = dict(FIELD.findall(line.partition(" headerKeys:")[0]))
    headers = re.search(r"headerKeys: \[(.*?)\]", line)
    rest = line[headers.end() :] if headers else ""
    payload = re.search(r" payload: (.*)$", rest)
    key = re.search(r" key: (.*?)(?: payload: |$)", rest)
    marker = MARKER.search(rest)
    return DumpedRecord(
        offset=int(fields["offset"]),
        timestamp_ms=int(fields.get("CreateTime") or fields["LogAppendTime"]),
        key_bytes=int(fields["keySize"]),
        value_bytes=int(fields["valueSize"]),
        sequence=int(fields["sequence"]),
        key=key[1] if key else None,
        payload=payload[1] if payload else None,
        header_keys=tuple(headers[1].split(",")) if headers and headers[1] else (),
        marker=(marker[1], int(marker[2])) if marker else None,
    )
