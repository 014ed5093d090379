"""upgrade.json: the phases of an upgrade, what each was to show, and what its run has shown.

It stands beside the suite.json of the runs. It is written before the first run, without anything observed,
and again after the last one. docs/upgrade.md describes the keys.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from pydantic import Field

from harness.campaign.suites.files.json_record import read_json_record
from harness.campaign.suites.files.record import VerdictName
from harness.run_directory.layout import write_whole
from harness.run_directory.manifest import ManifestPart

SCHEMA_VERSION = 1
FILE = "upgrade.json"

PhaseName = Literal["up", "down", "refused"]
PeriodName = Literal["before", "during", "after"]


class PeriodRow(ManifestPart):
    """A part of a run: before its first roll, until the last one and what it finalizes, after that.

    What is None cannot be known: the run has no metadata log, or nothing of that kind happened.
    """

    period: PeriodName
    seconds: float = Field(description="its length")
    acked: int = Field(ge=0, description="records acknowledged in it")
    longest_gap_s: float | None = Field(
        default=None,
        description="the longest time without an acknowledgement of one partition that begins in it",
    )
    longest_gap_at: str = Field(default="", description="that partition")
    unavailable_s: Mapping[str, float] = Field(
        default_factory=dict,
        description="by partition: the sum of such times that are longer than a second, if it has any",
    )
    isr_shrinks: int | None = Field(default=None, description="changes by which an ISR lost replicas")
    isr_shrinks_per_minute: float | None = Field(default=None, description="the same by its length")
    isr_expands: int | None = Field(default=None, description="changes by which an ISR won replicas")
    elections: int | None = Field(default=None, description="partitions that got another leader epoch")
    after_an_end: int | None = Field(
        default=None, description="of them, those after the process of the leader had ended"
    )
    mean_election_s: float | None = Field(
        default=None, description="of those, from that end until there was a leader again: the mean"
    )
    longest_election_s: float | None = Field(default=None, description="and the longest")
    longest_election_at: str = Field(default="", description="of that partition")


class RollRow(ManifestPart):
    """One step that has brought nodes to a release."""

    step: str = Field(description="its name in the scenario")
    release: str
    nodes: tuple[int, ...] = Field(description="in the order in which they were taken")
    took_s: float


class ObservedRow(ManifestPart):
    """What the run of a phase has shown."""

    verdict: VerdictName
    outcome: str = Field(description="in one sentence")
    directory: str = Field(description="of the run, below the suite's")
    releases: Mapping[int, tuple[str, ...]] = Field(
        default_factory=dict, description="by node: the releases that its own log names, in their order"
    )
    metadata_levels: tuple[int, ...] = Field(
        default=(), description="the levels of metadata.version in the metadata log, in their order"
    )
    rolls: tuple[RollRow, ...] = Field(default=(), description="those of which the effect is proven")
    finalized: Mapping[str, tuple[int, int]] = Field(
        default_factory=dict, description="by feature: its level before, and after it was finalized"
    )
    refusals: tuple[str, ...] = Field(default=(), description="Kafka's words where it refuses the way back")
    periods: tuple[PeriodRow, ...] = Field(default=(), description="before, during and after the roll")
    unread: str = Field(default="", description="why the history of the run could not be read")


class PhaseRow(ManifestPart):
    """A phase of the upgrade."""

    phase: PhaseName
    expects: str = Field(description="in one sentence")
    entry: int = Field(ge=0, description="the place of its scenario in the suite")
    observed: ObservedRow | None = Field(default=None, description="absent until its run was judged")


class UpgradeRecord(ManifestPart):
    """The whole file."""

    schema_version: int = SCHEMA_VERSION
    tool_version: str
    older: str = Field(description="the release that the clusters begin with")
    newer: str
    levels: tuple[int, int] = Field(description="metadata.version of both")
    phases: tuple[PhaseRow, ...]
    left_out: str = Field(default="", description="the phase that this pair of releases has not, and why")

    def as_text(self) -> str:
        """The file."""
        return json.dumps(self.model_dump(mode="json", exclude_none=True), indent=2) + "\n"


def write_upgrade(directory: Path, record: UpgradeRecord) -> None:
    """Replace the file."""
    write_whole(directory / FILE, record.as_text())


def read_upgrade(directory: Path) -> UpgradeRecord:
    """The record of the upgrade in `directory`. RunDirectoryError if there is none; HistoryError if
    damaged.
    """
    return read_json_record(directory / FILE, UpgradeRecord, SCHEMA_VERSION, "an upgrade")
