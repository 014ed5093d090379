"""How late the faults of a run were: planned against realised times, from the table `faults`.

A fault that is late is still the fault that was asked for, and what it did is judged by its realised times.
So nothing here decides a verdict; it explains a run that is not what its plan reads like. An injection and a
healing take time of themselves, which each kind of fault declares: what is longer is named.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from checkers.history.rows import Fault
from checkers.history.tables import NONE
from faults.kinds.registry import KINDS

NAMED_S = 0.5
"""A begin, a hold or an end that differs by more than this is named; so is an event noticed so late."""

EDGE_S = 0.1
"""What an edge takes of an injection or a healing, beside what the kind takes for all of them together."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FaultTimes:
    """Seconds from the planned instant of each injection to its begin, ascending; and what is to be named."""

    late_s: tuple[float, ...]
    notes: tuple[str, ...]

    def quantile_s(self, share: float) -> float | None:
        """The least lateness that this share of the faults does not exceed; None without any fault."""
        if not self.late_s:
            return None
        rank = -(-len(self.late_s) * share // 1)  # rounded up
        return self.late_s[max(int(rank), 1) - 1]

    def as_json(self) -> dict[str, Any]:
        """Its part of verdict.json."""
        return {
            "faults": len(self.late_s),
            "median_late_s": self.quantile_s(0.5),
            "p99_late_s": self.quantile_s(0.99),
            "most_late_s": self.quantile_s(1.0),
            "notes": list(self.notes),
        }


def fault_times(faults: Sequence[Fault]) -> FaultTimes:
    """Of the faults that were injected, and whose plan is recorded: an older history has none."""
    timed = [fault for fault in faults if NONE not in (fault.planned_begin_ns, fault.inject_ns)]
    return FaultTimes(
        late_s=tuple(sorted(_late_s(fault) for fault in timed)),
        notes=tuple(note for fault in timed for note in _notes(fault)),
    )


def in_words(times: Mapping[str, Any]) -> str:
    """ "12 faults began 4 ms after their planned instants (median), 31 ms (p99)"; "" without any."""
    if not times.get("faults"):
        return ""
    median, p99, most = (1000 * times[f"{name}_late_s"] for name in ("median", "p99", "most"))
    count = times["faults"]
    faults = "1 fault" if count == 1 else f"{count:,} faults"
    late = f"{median:.0f} ms after the planned instant (median; p99 {p99:.0f}, most {most:.0f} ms)"
    return f"{faults} began {late}"


def _late_s(fault: Fault) -> float:
    return round((fault.inject_ns - fault.planned_begin_ns) / 1e9, 6)


def _notes(fault: Fault) -> Iterator[str]:
    evidence = _evidence(fault)
    match evidence.get("postponed"):
        case {"by_s": float(by_s), "for": str(other)} if by_s > NAMED_S:
            yield f"{fault.name} was postponed by {by_s:.2f} s: {other} had not recovered"
    match evidence.get("noticed_within_s"):
        case float(noticed_s) if noticed_s > NAMED_S:
            yield f"{fault.name} noticed its event up to {noticed_s:.2f} s late"
    late_s = _late_s(fault)
    if abs(late_s) > NAMED_S:
        because = str(evidence.get("delayed", ""))
        yield f"{fault.name} began {late_s:.2f} s after its planned instant{because and f': {because}'}"
    yield from _slow_changes(fault, evidence)
    if NONE in (fault.begin_ns, fault.end_ns):
        return
    planned_s = (fault.planned_end_ns - fault.planned_begin_ns) / 1e9
    held_s = (fault.end_ns - fault.begin_ns) / 1e9
    if abs(held_s - planned_s) > NAMED_S:
        yield f"{fault.name} was held for {held_s:.2f} s instead of {planned_s:.2f} s"
    yield from _cut_short(fault, evidence, planned_s)


def _cut_short(fault: Fault, evidence: Mapping[str, Any], planned_s: float) -> Iterator[str]:
    """Nodes that another fault has taken from this one, which held them for less than it was planned to."""
    lost = evidence.get("cut_short")
    for each in lost if isinstance(lost, list) else []:
        match each:
            case {"node": int(node), "by": str(by), "after_s": float(after_s)}:
                if planned_s - after_s > NAMED_S:
                    instead = f"after {after_s:.2f} s instead of {planned_s:.2f} s"
                    yield f"{fault.name} lost its hold of node {node} {instead}: {by} ended it"


def _slow_changes(fault: Fault, evidence: Mapping[str, Any]) -> Iterator[str]:
    """An injection or a healing that took longer than its kind does; nothing of an unknown kind."""
    if (kind := KINDS.get(fault.kind)) is None:
        return
    takes, waited = kind.takes, evidence.get("waited_s")
    waited_s = waited if isinstance(waited, float) else 0.0
    # A history from before the wait was written down does not say how long it was.
    if not takes.waits or waited_s:
        needed_s = _needed_s(takes.inject_s, fault) + waited_s
        yield from _slow(fault, "inject", fault.inject_ns, fault.begin_ns, needed_s)
    yield from _slow(fault, "heal", fault.end_ns, fault.heal_ns, _needed_s(takes.heal_s, fault))


def _needed_s(each_s: float, fault: Fault) -> float:
    """One change for each node, or one for all edges, whose nodes are those at their ends."""
    changes = 1 if fault.edges else max(1, len(fault.nodes))
    return each_s * changes + EDGE_S * len(fault.edges)


def _slow(fault: Fault, change: str, from_ns: int, until_ns: int, needed_s: float) -> Iterator[str]:
    took_s = (until_ns - from_ns) / 1e9
    if NONE not in (from_ns, until_ns) and took_s - needed_s > NAMED_S:
        more = f"{took_s - needed_s:.2f} s more than a fault of its kind needs"
        yield f"{fault.name} took {took_s:.2f} s to {change}, {more}"


def _evidence(fault: Fault) -> Mapping[str, Any]:
    """What the schedule has recorded of it; nothing if that is not readable."""
    try:
        evidence = json.loads(fault.evidence)
    except ValueError:
        return {}
    return evidence if isinstance(evidence, dict) else {}
