"""accept.json: the promise, the traps, what was searched and which run shows which clause.

It stands beside the suite.json of the runs, which has their verdicts: together they are the answer, also of
an acceptance that was stopped and resumed. docs/accept.md describes the keys.
"""

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Literal

from pydantic import Field

from checkers.contract.label import OR
from checkers.verdict.algebra import Verdict, worst
from harness.campaign.suites.files.json_record import read_json_record
from harness.campaign.suites.files.record import RunRow, SuiteRecord
from harness.run_directory.layout import write_whole
from harness.run_directory.manifest import ManifestPart

SCHEMA_VERSION = 1
FILE = "accept.json"

Status = Literal[
    "confirmed",
    "refuted",
    "broken otherwise",
    "not shown",
    "failed",
    "not run",
    "no run can show it",
    "the cluster disagrees",
    "none found",
    "not searched",
]


class ClauseRow(ManifestPart):
    """A clause, and the run that shows it."""

    id: str
    kind: str = Field(description="`kept`, `lost`, `available` or `unavailable`")
    sentence: str
    shows: str = Field(default="", description="what its run must show")
    causes: tuple[str, ...] = Field(
        default=(),
        description="of a loss, as in docs/properties.md: its run must lose something by one of them",
    )
    why_not: str = Field(default="", description="why there is no run of it")
    entry: int | None = Field(default=None, description="the place of its scenario in the suite")


class TrapRow(ManifestPart):
    """A trap that the configuration falls into."""

    id: str
    sentence: str
    change: str = Field(description="what to change, in words")
    settings: Mapping[str, str | int | bool | None] = Field(
        default={}, description="the settings to change, as --set names them; null: leave it out"
    )
    clause: str = Field(default="", description="the clause whose run shows what it does; empty: none does")


class SearchRow(ManifestPart):
    """A search on the simulated Kafka."""

    goal: str = Field(description="`loss` or `unavailability`")
    found: str = Field(default="", description="the shortest schedule in words; empty if there is none")
    faults: int = Field(default=0, description="of that schedule")
    causes: tuple[str, ...] = Field(default=(), description="of what is lost by it, as in docs/properties.md")
    unnamed: tuple[str, ...] = Field(
        default=(), description="of these causes, those that no clause names: either it or the model is wrong"
    )
    kinds: tuple[str, ...] = Field(default=(), description="what a fault of these schedules does to a broker")
    untried: tuple[str, ...] = Field(
        default=(), description="clauses of losses by a fault that no schedule has: their own runs show them"
    )
    whole_until: int = Field(default=0, description="all schedules of so many faults were tried")
    runs: int = Field(default=0, description="simulated runs")
    took_s: float = Field(default=0.0, description="seconds")
    why_ended: str = Field(default="", description="why no more was tried; empty if it ended by itself")
    entry: int | None = Field(default=None, description="the place of its scenario in the suite")
    file: str = Field(default="", description="that scenario, below the directory of the suite")
    why_not: str = Field(default="", description="why there is no run of what was found")

    @property
    def cut_short(self) -> bool:
        """Whether a limit has ended it, and more time may find something."""
        return bool(self.kinds and not self.found and self.why_ended)


class AcceptRecord(ManifestPart):
    """The whole file."""

    schema_version: int = SCHEMA_VERSION
    tool_version: str
    name: str
    settings: str = Field(description="what decides, in one line")
    clauses: tuple[ClauseRow, ...]
    traps: tuple[TrapRow, ...] = ()
    required_missing: tuple[str, ...] = Field(
        default=(), description="clauses that it must have, and has not"
    )
    left_out: tuple[str, ...] = Field(default=(), description="of the configuration, in the runs")
    remarks: tuple[str, ...] = Field(
        default=(), description="what a running cluster did not say, or not with one voice"
    )
    searches: tuple[SearchRow, ...] = ()

    def as_text(self) -> str:
        """The file."""
        return json.dumps(self.model_dump(mode="json"), indent=2) + "\n"


def write_accept(directory: Path, record: AcceptRecord) -> None:
    """Write the file."""
    write_whole(directory / FILE, record.as_text())


def read_accept(directory: Path) -> AcceptRecord:
    """The record of the acceptance in `directory`. RunDirectoryError if there is none; HistoryError if
    damaged.
    """
    return read_json_record(directory / FILE, AcceptRecord, SCHEMA_VERSION, "an acceptance")


STATUS: Mapping[str, Status] = {
    "PASS": "confirmed",
    "FAIL": "refuted",
    "UNKNOWN": "not shown",
    "ERROR": "failed",
}


def run_of(entry: int | None, judged: Mapping[int, RunRow]) -> RunRow | None:
    """The run of the scenario at a place of the suite. `judged`: rows by that place."""
    return None if entry is None else judged.get(entry)


def status_of(entry: int | None, judged: Mapping[int, RunRow], causes: Collection[str] = ()) -> Status:
    """What the runs show of the scenario at a place of the suite. Without `causes` its verdict says so; else
    something must have been lost by one of them: a loss by another cause shows nothing of a clause. Nor does
    a run that fails by rules of order alone, since no clause speaks of order.
    """
    if entry is None:
        return "no run can show it"
    row = judged.get(entry)
    if row is None or row.verdict is None:
        return "not run"
    status = STATUS[row.verdict]
    if status == "refuted" and row.evidence is not None and row.evidence.order_alone:
        return "broken otherwise"
    return "not shown" if status == "confirmed" and causes and not _lost_by(row, causes) else status


def agreement_of(entry: int | None, judged: Mapping[int, RunRow], causes: Collection[str] = ()) -> Status:
    """The same of a scenario that must show what the simulated Kafka did. Where all evidence is there, and
    shows something else, one of the two is wrong: that is a finding about them, and not about the promise.
    """
    row = run_of(entry, judged)
    contrary = row is not None and row.evidence is not None and row.evidence.contrary
    return "the cluster disagrees" if contrary else status_of(entry, judged, causes)


def search_status(row: SearchRow, judged: Mapping[int, RunRow]) -> Status:
    """What the run of a counterexample shows, if there is one."""
    if row.found:
        return agreement_of(row.entry, judged, row.causes)
    return "none found" if row.kinds else "not searched"


def in_words(status: Status, row: RunRow | None) -> str:
    """ "not shown: lost by unclean election", where a run has passed, and lost nothing by a cause of its
    clause; "broken otherwise: duplicate".
    """
    if row is not None and row.evidence is not None and status == "broken otherwise":
        return f"{status}: {', '.join(row.evidence.order_alone)}"
    if row is None or status != "not shown" or row.verdict != "PASS":
        return status
    found = [] if row.evidence is None else row.evidence.causes
    return f"{status}: lost by {', '.join(found) or 'what is not known'}"


def against_promise(causes: Collection[str]) -> str:
    """That the simulated Kafka loses by causes that no clause names, in words."""
    return f"the simulated Kafka loses by {', '.join(causes)}, and no clause of the promise names that"


def named(found: Iterable[str], causes: Collection[str]) -> bool:
    """Whether one of those that labels name is among `causes`, with all that its label holds for possible."""
    return any({*one.split(OR)} <= {*causes} for one in found)


def with_runs(suite: SuiteRecord, found: Sequence[Verdict]) -> int:
    """The exit code of a suite's runs and of what was found beside them; that of a signal comes first."""
    of_runs = Verdict.ERROR.exit_code if suite.exit_code is None else suite.exit_code
    verdicts = [verdict for verdict in Verdict if verdict.exit_code == of_runs]
    return worst([*verdicts, *found]).exit_code if verdicts else of_runs


def _lost_by(row: RunRow, causes: Collection[str]) -> bool:
    return row.evidence is not None and named(row.evidence.causes, causes)
