"""What a run or a check ends with: the verdict, the reasons for it, and the two files that report them."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from checkers.verdict.algebra import Reason, Verdict, worst
from harness.report.markdown import markdown
from harness.report.tables import read_table
from harness.run_directory.layout import RunDir, write_whole

if TYPE_CHECKING:
    from pandas import DataFrame

SCHEMA_VERSION = 1
"""Of verdict.json."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """The verdict on the run in `run_dir`, and all that led to it.

    `outcome` is one sentence on what happened to the acknowledged records, `remark` what that means in this
    scenario ("" if nothing special), `reasons` what decided the verdict, the worst first. `name` tells the
    run from others: scenario and seed. `document` is verdict.json below its verdict (docs/verdict.md); it is
    empty if the run directory could not be read.
    """

    run_dir: Path
    verdict: Verdict
    outcome: str
    remark: str = ""
    name: str = ""
    reasons: tuple[Reason, ...] = ()
    document: Mapping[str, Any] = field(default_factory=dict)

    @property
    def findings(self) -> tuple[Mapping[str, Any], ...]:
        """The gravest findings as in verdict.json: `label`, `topic`, `partition`, `line`, `evidence`, …"""
        return tuple(self.document.get("findings", ()))

    @property
    def findings_total(self) -> int:
        """How many findings there are in all."""
        return int(self.document.get("findings_total", 0))

    @property
    def exposure(self) -> Mapping[str, Any]:
        """How much the run put at risk, as in verdict.json: `acked`, `longest_gap_s`, `fault_windows`, …"""
        return dict(self.document.get("exposure", {}))

    @property
    def fault_times(self) -> Mapping[str, Any]:
        """How late the faults began, and those to be named, as in verdict.json: `p99_late_s`, `notes`, …"""
        return dict(self.document.get("fault_times", {}))

    def table(self, name: str) -> "DataFrame":
        """One table of the run's history, with the columns of docs/history.md.

        `name` is `sends`, `final_log`, `reads`, `watermarks`, `proofs`, `faults` or `metadata`; -1 stands for
        "none" in integer columns, lists are arrays. UsageError for any other name; HistoryError for a file
        that is missing or damaged.
        """
        frame: DataFrame = read_table(RunDir(path=self.run_dir).history, name).to_pandas()
        return frame

    @property
    def finding_lines(self) -> tuple[str, ...]:
        """The gravest findings, a line each."""
        return tuple(finding["line"] for finding in self.findings)

    @property
    def headline(self) -> str:
        """The first line a person reads: of a failure, the record that shows it."""
        lines = self.finding_lines
        return lines[0] if lines and self.verdict is Verdict.FAIL else self.outcome

    @property
    def verdict_in_words(self) -> str:
        """ "PASS (expected loss seen)"."""
        return f"{self.verdict} ({self.remark})" if self.remark else str(self.verdict)

    def with_problem(self, problem: str) -> "Report":
        """The same after a failure of the harness: an ERROR, unless a violation was found."""
        reason = Reason(Verdict.ERROR, problem)
        known = tuple(each for each in self.reasons if each.verdict is not Verdict.PASS and each != reason)
        if self.verdict is Verdict.FAIL:
            return replace(self, reasons=(*known, reason))
        return replace(self, verdict=Verdict.ERROR, outcome=problem, remark="", reasons=(reason, *known))

    def as_json(self) -> dict[str, Any]:
        """verdict.json; of a run that could not be judged only what is known of any report."""
        reasons = self.reasons or (Reason(self.verdict, self.outcome),)
        return {
            "schema_version": SCHEMA_VERSION,
            "verdict": self.verdict.value,
            "outcome": self.outcome,
            "reasons": [{"verdict": each.verdict.value, "sentence": each.sentence} for each in reasons],
            **self.document,
        }

    def write(self) -> None:
        """Write verdict.json and summary.md into the run directory."""
        run = RunDir(path=self.run_dir)
        write_whole(run.verdict, json.dumps(self.as_json(), indent=2) + "\n")
        write_whole(run.summary, self.as_markdown())

    def as_markdown(self) -> str:
        """summary.md; of a run that could not be judged its outcome."""
        return markdown(self.as_json()) if self.document else f"# {self.verdict}\n\n{self.outcome}\n"


def crashed(run: RunDir, problem: str) -> Report:
    """The report of a run of which nothing can be judged."""
    return Report(run_dir=run.path, verdict=Verdict.ERROR, outcome=problem)


def worst_exit_code(reports: Iterable[Report]) -> int:
    """The exit code of several runs; without any run, that of an ERROR."""
    verdicts = [report.verdict for report in reports]
    return worst(verdicts).exit_code if verdicts else Verdict.ERROR.exit_code
