"""What was expected of each scenario of a suite, what its runs have shown, and what that cost: observed.md.

A row for each scenario, over all its judged runs. Values that differ between runs are the least and the
greatest of them. A run that could not be read has no evidence, and counts by its verdict alone.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from checkers.properties import Property
from checkers.verdict.algebra import Verdict
from harness.campaign.suites.record import MeasuredBound, RunEvidence, RunRow, SuiteRecord
from harness.report.report import Report
from harness.run_directory.layout import write_whole

FILE = "observed.md"
HEADS = ("scenario", "expected", "observed", "longest wait", "evidence", "faults proven", "took", "runs")
EXPECTED: Mapping[str, str] = {
    "none": "no acknowledged loss",
    "permitted": "a permitted loss",
    "any": "no loss but a permitted one",
}


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
    )


def _bounds(lines: Iterable[Mapping[str, object]]) -> tuple[MeasuredBound, ...]:
    return tuple(
        MeasuredBound.model_validate({key: line[key] for key in ("line", "value", "holds")}) for line in lines
    )


def write_observed(directory: Path, record: SuiteRecord) -> None:
    """Replace the file."""
    heading = f"# {record.name}, seed {record.seed}: expected and observed"
    write_whole(directory / FILE, f"{heading}\n\n{observed_table(record)}\n\n{cost(record)}\n")


def observed_table(record: SuiteRecord) -> str:
    """The table as Markdown, by the names of the scenarios."""
    rows: dict[str, list[RunRow]] = {}
    for row in sorted(record.judged().values(), key=lambda row: row.scenario):
        rows.setdefault(row.scenario, []).append(row)
    cells = [HEADS, ("---",) * len(HEADS), *(_row(name, its) for name, its in rows.items())]
    return "\n".join(f"| {' | '.join(row)} |" for row in cells)


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


def _row(name: str, rows: Sequence[RunRow]) -> tuple[str, ...]:
    known = [row.evidence for row in rows if row.evidence is not None]
    return (
        f"`{name}`",
        ", ".join(dict.fromkeys(EXPECTED[each.expect] for each in known)) or "not known",
        _lost(known),
        _range([each.longest_gap_s for each in known], "{:.1f} s"),
        "<br>".join(_lines(known)) or "none is asked for",
        _range([f"{each.proven} of {each.faults}" for each in known], "{}"),
        _range([_after_cluster_s(row) for row in rows], "{:.0f} s"),
        _verdicts(rows),
    )


def _lost(known: Sequence[RunEvidence]) -> str:
    if not known:
        return "not known"
    lost = _range([each.lost for each in known], "{:,}") if any(each.lost for each in known) else "none"
    return f"lost {lost} of {_range([each.acked for each in known], '{:,}')} acknowledged"


def _lines(known: Sequence[RunEvidence]) -> Iterator[str]:
    """Each line once, with what was measured; where it did not hold in every run, that too."""
    found: dict[str, list[MeasuredBound]] = {}
    for each in known:
        for bound in (*each.require, *each.accept):
            found.setdefault(bound.line, []).append(bound)
    for line, its in found.items():
        held = sum(bound.holds is True for bound in its)
        missed = "" if held == len(its) else f", held in {held} of {len(its)} runs"
        yield f"`{line}`: {_range([bound.value for bound in its], '{:g}')}{missed}"


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
