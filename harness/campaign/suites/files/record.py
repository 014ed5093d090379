"""suite.json: what a suite was asked for, its runs, and where its time went. Only this module reads it.

The file is replaced as a whole whenever a run begins, was observed, or was judged. So the file of a suite
that was killed says which run was under way; `--resume` goes on from there. docs/suite.md describes the keys.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from checkers.verdict.algebra import Verdict, worst
from checkers.verdict.decide import Expectation
from compose.docker.labels import Owner
from harness.campaign.suites.draw import Shard
from harness.campaign.suites.files.json_record import read_json_record
from harness.campaign.suites.plan import SuitePlan
from harness.errors import HistoryError, RunDirectoryError
from harness.run_directory.layout import write_whole
from harness.run_directory.manifest import ManifestPart, RunOwner

SCHEMA_VERSION = 1
FILE = "suite.json"

RowState = Literal["running", "judged", "interrupted"]
SuiteState = Literal["running", "complete", "interrupted"]
VerdictName = Literal["PASS", "FAIL", "UNKNOWN", "ERROR"]


def _as_shard(text: str) -> str:
    return str(Shard.parse(text))


class Source(ManifestPart):
    """The text of one scenario of the plan, as it was when the suite began."""

    filename: str
    text: str


class ClusterUse(ManifestPart):
    """The cluster of one run."""

    run_id: str = Field(description="in the labels of its containers")
    served: int = Field(ge=0, description="runs that it had served before")
    why_new: str = Field(description="why it was started for this run; empty if it was not")
    ahead_s: float | None = Field(
        default=None, description="how long before this run it had begun to boot, beside the run before"
    )


class RunSeconds(ManifestPart):
    """Where the time of one run went. `wall_s` is from the end of the run before to the end of this one."""

    wall_s: float = Field(description="until the next run could begin")
    schedule_s: float = Field(description="the schedule: faults, and the load")
    overhead_s: float = Field(description="the rest of `wall_s`")
    parts: Mapping[str, float] = Field(description="of `overhead_s`, by phase; `other`: between the phases")
    behind_s: float = Field(
        default=0.0, description="decoding, sealing, audit, verdict, while the next run went on"
    )


class MeasuredBound(ManifestPart):
    """A line of a scenario, and what was measured in one run."""

    line: str
    value: float | None = Field(description="None: not known")
    holds: bool | None = Field(description="None: not known")


class RunEvidence(ManifestPart):
    """What one run was to show, and what it has shown."""

    expect: Expectation = Field(description="the loss that was expected")
    acked: int = Field(ge=0, description="acknowledged records")
    lost: int = Field(ge=0, description="of them, those that are not in the final log")
    forbidden: int = Field(default=0, ge=0, description="of the lost ones, those that the contract forbids")
    causes: tuple[str, ...] = Field(default=(), description="by which they were lost, as their labels say")
    longest_gap_s: float | None = Field(description="the longest time without an acknowledgement")
    accept: tuple[MeasuredBound, ...] = Field(description="the acceptance lines")
    require: tuple[MeasuredBound, ...] = Field(description="the required lines")
    faults: int = Field(ge=0, description="faults of its schedule")
    proven: int = Field(ge=0, description="of them, those of which effect and recovery are proven")
    contrary: bool = Field(
        default=False,
        description="all evidence is there, no rule is broken, and it shows something else than was expected",
    )
    order_alone: tuple[str, ...] = Field(
        default=(),
        description="of a FAIL that has no other reason: the rules of order and uniqueness that were broken",
    )


class RunRow(ManifestPart):
    """One run of the suite; a run that was interrupted and drawn again has two rows of the same `index`."""

    index: int = Field(ge=0, description="its number in the draw")
    entry: int = Field(ge=0, description="the place of its scenario in the plan")
    scenario: str = Field(description="the scenario's name")
    seed: int = Field(ge=0, description="the seed of the run")
    required: bool = Field(description="whether the plan demands it (`at_least`)")
    directory: str = Field(pattern=r"^[0-9]+_[^/\x00]+$", description="its run directory, in the suite's")
    state: RowState = Field(description="`running`, `judged` or `interrupted`")
    verdict: VerdictName | None = Field(default=None, description="if it was judged")
    outcome: str = Field(default="", description="in one sentence; of an interrupted run, what became of it")
    report: str = Field(default="", description="its summary as text")
    evidence: RunEvidence | None = Field(
        default=None, description="what it has shown; absent of a run that could not be read"
    )
    cluster: ClusterUse | None = Field(default=None, description="the cluster it had")
    seconds: RunSeconds | None = Field(default=None, description="where its time went")


class OverheadOf(ManifestPart):
    """The runs of one kind, and what they took beyond their schedules."""

    runs: int = 0
    mean_s: float = 0.0
    most_s: float = 0.0


class SuiteSeconds(ManifestPart):
    """Where the time of a suite went."""

    total_s: float = Field(default=0.0, description="all of it, over all its processes")
    schedules_s: float = Field(default=0.0, description="the schedules of all runs")
    overhead_s: float = Field(default=0.0, description="the rest")
    new_cluster: OverheadOf = Field(default=OverheadOf(), description="runs that had a new cluster")
    kept_cluster: OverheadOf = Field(
        default=OverheadOf(), description="runs on the cluster of the run before"
    )


class SuiteRecord(ManifestPart):
    """The whole file."""

    schema_version: int = SCHEMA_VERSION
    tool_version: str
    name: str
    seed: int = Field(ge=0)
    shard: Annotated[str, AfterValidator(_as_shard)]
    budget_s: float = Field(gt=0)
    owner: RunOwner
    state: SuiteState = "running"
    exit_code: int | None = None
    plan: SuitePlan
    sources: tuple[Source, ...]
    runs: tuple[RunRow, ...] = ()
    missing: tuple[str, ...] = Field(default=(), description="required runs that were not made")
    seconds: SuiteSeconds = SuiteSeconds()

    @model_validator(mode="after")
    def _fits_its_plan(self) -> Self:
        """Scenarios are named by their places in the plan."""
        entries, sources = len(self.plan.scenarios), len(self.sources)
        if entries != sources:
            raise ValueError(f"sources: {sources}, and plan.scenarios has {entries}")
        for number, row in enumerate(self.runs):
            if row.entry >= entries:
                raise ValueError(f"runs.{number}.entry: {row.entry}, and plan.scenarios has {entries}")
        return self

    def judged(self) -> Mapping[int, RunRow]:
        """The runs that are done, by their number in the draw."""
        return {row.index: row for row in self.runs if row.state == "judged"}

    def worst_exit_code(self) -> int:
        """That of the worst verdict; UNKNOWN if a required run was not made, ERROR without any run."""
        verdicts = [Verdict(row.verdict) for row in self.judged().values() if row.verdict is not None]
        if not verdicts:
            return Verdict.ERROR.exit_code
        return worst([*verdicts, *([Verdict.UNKNOWN] if self.missing else [])]).exit_code

    def as_text(self) -> str:
        """The file."""
        return json.dumps(self.model_dump(mode="json", exclude_none=True), indent=2) + "\n"


def write_record(directory: Path, record: SuiteRecord) -> None:
    """Replace the file."""
    write_whole(directory / FILE, record.as_text())


def read_record(directory: Path) -> SuiteRecord:
    """The record of the suite in `directory`. RunDirectoryError if there is none; HistoryError if damaged."""
    return read_json_record(directory / FILE, SuiteRecord, SCHEMA_VERSION, "a suite")


def refuse_alive(directory: Path, record: SuiteRecord) -> None:
    """RunDirectoryError if the process of the suite still runs, or nobody here can tell."""
    owner: Owner = record.owner.of(record.name)
    if record.state == "running" and owner.life() != "dead":
        raise RunDirectoryError(
            f"{directory}: the suite still goes on, in process {record.owner.pid} of {record.owner.host}"
        )


def refuse_links(directory: Path, record: SuiteRecord) -> None:
    """HistoryError for a run directory that is a link: what is judged there is written to elsewhere."""
    for row in record.runs:
        if (place := directory / row.directory).is_symlink():
            raise HistoryError(f"{place}: is a link, and a run of a suite has a directory of its own")


def shard_of(record: SuiteRecord) -> Shard:
    """The part of the draw that this suite makes."""
    return Shard.parse(record.shard)
