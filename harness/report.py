"""What a run or a check ends with: the verdict, the reasons for it, and the two files that tell them."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

from harness.rundir import RunDir, write_whole


class Verdict(StrEnum):
    PASS = "PASS"
    FAIL = "FAIL"
    UNKNOWN = "UNKNOWN"
    ERROR = "ERROR"


EXIT_CODES: Mapping[Verdict, int] = {Verdict.PASS: 0, Verdict.FAIL: 1, Verdict.UNKNOWN: 3, Verdict.ERROR: 4}
WORST_FIRST = (1, 4, 3, 0)
"""The order in which a suite's exit code is chosen."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """`document` is verdict.json, `summary` is summary.md, `headline` the outcome in one plain sentence.

    `name` tells it from the other runs of a suite: scenario and seed.
    """

    verdict: Verdict
    headline: str
    name: str = ""
    reasons: tuple[str, ...] = ()
    document: Mapping[str, Any] = field(default_factory=dict)
    summary: str = ""

    @property
    def exit_code(self) -> int:
        """Of a run that was not interrupted."""
        return EXIT_CODES[self.verdict]

    def with_problem(self, problem: str) -> "Report":
        """The same after a failure of the harness: an ERROR, unless a violation was found."""
        if self.verdict is Verdict.FAIL:
            return replace(self, reasons=(*self.reasons, problem))
        return replace(self, verdict=Verdict.ERROR, headline=problem, reasons=(problem, *self.reasons))

    def write(self, run: RunDir) -> None:
        """Write verdict.json and summary.md."""
        write_whole(run.verdict, json.dumps(self.document, indent=2) + "\n")
        write_whole(run.summary, self.summary)


def crashed(problem: str) -> Report:
    """The report of a run of which nothing can be judged."""
    return Report(verdict=Verdict.ERROR, headline=problem, reasons=(problem,))


def worst_exit_code(reports: Iterable[Report]) -> int:
    """The exit code of a suite."""
    codes = {report.exit_code for report in reports}
    return next((code for code in WORST_FIRST if code in codes), EXIT_CODES[Verdict.ERROR])
