"""How often a step or a block is repeated, and when: `repeat: {every: 5s, jitter: 1s, times: 6}`.

The first repetition is at the start that the step has, the others a multiple of `every` later, each drawn
up to `jitter` sooner or later than that. `until` in place of `times` is a time of the schedule, as `at` is:
no repetition is planned for later, jitter aside. With `overlap: forbid`, the default, a repetition also waits
until the one before has recovered.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from random import Random
from typing import Literal, get_args

from faults.choices import parse_choice
from faults.durations import parse_duration, write_duration
from faults.errors import BadStep
from faults.kinds.fault.step import At, Start

KEYS = ("every", "jitter", "times", "until", "overlap")
Overlap = Literal["forbid", "allow"]
OVERLAPS: tuple[Overlap, ...] = get_args(Overlap)

MOST_TIMES = 10_000
SHORTEST_EVERY_S = 0.1
"""A step is injected at its instant give or take this."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Repeat:
    """Either `times` or `until_s` is given; `until_s` counts as the `at` of the step."""

    every_s: float
    jitter_s: float = 0.0
    times: int | None = None
    until_s: float | None = None
    overlap: Overlap = "forbid"

    def count(self, start: Start) -> int:
        """How many repetitions there are of what has this start; BadStep if that cannot be known."""
        if self.times is not None:
            return self.times
        until_s = self.until_s or 0.0
        if not isinstance(start, At):
            raise BadStep(
                "until", write_duration(until_s), "nothing: it belongs to 'at'; write times instead"
            )
        if until_s < start.offset_s:
            begins = f"{write_duration(start.offset_s)} or later, when the first one begins"
            raise BadStep("until", write_duration(until_s), begins)
        periods = math.floor((until_s - start.offset_s) / self.every_s + 1e-9)
        if periods >= MOST_TIMES:
            raise BadStep("until", write_duration(until_s), f"at most {MOST_TIMES} repetitions")
        return periods + 1

    def delays_s(self, count: int, rng: Random) -> tuple[float, ...]:
        """How long after the first each repetition is planned."""
        multiples = (number * self.every_s for number in range(1, count))
        return (0.0, *(round(each + rng.uniform(-self.jitter_s, self.jitter_s), 3) for each in multiples))

    def check_hold(self, hold_s: float) -> None:
        """BadStep if a repetition begins before the one before can have ended, and may not."""
        if self.overlap == "forbid" and hold_s >= self.every_s - 2 * self.jitter_s:
            shortest = f"more than the hold of {write_duration(hold_s)}, and twice the jitter beyond that"
            raise BadStep("every", write_duration(self.every_s), f"{shortest}; or overlap: allow")


def parse_repeat(value: object) -> Repeat:
    """Read the map; BadStep names its key, below "repeat"."""
    if not isinstance(value, Mapping):
        raise BadStep("repeat", value, "a map, as in {every: 5s, times: 6}")
    try:
        return _parse(value)
    except BadStep as refusal:
        raise refusal.below("repeat") from None


def _parse(words: Mapping[str, object]) -> Repeat:
    for key in words:
        if key not in KEYS:
            raise BadStep(key, words[key], f"the keys of a repetition: {', '.join(KEYS)}", keys=KEYS)
    if ("times" in words) == ("until" in words):
        raise BadStep("times", words.get("times"), "exactly one of times, until")
    every_s = parse_duration(words.get("every"), "every")
    if every_s < SHORTEST_EVERY_S:
        raise BadStep("every", words["every"], f"{write_duration(SHORTEST_EVERY_S)} or longer")
    jitter_s = parse_duration(words.get("jitter", "0s"), "jitter")
    if jitter_s > every_s / 2:
        raise BadStep("jitter", words["jitter"], f"at most half of every: {write_duration(every_s / 2)}")
    return Repeat(
        every_s=every_s,
        jitter_s=jitter_s,
        times=_parse_times(words["times"]) if "times" in words else None,
        until_s=parse_duration(words["until"], "until") if "until" in words else None,
        overlap=parse_choice(words.get("overlap", "forbid"), "overlap", OVERLAPS),
    )


def _parse_times(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= MOST_TIMES:
        raise BadStep("times", value, f"a whole number, 1 to {MOST_TIMES}")
    return value
