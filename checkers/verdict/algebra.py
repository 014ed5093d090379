"""The algebra of verdicts: reasons in, the worst one out; PASS is what is left when there is none.

FAIL: a violation, a loss that the scenario does not expect, a missed acceptance line. ERROR: the harness
failed. UNKNOWN: the evidence is incomplete, or nothing was shown (a vacuous run, a weak control).
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Literal

from checkers.properties import Property

Status = Literal["violated", "permitted", "undecided", "holds", "nothing examined", "not decided"]
"""What is known of a property in one run. "nothing examined": there was no unit of it, decided or not.
"not decided": no rule decides it, or its evidence is not collected. Neither changes a verdict."""


class Verdict(StrEnum):
    """The answer for a run, worst first."""

    FAIL = "FAIL"
    ERROR = "ERROR"
    UNKNOWN = "UNKNOWN"
    PASS = "PASS"

    @property
    def exit_code(self) -> int:
        """What the process ends with."""
        return {Verdict.PASS: 0, Verdict.FAIL: 1, Verdict.UNKNOWN: 3, Verdict.ERROR: 4}[self]


def worst(verdicts: Iterable[Verdict]) -> Verdict:
    """The first of FAIL > ERROR > UNKNOWN > PASS: of one run's reasons, or of a suite's runs."""
    return min(verdicts, key=list(Verdict).index, default=Verdict.PASS)


@dataclass(frozen=True, slots=True)
class Reason:
    """One sentence, and the verdict that it alone would lead to.

    `contrary`: the evidence of it is whole, and shows something else than the scenario expects.
    `violates`: the property whose violations it counts.
    """

    verdict: Verdict
    sentence: str
    contrary: bool = False
    violates: Property | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunState:
    """How the run itself went: the manifest's state and problem, and the reasons that the harness adds.

    `vacuous` are those of what the run was to show and did not.
    """

    state: str
    problem: str = ""
    more: tuple[Reason, ...] = ()
    vacuous: tuple[Reason, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PropertyResult:
    """One property's line of the report. `status` is the worst that applies; `reason` is why it is not
    decided. Anomalies are counted in records, a run of offsets in offsets."""

    status: Status
    examined: int
    violations: int
    permitted: int
    undecided: int
    undecided_anomalies: int = 0
    """Anomalies of which it is undecided whether the contract permits them."""
    causes: Mapping[str, int] = field(default_factory=dict)
    """How many of the anomalies each cause has, as the labels name it."""
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """The verdict and why, the worst reasons first."""

    verdict: Verdict
    reasons: tuple[Reason, ...]
    properties: Mapping[Property, PropertyResult]


def conclude(
    reasons: Iterable[Reason], passed: Reason, properties: Mapping[Property, PropertyResult]
) -> Decision:
    """The worst reason decides; without any, the run has passed, for the one reason given."""
    ordered = sorted(reasons, key=lambda reason: list(Verdict).index(reason.verdict)) or [passed]
    return Decision(verdict=ordered[0].verdict, reasons=tuple(ordered), properties=properties)
