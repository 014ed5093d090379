"""A report in plain words: on the terminal, and side by side for several runs."""

from collections.abc import Sequence

from harness.report import Report

REASONS_SHOWN = 12


def words(report: Report) -> str:
    """The verdict in one sentence, then its reasons."""
    lines = [f"{report.verdict}  {report.headline}"]
    reasons = [reason for reason in report.reasons if reason != report.headline]
    lines += [f"  - {reason}" for reason in reasons[:REASONS_SHOWN]]
    if len(reasons) > REASONS_SHOWN:
        lines.append(f"  - and {len(reasons) - REASONS_SHOWN} more, in verdict.json")
    return "\n".join(lines)


def side_by_side(reports: Sequence[Report]) -> str:
    """The outcomes of several runs below each other, the verdict first."""
    lines = [
        f"{report.verdict:<7}  {report.name:<{_width(reports)}}  {report.headline}" for report in reports
    ]
    counts = {
        verdict: sum(r.verdict is verdict for r in reports)
        for verdict in dict.fromkeys(r.verdict for r in reports)
    }
    total = ", ".join(f"{count} {verdict}" for verdict, count in counts.items())
    return "\n".join([*lines, f"{len(reports)} runs: {total}"])


def _width(reports: Sequence[Report]) -> int:
    return max(len(report.name) for report in reports)
