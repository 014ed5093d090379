"""What the driver reads of the brokers' disks before any segment: folders, checkpoints, producer snapshots.

What is damaged or not there becomes a reason of the replicas that it concerns, never an error.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from checkers.history.rows import ProducerState, TopicPartition
from spark_verify.errors import DamagedFile
from spark_verify.segments import checkpoints
from spark_verify.segments.data_directory import (
    SegmentFile,
    copies,
    last_snapshot,
    partition_folders,
    read_while_running,
    reasons_not_copied,
    segment_files,
)
from spark_verify.segments.producer_snapshot import read_snapshot

Offsets = Mapping[tuple[str, int], int]
"""By topic and partition."""
_NO_EPOCHS = checkpoints.LeaderEpochs(epochs=(), starts=())


@dataclass(slots=True, kw_only=True)
class Disk:
    """What lies at the top of one log directory of a broker."""

    broker: int
    clean: bool = False
    running: bool = False
    """Whether the broker ran while its directory was copied."""
    folders: Mapping[TopicPartition, Path] = field(default_factory=dict)
    high_watermarks: Offsets = field(default_factory=dict)
    recovery_points: Offsets = field(default_factory=dict)
    log_starts: Offsets = field(default_factory=dict)
    reasons: list[str] = field(default_factory=list)
    """Why nothing can be said about its replicas."""


@dataclass(slots=True, kw_only=True)
class ListedReplica:
    """One replica before its segments are read."""

    tp: TopicPartition
    disk: Disk
    segments: Sequence[SegmentFile] = ()
    epochs: checkpoints.LeaderEpochs = _NO_EPOCHS
    states: Sequence[ProducerState] = ()
    reasons: list[str] = field(default_factory=list)
    """Why not everything about it could be read."""


def list_replicas(
    replicas_dir: Path, partitions: Iterable[TopicPartition], expected: Iterable[tuple[TopicPartition, int]]
) -> list[ListedReplica]:
    """The replicas of `partitions` that lie below `replicas_dir`, and those expected, each a partition and a
    broker; sorted by both."""
    wanted = set(expected)
    copied = copies(replicas_dir)
    brokers = {broker for _, broker in wanted} | copied.keys()
    why_not = reasons_not_copied(replicas_dir)
    running = _running(replicas_dir, brokers)
    disks = {
        broker: [
            _read_disk(directory, broker, why_not.get(broker), broker in running)
            for directory in copied.get(broker, [replicas_dir / str(broker)])
        ]
        for broker in brokers
    }
    wanted |= {
        (tp, broker)
        for tp in partitions
        for broker, its in disks.items()
        if any(tp in disk.folders for disk in its)
    }
    return [_listed(tp, disks[broker]) for tp, broker in sorted(wanted)]


def _running(replicas_dir: Path, brokers: Collection[int]) -> Collection[int]:
    """The brokers that ran; all of them if it is not readable which."""
    try:
        return read_while_running(replicas_dir)
    except (OSError, ValueError):
        return brokers


def _read_disk(directory: Path, broker: int, why_not: str | None, running: bool) -> Disk:
    disk = Disk(broker=broker, running=running)
    try:
        disk.folders = partition_folders(directory)
        disk.clean = not running and (directory / checkpoints.CLEAN_SHUTDOWN).exists()
    except OSError as error:
        disk.reasons.append(
            f"the disk of broker {broker} was not copied: {why_not or error.strerror or error}"
        )
        return disk
    disk.high_watermarks = _offsets(directory / checkpoints.HIGH_WATERMARKS, disk)
    disk.recovery_points = _offsets(directory / checkpoints.RECOVERY_POINTS, disk)
    disk.log_starts = _offsets(directory / checkpoints.LOG_STARTS, disk)
    return disk


def _offsets(file: Path, disk: Disk) -> Offsets:
    with _noting(disk.reasons), suppress(FileNotFoundError):
        return {} if _is_unwritten(file, disk) else checkpoints.offsets(file)
    return {}


def _is_unwritten(file: Path, disk: Disk) -> bool:
    """A broker that starts makes its checkpoints as empty files, and may write them a minute later."""
    return disk.running and file.stat().st_size == 0


@contextmanager
def _noting(reasons: list[str]) -> Iterator[None]:
    """What cannot be read becomes a reason."""
    try:
        yield
    except (DamagedFile, OSError) as error:
        reasons.append(str(error))


def _listed(tp: TopicPartition, disks: Sequence[Disk]) -> ListedReplica:
    """A replica in the one log directory of its broker that has a folder of it."""
    having = [disk for disk in disks if tp in disk.folders]
    disk = having[0] if having else disks[0]
    if not having:
        reasons = [reason for each in disks for reason in each.reasons]
        return ListedReplica(
            tp=tp, disk=disk, reasons=reasons or [f"broker {disk.broker} has no folder of it"]
        )
    listed = ListedReplica(tp=tp, disk=disk, reasons=[*disk.reasons])
    if len(having) > 1:
        listed.reasons.append(f"broker {disk.broker} has a folder of it in {len(having)} log directories")
        return listed
    folder = disk.folders[tp]
    with _noting(listed.reasons):
        listed.segments = segment_files(folder)
        if not listed.segments:
            listed.reasons.append("its folder has no segment")
    with _noting(listed.reasons), suppress(FileNotFoundError):  # a log without records has no epochs
        file = folder / checkpoints.LEADER_EPOCHS
        listed.epochs = _NO_EPOCHS if _is_unwritten(file, disk) else checkpoints.leader_epochs(file)
    with _noting(listed.reasons):
        listed.states = _states(tp, disk.broker, folder)
    return listed


def _states(tp: TopicPartition, broker: int, folder: Path) -> list[ProducerState]:
    snapshot = last_snapshot(folder)
    if snapshot is None:
        return []
    offset, file = snapshot
    return [
        ProducerState(
            topic=tp.topic,
            partition=tp.partition,
            broker=broker,
            snapshot_offset=offset,
            producer_id=int(entry["producer_id"]),
            producer_epoch=int(entry["producer_epoch"]),
            last_sequence=int(entry["last_sequence"]),
            last_offset=int(entry["last_offset"]),
            timestamp_ms=int(entry["timestamp_ms"]),
        )
        for entry in read_snapshot(file)
    ]
