"""The lines of a scenario that bound a metric, measured in its run: which hold, and what the others mean."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from checkers.history.rows import Pressure
from checkers.verdict import starvation
from checkers.verdict.algebra import Reason, Verdict
from checkers.verdict.exposure.exposure import Exposure
from checkers.verdict.exposure.gaps import Gap
from checkers.verdict.metrics.measure import Metrics
from checkers.verdict.metrics.metric import Measured
from harness.run_directory.manifest import Manifest
from harness.scenario.acceptance import Bound, parse_accepted, parse_required


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredLine:
    """A line, and what was measured of its metric."""

    bound: Bound
    measured: Measured

    @property
    def holds(self) -> bool | None:
        """None if the metric is not known."""
        return None if self.measured.value is None else self.bound.holds(self.measured.value)

    @property
    def in_words(self) -> str:
        """The line and the value: "isr.min <= 1: measured 2 on orders-0"."""
        if self.measured.value is None:
            return f"{self.bound.text}: not known, {self.measured.unknown}"
        where = f" on {self.measured.where}" if self.measured.where else ""
        return f"{self.bound.text}: measured {self.bound.metric.with_unit(self.measured.value)}{where}"

    def as_json(self) -> dict[str, Any]:
        """Its part of verdict.json."""
        return {
            "line": self.bound.text,
            "value": self.measured.value,
            "where": self.measured.where,
            "holds": self.holds,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """All lines of a scenario."""

    accepted: tuple[MeasuredLine, ...]
    required: tuple[MeasuredLine, ...]


def measured_bounds(manifest: Manifest, metrics: Metrics) -> Bounds:
    """The lines of the manifest."""

    def measured(bound: Bound) -> MeasuredLine:
        return MeasuredLine(bound=bound, measured=metrics.measured(bound.metric.name))

    return Bounds(
        accepted=tuple(measured(parse_accepted(line)) for line in manifest.accept),
        required=tuple(measured(parse_required(line)) for line in manifest.require or ()),
    )


def unaccepted(
    lines: Sequence[MeasuredLine], exposure: Exposure, pressure: Sequence[Pressure], *, disturbed: bool
) -> Iterator[Reason]:
    """The acceptance lines that do not hold, or that this run cannot decide.

    It decides none that is missed if it was `disturbed` from outside: Kafka may have done all it could.
    """
    for line in lines:
        if line.holds is None:
            yield Reason(Verdict.UNKNOWN, f"acceptance: {line.in_words}")
        elif not line.holds and disturbed:
            after = "in a cluster that was disturbed from outside"
            yield Reason(Verdict.UNKNOWN, f"acceptance: {line.in_words}, {after}")
        elif not line.holds:
            yield _missed(line, exposure.gaps_of(line.bound.metric.name), pressure)


def _missed(line: MeasuredLine, gaps: Sequence[Gap], pressure: Sequence[Pressure]) -> Reason:
    """FAIL; but of a bound on time that may be missed for want of a processor nobody knows."""
    if line.bound.metric.unit != "duration":
        return Reason(Verdict.FAIL, f"acceptance: {line.in_words}", contrary=True)
    missed = starvation.missed(gaps, line.bound.holds, pressure)
    if missed is None:
        return Reason(Verdict.FAIL, f"acceptance: {line.in_words}", contrary=True)
    length = line.bound.metric.with_unit(missed.gap.length_s)
    measured = f"acceptance: {line.bound.text}: measured {length} on {missed.gap.tp}"
    if missed.by_the_cluster:
        return Reason(Verdict.FAIL, measured, contrary=True)
    left_s = (missed.starvation.span_ns - missed.starvation.lost_ns) / 1e9
    return Reason(
        Verdict.UNKNOWN,
        f"{measured}, which may be the machine's doing: {missed.starvation.in_words}; "
        f"without what that may explain {left_s:.3g} s are left",
    )


def not_shown(lines: Sequence[MeasuredLine]) -> Iterator[Reason]:
    """The required lines that do not hold: whatever the run has shown, it is not what it is for."""
    for line in lines:
        if not line.holds:
            says = "" if line.holds is None else f" ({line.bound.metric.says})"
            sentence = f"required evidence: {line.in_words}{says}: the run has not shown what it is for"
            yield Reason(Verdict.UNKNOWN, sentence, contrary=line.holds is False)
