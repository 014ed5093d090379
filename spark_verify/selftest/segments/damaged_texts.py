"""Damages checkpoints and producer snapshots, and holds what is read of them against what stands there."""

import struct
from collections.abc import Callable
from pathlib import Path
from random import Random

import google_crc32c

from spark_verify.errors import DamagedFile
from spark_verify.segments import checkpoints
from spark_verify.segments.producer_snapshot import ENTRY, read_snapshot

_WORDS = (b"0", b"-1", b"99999999999999999999", b"orders", b"\xff", b"\n", b" ", b"1e3", b"0x1", b"\x00")


def check_text_or_snapshot(rng: Random, folder: Path) -> tuple[str, bool, str]:
    """Damage one file: its kind, whether the parser reported something, and what is wrong with its answer.

    The file is removed: one that is written over is flushed to the disk each time (ext4).
    """
    found = rng.choice((_epochs, _offsets, _properties, _clean_shutdown, _snapshot))(rng, folder)
    for file in folder.iterdir():
        file.unlink()
    return found


def _epochs(rng: Random, folder: Path) -> tuple[str, bool, str]:
    entries = [f"{epoch} {epoch * rng.randrange(1, 50)}" for epoch in range(rng.randrange(6))]

    def said(file: Path) -> list[str]:
        found = checkpoints.leader_epochs(file)
        return [str(n) for pair in zip(found.epochs, found.starts, strict=True) for n in pair]

    return _check(checkpoints.LEADER_EPOCHS, _checkpoint(entries), said, rng, folder)


def _offsets(rng: Random, folder: Path) -> tuple[str, bool, str]:
    entries = [f"orders {partition} {rng.randrange(1 << 40)}" for partition in range(rng.randrange(6))]

    def said(file: Path) -> list[str]:
        found = checkpoints.offsets(file)
        return [str(word) for (topic, partition), n in found.items() for word in (topic, partition, n)]

    return _check(checkpoints.HIGH_WATERMARKS, _checkpoint(entries), said, rng, folder)


def _properties(rng: Random, folder: Path) -> tuple[str, bool, str]:
    text = "#\n#Sun Nov 22 00:00:00 UTC 2026\ncluster.id=abc\nversion=1\ndirectory.id=d\nnode.id=3\n"
    return _check(checkpoints.META_PROPERTIES, text.encode(), checkpoints.meta_properties, rng, folder)


def _clean_shutdown(rng: Random, folder: Path) -> tuple[str, bool, str]:
    text = b'{"version":0,"brokerEpoch":41}'
    return _check(checkpoints.CLEAN_SHUTDOWN, text, checkpoints.clean_shutdown_epoch, rng, folder)


def _snapshot(rng: Random, folder: Path) -> tuple[str, bool, str]:
    """A snapshot is covered by its CRC whole: damage must be reported, unless it is sealed again."""
    count = rng.randrange(5)
    entries = struct.pack(">i", count) + rng.randbytes(count * ENTRY.itemsize)
    content = struct.pack(">hI", 1, google_crc32c.value(entries)) + entries
    damaged = _damaged(content, rng)
    is_sealed = rng.random() < 0.5 and len(damaged) >= 6
    if is_sealed:
        damaged = damaged[:2] + struct.pack(">I", google_crc32c.value(damaged[6:])) + damaged[6:]
    file = folder / "00000000000000000000.snapshot"
    file.write_bytes(damaged)
    kind = "producer snapshot, right CRC" if is_sealed else "producer snapshot"
    try:
        found = read_snapshot(file)
    except DamagedFile as error:
        return kind, True, "" if file.name in str(error) and error.place else f"it names no place: {error}"
    said = damaged[:6] + struct.pack(">i", len(found)) + found.tobytes()
    if said != damaged or (not is_sealed and damaged != content):
        return kind, False, "damage was not reported"
    return kind, False, ""


def _checkpoint(entries: list[str]) -> bytes:
    return "\n".join(["0", str(len(entries)), *entries, ""]).encode()


def _check(
    name: str, content: bytes, said: Callable[[Path], object], rng: Random, folder: Path
) -> tuple[str, bool, str]:
    """What is read of the entries of a checkpoint, as a list of words, must stand there so."""
    file = folder / name
    damaged = _damaged(content, rng)
    file.write_bytes(damaged)
    try:
        found = said(file)
    except DamagedFile as error:
        return name, True, "" if name in str(error) and error.place else f"it names no place: {error}"
    if isinstance(found, list) and _numbers(found) != _numbers(damaged.decode().split()[2:]):
        return name, False, f"{found} was read of {damaged!r}"
    return name, False, ""


def _numbers(words: list[str]) -> list[str]:
    """Words without leading zeros and signs of zero."""
    return [str(int(word)) if word.removeprefix("-").isdecimal() else word for word in words]


def _damaged(content: bytes, rng: Random) -> bytes:
    at = rng.randrange(len(content))
    match rng.randrange(6):
        case 0:
            return content[:at]
        case 1:
            return content[:at] + rng.choice(_WORDS) + content[at:]
        case 2:
            return content[:at] + bytes(rng.choice((1, 4, 100))) + content[at:]
        case 3:
            source = rng.randrange(len(content))
            return content[:at] + content[source : source + 9] + content[at + 9 :]
        case _:
            return content[:at] + bytes([content[at] ^ 1 << rng.randrange(8)]) + content[at + 1 :]
