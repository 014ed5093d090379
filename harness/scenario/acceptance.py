"""Acceptance lines of a scenario: "unavailable.max <= 20s", "indeterminate.ratio < 0.05".

A metric is one number of the run's exposure; a duration is written with its unit. A line that does not hold
makes the verdict FAIL; one whose metric is unknown in this run (no acknowledgement at all) makes it UNKNOWN.
A line that holds whatever is measured (`acked.count >= 0`), or never (`failed.ratio > 1`), is refused.
"""

import math
import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated

from pydantic import AfterValidator

from harness.scenario.units import duration_s

OPERATORS: Mapping[str, Callable[[float, float], bool]] = {
    "<=": operator.le,
    ">=": operator.ge,
    "<": operator.lt,
    ">": operator.gt,
}
METRICS: Mapping[str, str] = {
    "unavailable.max": "duration",
    "indeterminate.ratio": "number",
    "failed.ratio": "number",
    "acked.count": "number",
}
WHOLE = frozenset({"acked.count"})
"""Metrics that are whole numbers."""
GREATEST: Mapping[str, float] = {"indeterminate.ratio": 1.0, "failed.ratio": 1.0}
"""The greatest value of a metric that has one; the least value of each is 0."""
LINE = re.compile(r"(?P<metric>[a-z.]+)\s*(?P<sign><=|>=|<|>)\s*(?P<bound>\S+)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Bound:
    """One acceptance line as data; `bound` in seconds if the metric is a duration."""

    text: str
    metric: str
    sign: str
    bound: float

    def holds(self, value: float) -> bool:
        """Whether `value` satisfies the line."""
        return OPERATORS[self.sign](value, self.bound)

    def with_unit(self, value: float) -> str:
        """`value` as a person reads it: "20 s", "0.04"."""
        return f"{value:.3g} s" if METRICS[self.metric] == "duration" else f"{value:.4g}"


def parse_bound(text: str) -> Bound:
    """Read a line; ValueError names what is wrong with it."""
    match = LINE.fullmatch(text.strip())
    if match is None:
        raise ValueError(
            f"not an acceptance line: {text!r}; write METRIC <= BOUND, as in unavailable.max <= 20s"
        )
    if match["metric"] not in METRICS:
        raise ValueError(f"unknown metric {match['metric']!r}; allowed: {', '.join(METRICS)}")
    bound = Bound(text=text, metric=match["metric"], sign=match["sign"], bound=_bound(match))
    _refuse_foregone(bound)
    return bound


def _refuse_foregone(bound: Bound) -> None:
    """A comparison with a number changes at most once along the metric's range: its two ends show it."""
    least, greatest = 0.0, GREATEST.get(bound.metric, math.inf)
    at_least, at_greatest = bound.holds(least), bound.holds(greatest)
    if at_least is at_greatest:
        reach = f"from 0 to {greatest:g}" if math.isfinite(greatest) else "from 0"
        holds = "always holds" if at_least else "never holds"
        raise ValueError(f"{bound.text!r} {holds}: {bound.metric} is {reach}; give a bound within")


def _bound(match: re.Match[str]) -> float:
    if METRICS[match["metric"]] == "duration":
        return duration_s(match["bound"])
    try:
        bound = float(match["bound"])
    except ValueError:
        bound = math.nan
    if not math.isfinite(bound):
        raise ValueError(f"not a number: {match['bound']!r}, the bound of {match['metric']}")
    return bound


def _checked(line: str) -> str:
    parse_bound(line)
    return line


AcceptLine = Annotated[str, AfterValidator(_checked)]
"""The text of a line that `parse_bound` reads."""
