"""Adds up what pass 1 counted: how much there was, and how much of it was examined or is undecided."""

from collections.abc import Sequence

from checkers.history.tables import NONE
from checkers.judgement import Attempts, Totals
from checkers.properties import Property, by_property
from checkers.property_terms import ExaminedUnit
from spark_verify.partition_task import PartitionTask
from spark_verify.passes.control_plane import comparable_samples
from spark_verify.passes.duplicate_ids import added
from spark_verify.passes.open_history import OpenedHistory
from spark_verify.passes.partition.scan import Scan
from spark_verify.passes.replicas.scan_replicas import ReplicaScan, ReplicaUnits


def totals(scans: Sequence[Scan]) -> Totals:
    """How much there was, over decided and undecided partitions."""
    sends = [scan.sends for scan in scans]
    acked = [part for part in sends if part.ok]
    ok, fail, total = (sum(getattr(part, name) for part in sends) for name in ("ok", "fail", "sends"))
    return Totals(
        sends=total,
        ok=ok,
        fail=fail,
        info=total - ok - fail,
        ok_without_offset=sum(part.ok_without_offset for part in sends),
        log_records=sum(scan.log_records for scan in scans),
        reads=sum(scan.reads for scan in scans),
        first_ack_ns=min((part.first_ack_ns for part in acked), default=NONE),
        last_ack_ns=max((part.last_ack_ns for part in acked), default=NONE),
    )


def attempts(scans: Sequence[Scan]) -> dict[int, Attempts]:
    """How many sends each producer made, and the first and the last of their sequences."""
    return {
        producer: Attempts(count=its.count, first=its.least, last=its.greatest)
        for producer, its in added(scan.sums for scan in scans).items()
    }


def examined_and_undecided(
    opened: OpenedHistory, scans: Sequence[Scan], replicas: Sequence[ReplicaScan]
) -> tuple[dict[Property, int], dict[Property, int]]:
    """How many units of each decided property were examined, and how many are undecided."""
    windows = [task.window for task in opened.tasks if task.window]
    offsets = sum(max(0, window.high_watermark - window.log_start) for window in windows)
    samples = len(opened.context.watermarks)
    sampled = sum(_sampled(task) for task in opened.tasks)
    unknown = sum(_unknown(task, task.window.high_watermark) for task in opened.tasks if task.window)
    every = by_property(
        _units(scans, offsets=offsets + len(opened.tasks) - len(windows), samples=samples, sampled=sampled)
        | _replica_units([each.every for each in replicas])
    )
    examined = by_property(
        _units(
            [scan for scan in scans if scan.suspects],
            offsets=offsets - unknown,
            samples=comparable_samples(opened.context),
            sampled=sampled - sum(_sampled_unread(task) for task in opened.tasks),
            unread_acks=sum(scan.sends.ok_unread for scan in scans),
            unread_reads=sum(scan.reads_unread for scan in scans),
        )
        | _replica_units([each.examined for each in replicas])
    )
    return examined, {each: every[each] - examined[each] for each in examined}


def _sampled(task: PartitionTask) -> int:
    """How many offsets of a decided partition a sample shows to have been below the high watermark."""
    return max(0, task.highest - task.window.log_start) if task.window else 0


def _sampled_unread(task: PartitionTask) -> int:
    """Those of them that are on disk above the proven high watermark; and those below it of which nobody
    knows whether an empty one is a hole."""
    if (window := task.window) is None:
        return 0
    above = max(0, min(task.highest, window.log_end) - max(window.high_watermark, window.log_start))
    return above + _unknown(task, min(task.highest, window.high_watermark))


def _unknown(task: PartitionTask, end: int) -> int:
    """Of how many offsets of a decided partition, up to one, nobody knows whether an empty one is a hole."""
    return task.empty.unknown(task.window.log_start, end) if task.window else 0


def _units(
    scans: Sequence[Scan],
    *,
    offsets: int,
    samples: int,
    sampled: int,
    unread_acks: int = 0,
    unread_reads: int = 0,
) -> dict[ExaminedUnit, int]:
    """How many units there are in the partitions of `scans`, without those at offsets that no reader
    gets."""
    reads = sum(scan.reads + scan.committed for scan in scans)
    acks = sum(scan.sends.ok for scan in scans) - unread_acks
    without_offset = sum(scan.sends.ok_without_offset for scan in scans)
    return {
        ExaminedUnit.ACK: acks,
        ExaminedUnit.ACK_WITH_OFFSET: acks - without_offset,
        ExaminedUnit.ACK_WITHOUT_OFFSET: without_offset,
        ExaminedUnit.LOG_RECORD: sum(scan.log_records for scan in scans),
        ExaminedUnit.OFFSET_BELOW_HW: offsets,
        ExaminedUnit.READ: reads,
        ExaminedUnit.READ_OF_DECIDED_OFFSET: reads - unread_reads,
        ExaminedUnit.READ_OR_SAMPLED_OFFSET: reads - unread_reads + sampled,
        ExaminedUnit.WATERMARK_SAMPLE: samples,
    }


def _replica_units(parts: Sequence[ReplicaUnits]) -> dict[ExaminedUnit, int]:
    total = sum(parts, ReplicaUnits())
    return {
        ExaminedUnit.REPLICA: total.replicas,
        ExaminedUnit.REPLICA_BATCH: total.batches,
        ExaminedUnit.REPLICA_BATCH_BELOW_HW: total.below,
        ExaminedUnit.LEADER_EPOCH: total.epochs,
    }
