"""A report as text for the terminal, and the outcomes of several runs side by side."""

from collections import Counter
from collections.abc import Sequence

from checkers.verdict.algebra import Verdict
from harness.report.fault_times import in_words
from harness.report.report import Report

REASONS_SHOWN = 8
FINDINGS_SHOWN = 3
NOTES_SHOWN = 3


def report_text(report: Report) -> str:
    """The verdict and its first line; then what happened to the acked records, the findings, the reasons."""
    lines = [f"{report.verdict_in_words}  {report.headline}"]
    if report.outcome != report.headline:
        lines.append(f"  {report.outcome}")
    lines += [f"  {line}" for line in report.finding_lines[:FINDINGS_SHOWN] if line != report.headline]
    lines += _rest(report.findings_total - FINDINGS_SHOWN, "findings")
    if report.verdict is not Verdict.PASS:
        reasons = [each.sentence for each in report.reasons if each.sentence not in report.outcome]
        lines += [f"  - {reason}" for reason in reasons[:REASONS_SHOWN]]
        lines += _rest(len(reasons) - REASONS_SHOWN, "reasons")
    lines += [f"  {timing}"] if (timing := in_words(report.fault_times)) else []
    notes = report.fault_times.get("notes", ())
    lines += [f"  note: {note}" for note in notes[:NOTES_SHOWN]]
    lines += _rest(len(notes) - NOTES_SHOWN, "notes")
    return "\n".join(lines)


def _rest(count: int, what: str) -> list[str]:
    return [f"  … and {count:,} more {what}, in verdict.json"] if count > 0 else []


def side_by_side(reports: Sequence[Report]) -> str:
    """The outcomes of several runs below each other, then how many of each verdict."""
    width = max(len(report.name) for report in reports)
    lines = [f"{report.name:<{width}}  {report.outcome} — {report.verdict_in_words}" for report in reports]
    counts = Counter(report.verdict for report in reports)
    total = ", ".join(f"{counts[verdict]} {verdict}" for verdict in Verdict if counts[verdict])
    return "\n".join([*lines, f"{len(reports)} runs: {total}"])
