"""The directory of a suite: its files beside the directories of its runs; how it is made, and reopened."""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

from compose.docker.labels import Owner, owner_of
from harness.campaign.suites.draw import Shard
from harness.campaign.suites.files.observed import evidence_of
from harness.campaign.suites.files.record import (
    RunRow,
    Source,
    SuiteRecord,
    read_record,
    refuse_alive,
    refuse_links,
    shard_of,
    write_record,
)
from harness.campaign.suites.plan import Entry, SuitePlan, scenario_source
from harness.errors import HistoryError, UsageError
from harness.report.report import Report, crashed
from harness.run.run import reason_of
from harness.run_directory.layout import RunDir, numbered
from harness.run_directory.manifest import RunOwner, read_manifest
from harness.scenario.resolve import draw_seed
from harness.terminal.summary import report_text

Judge = Callable[[RunDir], Report]
UNDER_WAY = "the suite was killed while it was under way; drawn again"


@dataclass(frozen=True, slots=True, kw_only=True)
class Suite:
    """A suite on disk; `before` is the process that it was of, if it was begun by another one."""

    path: Path
    record: SuiteRecord
    before: Owner | None = None


def create(
    plan: SuitePlan,
    *,
    budget_s: float,
    seed: int | None,
    shard: Shard,
    out: Path,
    sources: Sequence[Source] | None = None,
) -> Suite:
    """Make `out`/<utc>_suite-<name>_<seed>/, numbered if that is taken, and write its first suite.json.

    Without a `seed`, the plan's; else one is drawn. `sources` are the scenarios of a plan that was made, not
    read. UsageError for a scenario that is not there, a part without a run, and where nothing can be made.
    """
    refuse_idle(plan, shard)
    chosen = next((each for each in (seed, plan.seed) if each is not None), None)
    chosen = draw_seed() if chosen is None else chosen
    texts = sources if sources is not None else [_source(entry) for entry in plan.scenarios]
    record = SuiteRecord(
        tool_version=version("highwater"),
        name=plan.name,
        seed=chosen,
        shard=str(shard),
        budget_s=budget_s,
        owner=_owner(plan.name),
        plan=plan,
        sources=tuple(texts),
    )
    part = "" if shard.of == 1 else f"_{shard.number}-of-{shard.of}"
    path = numbered(out, f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}_suite-{plan.name}_{chosen}{part}")
    write_record(path, record)
    return Suite(path=path, record=record)


def refuse_idle(plan: SuitePlan, shard: Shard) -> None:
    """UsageError for a part of a draw in which there is no run."""
    if not shard.has_run(plan.scenarios):
        runs = sum(entry.at_most or 0 for entry in plan.scenarios)
        raise UsageError(f"shard {shard} has no run of this suite, which has {runs} in all")


def reopen(path: Path, *, budget_s: float | None = None) -> Suite:
    """The suite of a process that has ended, as one of this process. RunDirectoryError, HistoryError,
    UsageError.

    `budget_s` replaces its budget; what it has spent stays spent.
    """
    record = read_record(path)
    refuse_alive(path, record)
    refuse_links(path, record)
    refuse_idle(record.plan, shard_of(record))
    ours = record.model_copy(
        update={
            "owner": _owner(record.name),
            "state": "running",
            "exit_code": None,
            "missing": (),
            "budget_s": budget_s or record.budget_s,
        }
    )
    write_record(path, ours)
    return Suite(path=path, record=ours, before=record.owner.of(record.name))


def settled(path: Path, rows: Sequence[RunRow], judge: Judge) -> tuple[RunRow, ...]:
    """The rows, where none is under way any more.

    A run that was written to its end, or had failed, is judged now, also one whose verdict a second signal
    has ended; any other was interrupted, and its number is drawn again.
    """
    last = {row.index: row.directory for row in rows}
    return tuple(
        _settled(path, row, judge) if row.state != "judged" and row.directory == last[row.index] else row
        for row in rows
    )


def _settled(path: Path, row: RunRow, judge: Judge) -> RunRow:
    run = RunDir(path=path / row.directory)
    try:
        manifest = read_manifest(run)
    except HistoryError:
        return _drawn_again(row)
    if manifest.state not in ("complete", "failed") or manifest.cut_short:
        return _drawn_again(row)
    try:
        report = judge(run)
    except Exception as error:  # one run's trouble must not end the suite, each time that it is resumed
        report = crashed(run, manifest.problem or f"judging: {reason_of(error)}")
    else:
        report = report.with_problem(manifest.problem) if manifest.state == "failed" else report
    report.write()
    return judged(row, report)


def _drawn_again(row: RunRow) -> RunRow:
    if row.state == "interrupted":
        return row
    return row.model_copy(update={"state": "interrupted", "outcome": UNDER_WAY})


def judged(row: RunRow, report: Report) -> RunRow:
    """The row of a run with its verdict."""
    return row.model_copy(
        update={
            "state": "judged",
            "verdict": report.verdict.value,
            "outcome": report.headline,
            "report": report_text(report),
            "evidence": evidence_of(report),
        }
    )


def _source(entry: Entry) -> Source:
    text, filename = scenario_source(entry)
    return Source(filename=filename, text=text)


def _owner(name: str) -> RunOwner:
    owner = owner_of(name, os.getpid())
    return RunOwner(pid=owner.pid, start=owner.start, host=owner.host)
