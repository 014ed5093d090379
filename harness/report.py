"""What a run or a check ends with: the verdict, the reasons for it, and the two files that tell them."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from checkers.verdict import Verdict, worst
from harness.rundir import RunDir, write_whole


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """One finding in words: `line` stands alone, `evidence` is behind it."""

    line: str
    evidence: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """`document` is verdict.json, `summary` is summary.md.

    `headline` is the first line a person reads: of a failure, the record that shows it. `outcome` says what
    happened to the acknowledged records. `name` tells the run from others of a suite: scenario and seed.
    """

    verdict: Verdict
    headline: str
    outcome: str
    name: str = ""
    told: tuple[Told, ...] = ()
    reasons: tuple[str, ...] = ()
    document: Mapping[str, Any] = field(default_factory=dict)
    summary: str = ""

    def with_problem(self, problem: str) -> "Report":
        """The same after a failure of the harness: an ERROR, unless a violation was found."""
        if self.verdict is Verdict.FAIL:
            return replace(self, reasons=(*self.reasons, problem))
        return replace(
            self,
            verdict=Verdict.ERROR,
            headline=problem,
            outcome=f"{problem} — {Verdict.ERROR}",
            reasons=(problem, *self.reasons),
        )

    def write(self, run: RunDir) -> None:
        """Write verdict.json and summary.md."""
        document = {**self.document, "verdict": self.verdict.value, "outcome": self.outcome}
        write_whole(run.verdict, json.dumps(document, indent=2) + "\n")
        write_whole(run.summary, self.summary or f"# {self.verdict}\n\n{self.headline}\n")


def crashed(problem: str) -> Report:
    """The report of a run of which nothing can be judged."""
    return Report(verdict=Verdict.ERROR, headline=problem, outcome=f"{problem} — {Verdict.ERROR}")


def worst_exit_code(reports: Iterable[Report]) -> int:
    """The exit code of a suite; without any run, an ERROR."""
    verdicts = [report.verdict for report in reports]
    return worst(verdicts).exit_code if verdicts else Verdict.ERROR.exit_code
