"""accept.json: the promise, the traps, what was searched and which run shows which clause.

It stands beside the suite.json of the runs, which has their verdicts: together they are the answer, also of
an acceptance that was stopped and resumed. docs/accept.md describes the keys.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from pydantic import Field

from harness.campaign.suites.json_record import read_json_record
from harness.campaign.suites.record import RunRow
from harness.run_directory.layout import write_whole
from harness.run_directory.manifest import ManifestPart

SCHEMA_VERSION = 1
FILE = "accept.json"

Status = Literal[
    "confirmed",
    "refuted",
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
    why_not: str = Field(default="", description="why there is no run of it")
    entry: int | None = Field(default=None, description="the place of its scenario in the suite")


class TrapRow(ManifestPart):
    """A trap that the configuration falls into."""

    id: str
    sentence: str
    change: str = Field(description="the setting to change")
    clause: str = Field(default="", description="the clause whose run shows what it does; empty: none does")


class SearchRow(ManifestPart):
    """A search on the simulated Kafka."""

    goal: str = Field(description="`loss` or `unavailability`")
    found: str = Field(default="", description="the shortest schedule in words; empty if there is none")
    faults: int = Field(default=0, description="of that schedule")
    causes: tuple[str, ...] = Field(default=(), description="of what is lost by it, as in docs/properties.md")
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


def status_of(entry: int | None, judged: Mapping[int, RunRow]) -> Status:
    """What the runs show of the scenario at a place of the suite. `judged`: rows by that place."""
    if entry is None:
        return "no run can show it"
    row = judged.get(entry)
    return "not run" if row is None or row.verdict is None else STATUS[row.verdict]


def agreement_of(entry: int | None, judged: Mapping[int, RunRow]) -> Status:
    """The same of a scenario that must show what the simulated Kafka did. Where all evidence is there, and
    shows something else, one of the two is wrong: that is a finding about them, and not about the promise.
    """
    row = judged.get(-1 if entry is None else entry)
    contrary = row is not None and row.evidence is not None and row.evidence.contrary
    return "the cluster disagrees" if contrary else status_of(entry, judged)


def search_status(row: SearchRow, judged: Mapping[int, RunRow]) -> Status:
    """What the run of a counterexample shows, if there is one."""
    if row.found:
        return agreement_of(row.entry, judged)
    return "none found" if row.kinds else "not searched"
