"""Adds up what pass 1 counted, in the units that `checkers.judgement.Judgement` defines."""

from collections.abc import Sequence

from checkers.history.tables import NONE
from checkers.judgement import Property, Totals
from spark_verify.passes.open_history import Plan
from spark_verify.passes.scan import Scan


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


def counts(plan: Plan, scans: Sequence[Scan]) -> tuple[dict[Property, int], dict[Property, int]]:
    """What was examined and what is undecided, of each property."""
    windows = [unit.window for unit in plan.units if unit.window]
    offsets = sum(max(0, window.high_watermark - window.log_start) for window in windows)
    every = _units(scans, offsets + len(plan.units) - len(windows))
    unread_acks, unread_reads = sum(s.sends.ok_unread for s in scans), sum(s.reads_unread for s in scans)
    unread = {
        Property.ACKED_LOSS: unread_acks,
        Property.ACK_OFFSET: unread_acks,
        Property.HW_LOSS: unread_acks + unread_reads,
        Property.READ_UNCOMMITTED: unread_reads,
    }
    decided = _units([scan for scan in scans if scan.findings], offsets)
    examined = {wanted: decided[wanted] - unread.get(wanted, 0) for wanted in Property}
    return examined, {wanted: every[wanted] - examined[wanted] for wanted in Property}


def _units(scans: Sequence[Scan], offsets: int) -> dict[Property, int]:
    reads = sum(scan.reads for scan in scans)
    acks = sum(scan.sends.ok for scan in scans)
    placed = acks - sum(scan.sends.ok_without_offset for scan in scans)
    return dict.fromkeys(Property, sum(scan.log_records for scan in scans)) | {
        Property.ACKED_LOSS: acks,
        Property.ACK_OFFSET: placed,
        Property.UNKNOWN_OFFSET_ACK: acks - placed,
        Property.HW_LOSS: reads + placed,
        Property.READ_UNCOMMITTED: reads,
        Property.MONOTONE_READ: reads,
        Property.SAME_FOR_ALL: reads,
        Property.OFFSET_GAP: offsets,
    }
