"""Between the words for a step's start and the plain data, both ways.

    at: 5s                       once: cut + kill        not before these have recovered
    after: cut.begin + 2s        once: kill
    when: isr == {leader}        within: 20s             since: cut.end

The names of other steps stay as they are written, "previous" too: `named` puts those in that they mean.
"""

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Literal

from faults.durations import parse_duration, write_duration
from faults.errors import BadStep
from faults.kinds.fault.step import After, At, Start, When, Words
from faults.targets import moments
from faults.targets.conditions import FirstAck, parse_condition
from faults.targets.moments import STEP_NAME, Combined, Moments, StepMoment, parse_moments

START_KEYS = ("at", "after", "when")
ALL_KEYS = (*START_KEYS, "once", "within", "since")
FROM_THE_START: Literal["start"] = "start"
"""In place of a moment: when the schedule starts."""
WITHIN_S = 60.0
"""How long a step without `within` waits for its event."""

_OF_START = (("once", ("at", "after")), ("within", ("when",)), ("since", ("when",)))
_AFTER = re.compile(r"(?P<of>[^+]+?)(?: ?\+ ?(?P<delay>.+))?")
_FIRST_ACK = re.compile(r"(?P<ack>first ack(?:\([^()]+\))?) after (?P<since>.+)")


def parse_start(words: Words) -> Start | None:
    """The one of `at`, `after` and `when` that there is; None if there is none."""
    given = [key for key in START_KEYS if key in words]
    if len(given) > 1:
        raise BadStep("at", given, "exactly one of at, after, when")
    for key, owners in _OF_START:
        if key in words and not set(given) & set(owners):
            belongs = " or ".join(f"'{owner}'" for owner in owners)
            raise BadStep(key, words[key], f"nothing: it belongs to {belongs}")
    once = parse_names(words["once"]) if "once" in words else ()
    match given:
        case ["at"]:
            return At(offset_s=parse_duration(words["at"], "at"), once=once)
        case ["after"]:
            return replace(_parse_after(words["after"]), once=once)
        case ["when"]:
            return _parse_when(words)
        case _:
            return None


def is_first_ack(start: When) -> bool:
    """Whether the moment from which on the event counts is written with the event."""
    return isinstance(start.condition, FirstAck)


def no_start() -> BadStep:
    """The refusal of a step without a start."""
    return BadStep("at", [], "exactly one of at, after, when")


def parse_names(value: object) -> tuple[str, ...]:
    """The names in `once`."""
    names = [name.strip() for name in value.split("+")] if isinstance(value, str) else []
    if not names or not all(STEP_NAME.fullmatch(name) for name in names):
        raise BadStep("once", value, "names of earlier steps, as in cut + kill-2")
    return tuple(names)


def _parse_after(value: object) -> After:
    match = _AFTER.fullmatch(" ".join(value.split())) if isinstance(value, str) else None
    if match is None:
        raise BadStep("after", value, moments.WORDS)
    return After(
        of=parse_moments(match["of"], "after"),
        delay_s=parse_duration(match["delay"], "after") if match["delay"] else 0.0,
    )


def _parse_when(words: Words) -> When:
    value = words["when"]
    within_s = parse_duration(words["within"], "within") if "within" in words else WITHIN_S
    if within_s == 0.0:
        raise BadStep("within", words["within"], "more than 0s: nothing is waited for in no time")
    if ack := _FIRST_ACK.fullmatch(" ".join(value.split())) if isinstance(value, str) else None:
        if "since" in words:
            raise BadStep("since", words["since"], "nothing: the event has its 'after'")
        condition = parse_condition(ack["ack"])
        return When(condition=condition, within_s=within_s, since=parse_moments(ack["since"], "when"))
    condition = parse_condition(value)
    if isinstance(condition, FirstAck):
        raise BadStep("when", value, "first ack after STEP.begin, .end or .recovered")
    return When(condition=condition, within_s=within_s, since=_parse_since(words))


def _parse_since(words: Words) -> Moments | Literal["start"] | None:
    if "since" not in words:
        return None
    value = words["since"]
    if value == FROM_THE_START:
        return FROM_THE_START
    if not isinstance(value, str):
        raise BadStep("since", value, f"{moments.WORDS}; or {FROM_THE_START}")
    return parse_moments(value, "since")


def write_start(start: Start) -> dict[str, str]:
    """The words that `parse_start` reads back to the same start."""
    match start:
        case At():
            return {"at": write_duration(start.offset_s)} | _write_once(start.once)
        case After():
            after = f"{start.of} + {write_duration(start.delay_s)}"
            return {"after": after} | _write_once(start.once)
        case When(condition=FirstAck()):
            within = {"within": write_duration(start.within_s)}
            return {"when": f"{start.condition} after {start.since}"} | within
        case When():
            since = {} if start.since is None else {"since": str(start.since)}
            within = {"within": write_duration(start.within_s)}
            return {"when": str(start.condition)} | within | since


def _write_once(names: tuple[str, ...]) -> dict[str, str]:
    return {"once": " + ".join(names)} if names else {}


def later(start: At | After, by_s: float) -> At | After:
    """The same, so much later."""
    match start:
        case At():
            return replace(start, offset_s=round(start.offset_s + by_s, 3))
        case After():
            return replace(start, delay_s=round(start.delay_s + by_s, 3))


def named(
    start: Start,
    meant: Callable[[StepMoment], Moments],
    steps: Callable[[str], tuple[str, ...]],
) -> Start:
    """The same, with the moments and the names in it replaced by those that they mean."""
    match start:
        case At(once=once):
            return replace(start, once=_all_of(once, steps))
        case After(of=of, once=once):
            return replace(start, of=moments.replaced(of, meant), once=_all_of(once, steps))
        case When(since=StepMoment() | Combined() as since):
            return replace(start, since=moments.replaced(since, meant))
        case When():
            return start


def _all_of(names: tuple[str, ...], steps: Callable[[str], tuple[str, ...]]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(each for name in names for each in steps(name)))
