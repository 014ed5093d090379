"""The small text files of a broker's data directory. Each is read whole; what Kafka would not write is a
DamagedFile that names file and line.

    leader-epoch-checkpoint          in a partition's folder: where each leader epoch begins (KIP-101)
    replication-offset-checkpoint    the high watermarks, written every 5 s: each a lower bound
    recovery-point-offset-checkpoint up to where each log is flushed
    log-start-offset-checkpoint      log starts above a log's first segment (DeleteRecords, KIP-107)
    meta.properties                  whose disk this is
    .kafka_cleanshutdown             only after a clean stop; since KIP-966 with the broker's epoch

A checkpoint has its version in the first line, the number of entries in the second, then an entry a line.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from spark_verify.errors import DamagedFile

LEADER_EPOCHS = "leader-epoch-checkpoint"
HIGH_WATERMARKS = "replication-offset-checkpoint"
RECOVERY_POINTS = "recovery-point-offset-checkpoint"
LOG_STARTS = "log-start-offset-checkpoint"
META_PROPERTIES = "meta.properties"
CLEAN_SHUTDOWN = ".kafka_cleanshutdown"

_MOST_BYTES = 64 << 20
"""A million partitions; a file that is larger is none of Kafka's."""
_NUMBER = re.compile(r"-?[0-9]{1,19}")
_PROPERTY = re.compile(r"([^=:#!\s]+)\s*[=:]\s*(.*)")


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaderEpochs:
    """The leader epochs of one replica's log and the offset at which each begins; whether they ascend is
    not looked at here."""

    epochs: tuple[int, ...]
    starts: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class MetaProperties:
    """Whose disk a data directory is. Version 0, from before KRaft, has neither node nor directory id."""

    version: int
    cluster_id: str
    node_id: int
    directory_id: str


def leader_epochs(file: Path) -> LeaderEpochs:
    """Read a leader-epoch-checkpoint, in the order of the file; raises DamagedFile, OSError."""
    entries = []
    for line, words in _entries(file):
        epoch, start = _numbers(file, line, words, 2)
        if not 0 <= epoch < 1 << 31:
            raise DamagedFile(file, f"line {line}", f"{epoch} is no leader epoch")
        entries.append((epoch, start))
    return LeaderEpochs(epochs=tuple(e for e, _ in entries), starts=tuple(s for _, s in entries))


def offsets(file: Path) -> Mapping[tuple[str, int], int]:
    """Read a checkpoint of offsets by topic and partition; raises DamagedFile, OSError."""
    found: dict[tuple[str, int], int] = {}
    for line, words in _entries(file):
        if len(words) != 3:
            raise DamagedFile(
                file, f"line {line}", f"{' '.join(words)[:100]!r} is not topic, partition, offset"
            )
        partition, offset = _numbers(file, line, words[1:], 2)
        key = (words[0], partition)
        if key in found:
            raise DamagedFile(file, f"line {line}", f"a second entry of {words[0]}-{partition}")
        found[key] = offset
    return found


def meta_properties(file: Path) -> MetaProperties:
    """Read meta.properties; raises DamagedFile, OSError."""
    found: dict[str, str] = {}
    for line, text in enumerate(_lines(file), 1):
        if not text.strip() or text.lstrip().startswith(("#", "!")):
            continue
        pair = _PROPERTY.fullmatch(text.strip())
        if pair is None:
            raise DamagedFile(file, f"line {line}", f"{text[:100]!r} is not a property")
        found[pair[1]] = pair[2]
    version = _property_number(file, found, "version", None)
    return MetaProperties(
        version=version,
        cluster_id=found.get("cluster.id", ""),
        node_id=_property_number(file, found, "node.id", _property_number(file, found, "broker.id", -1)),
        directory_id=found.get("directory.id", ""),
    )


def clean_shutdown_epoch(file: Path) -> int:
    """The broker's epoch that it wrote when it stopped cleanly; -1 from releases that write none. Raises
    DamagedFile, OSError."""
    text = "\n".join(_lines(file))
    if not text.strip():
        return -1
    try:
        noted = json.loads(text)
        epoch = str(noted.get("brokerEpoch", noted.get("broker_epoch", -1)))
    except (ValueError, AttributeError, RecursionError):
        epoch = ""
    if not _NUMBER.fullmatch(epoch):
        raise DamagedFile(file, "line 1", f"{text[:100]!r} is not what a clean stop writes")
    return int(epoch)


def _property_number(file: Path, found: Mapping[str, str], key: str, default: int | None) -> int:
    text = found.get(key)
    if text is None and default is not None:
        return default
    if text is None or not _NUMBER.fullmatch(text):
        raise DamagedFile(file, key, f"{text!r} is not a number" if text is not None else "missing")
    return int(text)


def _entries(file: Path) -> Iterator[tuple[int, Sequence[str]]]:
    """The words of each entry of a checkpoint with the number of its line."""
    lines = _lines(file)
    if not lines:
        raise DamagedFile(file, "line 1", "the file is empty")
    (version,) = _numbers(file, 1, lines[0].split(), 1)
    if version != 0:
        raise DamagedFile(file, "line 1", f"version {version}, only 0 is known")
    if len(lines) < 2:
        raise DamagedFile(file, "line 2", "the number of entries is missing")
    (count,) = _numbers(file, 2, lines[1].split(), 1)
    if count != len(lines) - 2:
        raise DamagedFile(file, "line 2", f"{count} entries declared, {len(lines) - 2} are there")
    return ((number, text.split()) for number, text in enumerate(lines[2:], 3))


def _numbers(file: Path, line: int, words: Sequence[str], count: int) -> tuple[int, ...]:
    if len(words) != count or not all(map(_NUMBER.fullmatch, words)):
        wanted = "a number" if count == 1 else f"{count} numbers"
        raise DamagedFile(file, f"line {line}", f"{' '.join(words)[:100]!r} is not {wanted}")
    numbers = tuple(map(int, words))
    if any(abs(number) >= 1 << 63 for number in numbers):
        raise DamagedFile(file, f"line {line}", f"{' '.join(words)[:100]!r} exceeds 64 bits")
    return numbers


def _lines(file: Path) -> list[str]:
    """The lines of a file in UTF-8; those of a file that ends in a newline have no empty one at the end."""
    with file.open("rb") as opened:
        content = opened.read(_MOST_BYTES + 1)
    if len(content) > _MOST_BYTES:
        raise DamagedFile(file, f"byte {_MOST_BYTES}", "larger than any file of this kind")
    try:
        text = content.decode()
    except UnicodeDecodeError as error:
        raise DamagedFile(file, f"byte {error.start}", "not UTF-8") from None
    lines = text.split("\n")
    return lines[:-1] if not lines[-1] else lines
