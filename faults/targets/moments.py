"""Moments of steps, which another step can follow, or from which on the event counts that it waits for.

cut.begin                      the fault is in force: its injection is done
cut.end                        it is healed
cut.recovered                  that is proven, or its deadline has passed
all(cut.end, kill.recovered)   the last of these
any(cut.end, kill.recovered)   the first of these
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal, TypeVar, get_args

from faults.errors import BadStep

Moment = Literal["begin", "end", "recovered"]
Which = Literal["all", "any"]
Time = TypeVar("Time", int, float)

PREVIOUS = "previous"
"""In place of a name: the step before."""

STEP_NAME = re.compile(r"[a-z][a-z0-9-]*(?:#[1-9][0-9]{0,5})*")
"""A name; of a step that is repeated, the number of the repetition is a part of it: kill#2."""

MOST_LEVELS = 4
"""How deep all() and any() may stand in each other."""

WORDS = (
    "STEP.begin, STEP.end or STEP.recovered, as in previous.begin + 2s; of several the last or the first, "
    "as in all(cut.end, kill.end) or any(cut.end, kill.end)"
)

_ONE = re.compile(rf"(?P<step>{STEP_NAME.pattern})\.(?P<moment>\w+)")
_SEVERAL = re.compile(r"(?P<which>all|any) ?\((?P<of>.*)\)")


@dataclass(frozen=True, slots=True, kw_only=True)
class StepMoment:
    """A moment of the step of this name."""

    step: str
    moment: Moment

    def __str__(self) -> str:
        return f"{self.step}.{self.moment}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Combined:
    """The last or the first of several moments."""

    which: Which
    of: tuple["Moments", ...]

    def __str__(self) -> str:
        return f"{self.which}({', '.join(map(str, self.of))})"


Moments = StepMoment | Combined


def parse_moments(text: str, field: str) -> Moments:
    """Read one moment, or several in all() or any(); `str()` of the result reads back to the same."""
    return _parse(" ".join(text.split()), field, 1)


def _parse(text: str, field: str, level: int) -> Moments:
    if match := _SEVERAL.fullmatch(text):
        if level > MOST_LEVELS:
            raise BadStep(field, text, f"all() and any() in each other, at most {MOST_LEVELS} levels deep")
        which: Which = "all" if match["which"] == "all" else "any"
        return Combined(which=which, of=tuple(_parse(each, field, level + 1) for each in _split(match["of"])))
    if (match := _ONE.fullmatch(text)) is None:
        raise BadStep(field, text, WORDS)
    return StepMoment(step=match["step"], moment=_parse_moment(match["moment"], text, field))


def _parse_moment(word: str, text: str, field: str) -> Moment:
    for moment in get_args(Moment):
        if moment == word:
            return moment  # type: ignore[no-any-return]  # get_args is untyped
    raise BadStep(field, text, [f"STEP.{moment}" for moment in get_args(Moment)])


def _split(text: str) -> list[str]:
    """The parts between those commas that stand in no brackets."""
    commas, depth = list[int](), 0
    for bracket in re.finditer(r"[(),]", text):
        depth += {"(": 1, ")": -1}.get(bracket[0], 0)
        if bracket[0] == "," and depth == 0:
            commas.append(bracket.start())
    begins, ends = (0, *(comma + 1 for comma in commas)), (*commas, len(text))
    return [text[begin:end].strip() for begin, end in zip(begins, ends, strict=True)]


def each_moment(moments: Moments) -> Iterator[StepMoment]:
    """Every moment that is named, as often as it is."""
    match moments:
        case StepMoment():
            yield moments
        case Combined(of=of):
            for each in of:
                yield from each_moment(each)


def replaced(moments: Moments, by: Callable[[StepMoment], Moments]) -> Moments:
    """The same, with each moment replaced; what then is an all() in an all() becomes one."""
    match moments:
        case StepMoment():
            return by(moments)
        case Combined(which=which, of=of):
            return combined(which, tuple(replaced(each, by) for each in of))


def combined(which: Which, of: tuple[Moments, ...]) -> Moments:
    """The last or the first of these; of a single one, that one."""
    flat: list[Moments] = []
    for each in of:
        flat += each.of if isinstance(each, Combined) and each.which == which else (each,)
    return flat[0] if len(flat) == 1 else Combined(which=which, of=tuple(flat))


def levels(moments: Moments) -> int:
    """How deep all() and any() stand in each other; 0 for one moment."""
    return 0 if isinstance(moments, StepMoment) else 1 + max(map(levels, moments.of))


def time_of(moments: Moments, of_step: Callable[[StepMoment], Time]) -> Time:
    """When they come, from when each comes: the last of all(), the first of any()."""
    match moments:
        case StepMoment():
            return of_step(moments)
        case Combined(which="all", of=of):
            return max(time_of(each, of_step) for each in of)
        case Combined(of=of):
            return min(time_of(each, of_step) for each in of)
