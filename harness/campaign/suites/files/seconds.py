"""Where the seconds went: what a run took beyond its schedule, by phase; and the same of a whole suite."""

from collections.abc import Iterable

from harness.campaign.suites.files.record import OverheadOf, RunRow, RunSeconds, SuiteSeconds
from harness.run_directory.manifest import Timings

IN_THE_FOREGROUND = ("cluster_s", "topics_s", "warm_s", "settle_s", "final_read_s", "disks_s")
"""Phases for which the next run waits; the later ones go on beside it."""


def run_seconds(wall_s: float, timings: Timings) -> RunSeconds:
    """The time of a run that has just been observed."""
    schedule_s = timings.schedule_s or 0.0
    parts = {name: getattr(timings, name) or 0.0 for name in IN_THE_FOREGROUND}
    overhead_s = wall_s - schedule_s
    parts["other_s"] = overhead_s - sum(parts.values())
    return RunSeconds(
        wall_s=_round(wall_s),
        schedule_s=_round(schedule_s),
        overhead_s=_round(overhead_s),
        parts={name: _round(value) for name, value in parts.items()},
    )


def suite_seconds(rows: Iterable[RunRow], total_s: float) -> SuiteSeconds:
    """Sums and means over all runs; runs that were interrupted count in the total only."""
    known = [
        (row.cluster.served > 0, row.seconds)
        for row in rows
        if row.state == "judged" and row.cluster is not None and row.seconds is not None
    ]
    schedules_s = sum(its.schedule_s for _, its in known)
    return SuiteSeconds(
        total_s=_round(total_s),
        schedules_s=_round(schedules_s),
        overhead_s=_round(total_s - schedules_s),
        new_cluster=_overhead([its for kept, its in known if not kept]),
        kept_cluster=_overhead([its for kept, its in known if kept]),
    )


def _overhead(seconds: list[RunSeconds]) -> OverheadOf:
    if not seconds:
        return OverheadOf()
    each = [its.overhead_s for its in seconds]
    return OverheadOf(runs=len(each), mean_s=_round(sum(each) / len(each)), most_s=_round(max(each)))


def _round(value: float) -> float:
    return round(value, 3)
