"""What a run or a check ends with: the verdict, the reasons for it, and the two files that tell them."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from checkers.verdict.algebra import Reason, Verdict, worst
from harness.report.markdown import markdown
from harness.run_directory.layout import RunDir, write_whole

SCHEMA_VERSION = 1
"""Of verdict.json."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """`document` is what verdict.json and summary.md tell of a run that could be judged.

    `outcome` says what happened to the acknowledged records, `remark` what that means in this scenario;
    `name` tells the run from others of a suite: scenario and seed.
    """

    verdict: Verdict
    outcome: str
    remark: str = ""
    name: str = ""
    reasons: tuple[Reason, ...] = ()
    document: Mapping[str, Any] = field(default_factory=dict)

    @property
    def told(self) -> tuple[str, ...]:
        """The gravest findings, a line each."""
        return tuple(finding["line"] for finding in self.document.get("findings", ()))

    @property
    def findings_total(self) -> int:
        """How many findings there are in all."""
        return int(self.document.get("findings_total", 0))

    @property
    def headline(self) -> str:
        """The first line a person reads: of a failure, the record that shows it."""
        return self.told[0] if self.told and self.verdict is Verdict.FAIL else self.outcome

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

    def write(self, run: RunDir) -> None:
        """Write verdict.json and summary.md."""
        write_whole(run.verdict, json.dumps(self.as_json(), indent=2) + "\n")
        write_whole(run.summary, self.as_markdown())

    def as_markdown(self) -> str:
        """summary.md; of a run that could not be judged its outcome."""
        return markdown(self.as_json()) if self.document else f"# {self.verdict}\n\n{self.outcome}\n"


def crashed(problem: str) -> Report:
    """The report of a run of which nothing can be judged."""
    return Report(verdict=Verdict.ERROR, outcome=problem)


def worst_exit_code(reports: Iterable[Report]) -> int:
    """The exit code of a suite; without any run, an ERROR."""
    verdicts = [report.verdict for report in reports]
    return worst(verdicts).exit_code if verdicts else Verdict.ERROR.exit_code
