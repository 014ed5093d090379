"""Lines of a scenario that bound a metric of its run: "unavailable.max <= 20s", "isr.min <= 1".

A metric is one number of the run (checkers/verdict/metrics); a duration is written with its unit. There are
two kinds of lines. An *acceptance line* is about what the clients got, and one that does not hold makes the
verdict FAIL. A *required line* is about the evidence that the scenario needs to show anything, and one that
does not hold makes it UNKNOWN: the run was another one than was meant. A line whose metric is not known in
this run makes it UNKNOWN, of either kind. A line that holds whatever is measured (`acked.count >= 0`), or
never (`failed.ratio > 1`), is refused.
"""

import math
import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated

from pydantic import AfterValidator

from checkers.verdict.metrics.metric import ERRORS, METRICS, Metric, metric_of
from harness.scenario.text.units import duration_s

OPERATORS: Mapping[str, Callable[[float, float], bool]] = {
    "<=": operator.le,
    ">=": operator.ge,
    "<": operator.lt,
    ">": operator.gt,
}
NUMBER = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]{1,3})?")
LINE = re.compile(r"(?P<metric>[a-z.-]+[A-Z0-9_]*)\s*(?P<sign><=|>=|<|>)\s*(?P<bound>\S+)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Bound:
    """One line as data; `bound` in seconds if the metric is a duration."""

    text: str
    metric: Metric
    sign: str
    bound: float

    def holds(self, value: float) -> bool:
        """Whether `value` satisfies the line."""
        return OPERATORS[self.sign](value, self.bound)


def parse_accepted(text: str) -> Bound:
    """Read an acceptance line; ValueError names what is wrong with it."""
    names = [name for name, metric in METRICS.items() if metric.of_clients]
    bound = _parsed(text, "an acceptance line", "unavailable.max <= 20s", names)
    if not bound.metric.of_clients:
        raise ValueError(
            f"{bound.metric.name} is evidence, and no service to clients: write the line under require; "
            f"allowed: {', '.join(names)}"
        )
    return bound


def parse_required(text: str) -> Bound:
    """Read a required line; ValueError names what is wrong with it."""
    return _parsed(text, "a required line", "isr.min <= 1", [*METRICS, f"{ERRORS}NAME"])


def refuse_foregone(bound: Bound, greatest: float) -> None:
    """ValueError for a line that always or never holds, if the metric is from 0 to `greatest`.

    A comparison with a number changes at most once along the metric's range: its two ends show it.
    """
    at_least, at_greatest = bound.holds(0.0), bound.holds(greatest)
    if at_least is at_greatest:
        reach = f"from 0 to {greatest:g}" if math.isfinite(greatest) else "from 0"
        holds = "always holds" if at_least else "never holds"
        raise ValueError(f"{bound.text!r} {holds}: {bound.metric.name} is {reach}; give a bound within")


def _parsed(text: str, kind: str, example: str, names: list[str]) -> Bound:
    match = LINE.fullmatch(text.strip())
    if match is None:
        raise ValueError(f"not {kind}: {text!r}; write METRIC <= BOUND, as in {example}")
    metric = metric_of(match["metric"])
    if metric is None:
        raise ValueError(f"unknown metric {match['metric']!r}; allowed: {', '.join(names)}")
    bound = Bound(text=text, metric=metric, sign=match["sign"], bound=_bound(metric, match["bound"]))
    refuse_foregone(bound, metric.greatest)
    return bound


def _bound(metric: Metric, text: str) -> float:
    if metric.unit == "duration":
        return duration_s(text)
    bound = float(text) if NUMBER.fullmatch(text) else math.nan
    if not math.isfinite(bound):
        raise ValueError(f"not a number: {text!r}, the bound of {metric.name}")
    return bound


def _accepted(line: str) -> str:
    parse_accepted(line)
    return line


def _required(line: str) -> str:
    parse_required(line)
    return line


AcceptLine = Annotated[str, AfterValidator(_accepted)]
"""The text of a line that `parse_accepted` reads."""
RequireLine = Annotated[str, AfterValidator(_required)]
"""The text of a line that `parse_required` reads."""
