"""The runs of a suite as a table for its end: each run, how many of each verdict, and where the time went."""

from collections import Counter

from checkers.verdict.algebra import Verdict
from harness.campaign.suites.files.record import OverheadOf, RunRow, SuiteRecord
from harness.terminal.columns import columns

HEADINGS = ("run", "scenario", "seed", "verdict", "cluster", "schedule", "beyond it", "outcome")


def table(record: SuiteRecord) -> str:
    """The rows in the order in which they were made, then the sums."""
    return "\n".join([*columns([HEADINGS, *map(_row, record.runs)]), *_sums(record)])


def _row(row: RunRow) -> tuple[str, ...]:
    cluster, its = row.cluster, row.seconds
    served = "" if cluster is None else f"kept, run {cluster.served + 1}" if cluster.served else "new"
    verdict = row.verdict if row.state == "judged" and row.verdict else row.state
    return (
        str(row.index),
        row.scenario,
        str(row.seed),
        verdict,
        served,
        f"{its.schedule_s:.1f} s" if its else "",
        f"{its.overhead_s:.1f} s" if its else "",
        row.outcome,
    )


def _sums(record: SuiteRecord) -> list[str]:
    counts = Counter(row.verdict for row in record.judged().values())
    total = ", ".join(f"{counts[each.value]} {each}" for each in Verdict if counts[each.value]) or "none"
    interrupted = sum(row.state == "interrupted" for row in record.runs)
    its = record.seconds
    lines = [
        f"{counts.total()} runs: {total}" + (f"; {interrupted} interrupted" if interrupted else ""),
        f"{its.total_s:.0f} s: {its.schedules_s:.0f} s of schedules, {its.overhead_s:.0f} s beyond them",
    ]
    lines += _overhead("on a new cluster", its.new_cluster) + _overhead("on a kept cluster", its.kept_cluster)
    if record.missing:
        lines.append(f"required, and not made: {', '.join(record.missing)}")
    return lines


def _overhead(name: str, its: OverheadOf) -> list[str]:
    if not its.runs:
        return []
    each = f"{its.mean_s:.1f} s each beyond the schedule, at most {its.most_s:.1f} s"
    return [f"  {name}: {its.runs} runs, {each}"]
