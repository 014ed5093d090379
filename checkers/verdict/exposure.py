"""How much a run has put at risk: acks by outcome, acks in each fault's window, gaps, watermark samples.

Everything is read from the history on disk, one partition at a time, so `check` finds the same figures again.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.compute as pc

from checkers.history.load import read_unit
from checkers.history.rows import Context, Fault
from checkers.history.tables import NONE, Outcome, unit_path
from checkers.verdict.gaps import Gap, Times, longest_gaps

COLUMNS = ["outcome", "completed_ns", "offset"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Exposure:
    """Counts over all partitions; times in seconds, None where there was no ack to measure from."""

    acked: int
    failed: int
    indeterminate: int
    acked_without_offset: int
    acked_partitions: int
    partitions: int
    longest_gap_s: float | None
    longest_gap_at: str
    gaps: tuple[Gap, ...]
    """The longest gaps of each partition, the longest first; verdict.json has the first of them only."""
    fault_windows: tuple[Mapping[str, Any], ...]
    watermark_samples: int

    @property
    def attempts(self) -> int:
        """All sends."""
        return self.acked + self.failed + self.indeterminate

    def metric(self, name: str) -> float | None:
        """The value of a metric of harness.scenario.acceptance; None if this run does not show it."""
        match name:
            case "unavailable.max":
                return self.longest_gap_s
            case "acked.count":
                return float(self.acked)
            case "indeterminate.ratio":
                return self.indeterminate / self.attempts if self.attempts else None
            case "failed.ratio":
                return self.failed / self.attempts if self.attempts else None
        raise AssertionError(f"{name} is no metric")

    def as_json(self) -> dict[str, Any]:
        """Its part of verdict.json."""
        return {
            "attempts": self.attempts,
            "acked": self.acked,
            "failed": self.failed,
            "indeterminate": self.indeterminate,
            "acked_without_offset": self.acked_without_offset,
            "partitions": self.partitions,
            "acked_partitions": self.acked_partitions,
            "longest_gap_s": self.longest_gap_s,
            "longest_gap_at": self.longest_gap_at,
            "fault_windows": [dict(window) for window in self.fault_windows],
            "watermark_samples": self.watermark_samples,
        }


def measure(history: Path, context: Context, load_ended_ns: int) -> Exposure:
    """Read the sends of every partition; `load_ended_ns` (-1: unknown) closes the last gap of each."""
    counts = dict.fromkeys(Outcome, 0)
    without_offset, acks = 0, {}
    for tp in context.partitions:
        rows = read_unit(unit_path(history, "sends", *tp), "sends", *tp, columns=COLUMNS)
        for outcome in Outcome:
            counts[outcome] += pc.sum(pc.equal(rows["outcome"], outcome.value)).as_py() or 0
        ok = rows.filter(pc.equal(rows["outcome"], Outcome.OK.value))
        without_offset += pc.sum(pc.equal(ok["offset"], NONE)).as_py() or 0
        acks[tp] = np.sort(ok["completed_ns"].to_numpy())
    gaps = longest_gaps(acks, load_ended_ns)
    return Exposure(
        acked=counts[Outcome.OK],
        failed=counts[Outcome.FAIL],
        indeterminate=counts[Outcome.INFO],
        acked_without_offset=without_offset,
        partitions=len(acks),
        acked_partitions=sum(1 for times in acks.values() if len(times)),
        longest_gap_s=gaps[0].length_s if gaps else None,
        longest_gap_at=str(gaps[0].tp) if gaps else "",
        gaps=gaps,
        fault_windows=tuple(_window(fault, acks.values()) for fault in context.faults),
        watermark_samples=len(context.watermarks),
    )


def _window(fault: Fault, acks: Iterable[Times]) -> dict[str, Any]:
    """Acks between a fault's injection and its recovery (or its healing, if it never recovered)."""
    end = max(fault.heal_ns, fault.recovered_ns)
    acked = sum(int(np.searchsorted(t, end, "right") - np.searchsorted(t, fault.inject_ns)) for t in acks)
    return {
        "fault": fault.name,
        "kind": fault.kind,
        "target": fault.target,
        "nodes": list(fault.nodes),
        "edges": list(fault.edges),
        "proven": fault.proven,
        "recovered": fault.recovered,
        "acked": acked,
        "evidence": fault.evidence,
    }
