"""What was expected of each scenario of a suite, what its runs have shown, and what that cost: observed.md,
and in short on the terminal.

A row for each scenario with what is set in it, over all its judged runs. Values that differ between runs are
the least and the greatest of them. A run that could not be read has no evidence, and counts by its verdict
alone.
"""

import textwrap
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from checkers.properties import Property
from checkers.property_terms import Family
from checkers.verdict.algebra import Reason, Verdict
from checkers.verdict.explanation.findings import LOSS_FAMILY
from harness.campaign.suites.files.record import MeasuredBound, RunEvidence, RunRow, SuiteRecord
from harness.report.report import Report
from harness.run_directory.layout import write_whole
from harness.scenario.text.hidden import without_secret
from harness.terminal.columns import fitted

FILE = "observed.md"
HEADS = ("scenario", "expected", "observed", "longest wait", "evidence", "faults proven", "took", "runs")
SHORT_HEADS = ("scenario", "expected", "observed")
EXPECTED: Mapping[str, str] = {
    "none": "no acknowledged loss",
    "permitted": "a permitted loss",
    "any": "no loss but a permitted one",
}
OF_ORDER = tuple(each for each in Property if each.record.family is Family.ORDER and each not in LOSS_FAMILY)
"""Rules of order and uniqueness, but for those whose violation may follow from a loss."""


def evidence_of(report: Report) -> RunEvidence | None:
    """What a report says of what its scenario expects; None of a run that could not be read."""
    document = report.document
    if not document:
        return None
    loss, windows = document["properties"][Property.ACKED_LOSS], document["exposure"]["fault_windows"]
    return RunEvidence(
        expect=document["expect"],
        acked=document["exposure"]["acked"],
        lost=loss["permitted"] + loss["violations"],
        forbidden=loss["violations"],
        causes=tuple(loss["causes"]),
        longest_gap_s=document["exposure"]["longest_gap_s"],
        accept=_bounds(document["accept"]),
        require=_bounds(document["require"]),
        faults=len(windows),
        proven=sum(window["proven"] and window["recovered"] for window in windows),
        contrary=bool(report.reasons) and all(reason.contrary for reason in report.reasons),
        order_alone=_order_alone(report.reasons),
    )


def _order_alone(reasons: Iterable[Reason]) -> tuple[str, ...]:
    """The properties that make it FAIL, if all of them are among those of order."""
    violated = {reason.violates for reason in reasons if reason.verdict is Verdict.FAIL}
    return tuple(each.value for each in OF_ORDER if each in violated) if violated <= {*OF_ORDER} else ()


def _bounds(lines: Iterable[Mapping[str, object]]) -> tuple[MeasuredBound, ...]:
    return tuple(
        MeasuredBound.model_validate({key: line[key] for key in ("line", "value", "holds")}) for line in lines
    )


def write_observed(directory: Path, record: SuiteRecord) -> None:
    """Replace the file."""
    heading = f"# {record.name}, seed {record.seed}: expected and observed"
    write_whole(directory / FILE, f"{heading}\n\n{observed_table(record)}\n\n{cost(record)}\n")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Runs:
    """The judged runs of a scenario with what is set in it, as `workload.acks=1`."""

    scenario: str
    sets: tuple[str, ...]
    rows: tuple[RunRow, ...]

    @property
    def known(self) -> list[RunEvidence]:
        """The evidence of those that could be read."""
        return [row.evidence for row in self.rows if row.evidence is not None]


def _runs(*records: SuiteRecord) -> list[_Runs]:
    """By the names of the scenarios, and by what is set."""
    found: dict[tuple[str, tuple[str, ...]], list[RunRow]] = {}
    for record in records:
        for row in record.judged().values():
            found.setdefault((row.scenario, tuple(record.plan.scenarios[row.entry].set)), []).append(row)
    return [_Runs(scenario=name, sets=sets, rows=tuple(its)) for (name, sets), its in sorted(found.items())]


def observed_table(*records: SuiteRecord) -> str:
    """The table as Markdown, over the runs of one suite or more."""
    cells = [HEADS, ("---",) * len(HEADS), *map(_row, _runs(*records))]
    return "\n".join(f"| {' | '.join(row)} |" for row in cells)


def observed_text(record: SuiteRecord, width: int) -> str:
    """In short for a terminal of `width` columns: what was expected, what was lost of what was acknowledged,
    and below it what is set and each line that did not hold in every run. "" without a judged run."""
    runs = _runs(record)
    if not runs:
        return ""
    heads, *rows = fitted([SHORT_HEADS, *map(_short_row, runs)], width)
    lines = [heads]
    for its, row in zip(runs, rows, strict=True):
        lines.append(row)
        for beside in (*(f"with {without_secret(each)}" for each in its.sets), *_missed(its.known)):
            lines += textwrap.wrap(
                beside, width, initial_indent="  ", subsequent_indent="    ", break_on_hyphens=False
            )
    return "\n".join(lines)


def _short_row(its: _Runs) -> tuple[str, ...]:
    return its.scenario, _expected(its.known), _lost(its.known)


def cost(record: SuiteRecord) -> str:
    """What the suite took, in one sentence; and of its runs the longest, without its cluster's start."""
    seconds = record.seconds
    took = f"The suite took {seconds.total_s:,.0f} s, {seconds.schedules_s:,.0f} s of it in schedules."
    each = [(its, row.scenario) for row in record.runs if (its := _after_cluster_s(row)) is not None]
    if not each:
        return took
    longest_s, name = max(each)
    return f"{took} The longest run, of `{name}`, took {longest_s:.0f} s after its cluster had started."


def _after_cluster_s(row: RunRow) -> float | None:
    """Until the next run could begin, without the start of the cluster."""
    if row.seconds is None:
        return None
    return row.seconds.wall_s - row.seconds.parts.get("cluster_s", 0.0)


def _row(its: _Runs) -> tuple[str, ...]:
    known = its.known
    return (
        "<br>".join([f"`{its.scenario}`", *(f"with `{without_secret(each)}`" for each in its.sets)]),
        _expected(known),
        f"{_lost(known)} acknowledged" if known else _lost(known),
        _range([each.longest_gap_s for each in known], "{:.1f} s"),
        "<br>".join(f"`{line}`: {_measured(bounds)}" for line, bounds in _bounds_by_line(known).items())
        or "none is asked for",
        _range([f"{each.proven} of {each.faults}" for each in known], "{}"),
        _range([_after_cluster_s(row) for row in its.rows], "{:.0f} s"),
        _verdicts(its.rows),
    )


def _expected(known: Sequence[RunEvidence]) -> str:
    return ", ".join(dict.fromkeys(EXPECTED[each.expect] for each in known)) or "not known"


def _lost(known: Sequence[RunEvidence]) -> str:
    if not known:
        return "not known"
    lost = _range([each.lost for each in known], "{:,}") if any(each.lost for each in known) else "none"
    return f"lost {lost} of {_range([each.acked for each in known], '{:,}')}"


def _bounds_by_line(known: Sequence[RunEvidence]) -> dict[str, list[MeasuredBound]]:
    found: dict[str, list[MeasuredBound]] = {}
    for each in known:
        for bound in (*each.require, *each.accept):
            found.setdefault(bound.line, []).append(bound)
    return found


def _measured(bounds: Sequence[MeasuredBound]) -> str:
    """What was measured of a line; where it did not hold in every run, that too."""
    held = _held(bounds)
    missed = "" if held == len(bounds) else f", held in {held} of {len(bounds)} runs"
    return f"{_range([bound.value for bound in bounds], '{:g}')}{missed}"


def _held(bounds: Sequence[MeasuredBound]) -> int:
    return sum(bound.holds is True for bound in bounds)


def _missed(known: Sequence[RunEvidence]) -> Iterator[str]:
    """Each line that did not hold in every run."""
    for line, bounds in _bounds_by_line(known).items():
        if _held(bounds) < len(bounds):
            yield f"{line}: {_measured(bounds)}"


def _range(values: Sequence[object], form: str) -> str:
    """The least and the greatest, or the one value that all have; "not known" of none."""
    known = [value for value in values if value is not None]
    if not known:
        return "not known"
    ends = dict.fromkeys(form.format(value) for value in (min(known), max(known)))  # type: ignore[type-var]
    return " to ".join(ends)


def _verdicts(rows: Sequence[RunRow]) -> str:
    counts = Counter(row.verdict for row in rows)
    return ", ".join(f"{counts[each.value]} {each.value}" for each in Verdict if counts[each.value])
