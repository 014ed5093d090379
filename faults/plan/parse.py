"""Between the words of a scenario and the plain data of a plan, both ways.

    {do: partition, at: 5s, edges: followers -> leader, mode: refuse, for: 3s}
    {do: kill, after: previous.begin + 2s, target: leader, for: 8s, name: the-kill}
    {do: power-loss, when: 'isr == {leader}', within: 20s, target: leader, for: 5s}
    {do: pause, at: 40s, once: the-kill + power-loss-3, target: node 1, for: 5s}

Keys: `do` and `for` always; one of `at`, `after`, `when`; `once` with `at` and `within` with `when`; `name`
if you like; and those that the kind of fault adds. Every error is a BadStep that names the key.
"""

import re
from collections.abc import Sequence
from typing import get_args

from faults.durations import parse_duration, write_duration
from faults.errors import BadStep
from faults.kinds.registry import KINDS
from faults.kinds.step import After, At, Head, Moment, Start, Step, When, Words
from faults.targets.conditions import parse_condition

_START_KEYS = ("at", "after", "when")
_OWN_KEYS = tuple(dict.fromkeys(key for kind in KINDS.values() for key in kind.step.keys))
KEYS = ("name", "do", *_START_KEYS, "once", "within", *_OWN_KEYS, "for")
WITHIN_S = 60.0
"""How long a step without `within` waits for its event."""

_NAME = re.compile(r"[a-z][a-z0-9-]*")
_AFTER = re.compile(r"(?P<anchor>[a-z][a-z0-9-]*)\.(?P<moment>\w+)(?: ?\+ ?(?P<delay>.+))?")


def parse_steps(plan: Sequence[Words]) -> tuple[Step, ...]:
    """The steps of a plan, in order; a BadStep has the index of its step."""
    steps: list[Step] = []
    for index, words in enumerate(plan):
        try:
            steps.append(parse_step(words, index=index, previous=steps[-1].name if steps else None))
        except BadStep as refusal:
            raise refusal.at_step(index) from None
    return tuple(steps)


def parse_step(words: Words, *, index: int = 0, previous: str | None = None) -> Step:
    """One step; `index` counts from 0 and gives a default name, `previous` is the name of the step before."""
    for key in words:
        if key not in KEYS:
            raise BadStep(key, words[key], (f"the keys of a step: {', '.join(KEYS)}"))
    step = _parse_kind(words.get("do"))
    _refuse_keys_of_other_kinds(words, step)
    head = Head(
        name=_parse_name(words.get("name", f"{step.kind}-{index + 1}")),
        start=_parse_start(words, previous),
        hold_s=parse_duration(words.get("for"), "for"),
    )
    return step.parse(head, words)


def _parse_kind(value: object) -> type[Step]:
    for name, kind in KINDS.items():
        if name == value:
            return kind.step
    raise BadStep("do", value, KINDS)


def _refuse_keys_of_other_kinds(words: Words, step: type[Step]) -> None:
    for key in words:
        if key in _OWN_KEYS and key not in step.keys:
            takers = ", ".join(name for name, kind in KINDS.items() if key in kind.step.keys)
            allowed = f"nothing: a {step.kind} takes {', '.join(step.keys)}; {key} belongs to {takers}"
            raise BadStep(key, words[key], allowed)


def _parse_name(value: object) -> str:
    if not isinstance(value, str) or not _NAME.fullmatch(value) or value == "previous":
        raise BadStep("name", value, "lower-case letters, digits and hyphens; not 'previous'")
    return value


def _parse_names(value: object) -> tuple[str, ...]:
    names = [name.strip() for name in value.split("+")] if isinstance(value, str) else []
    if not names or not all(_NAME.fullmatch(name) for name in names):
        raise BadStep("once", value, "names of earlier steps, as in cut + kill-2")
    return tuple(names)


def _parse_start(words: Words, previous: str | None) -> Start:
    """The one of `at`, `after` and `when` that the step has."""
    given = [key for key in _START_KEYS if key in words]
    if len(given) != 1:
        raise BadStep("at", given, "exactly one of at, after, when")
    value = words[given[0]]
    if "within" in words and given != ["when"]:
        raise BadStep("within", words["within"], "nothing: it belongs to 'when'")
    if "once" in words and given != ["at"]:
        raise BadStep("once", words["once"], "nothing: it belongs to 'at'")
    match given[0]:
        case "at":
            once = _parse_names(words["once"]) if "once" in words else ()
            return At(offset_s=parse_duration(value, "at"), once=once)
        case "after":
            return _parse_after(value, previous)
        case _:
            within_s = parse_duration(words["within"], "within") if "within" in words else WITHIN_S
            return When(condition=parse_condition(value), within_s=within_s)


def _parse_after(value: object, previous: str | None) -> After:
    """An anchor, with "previous" replaced by the name of the step before."""
    match = _AFTER.fullmatch(value.strip()) if isinstance(value, str) else None
    if match is None:
        raise BadStep("after", value, "STEP.begin, STEP.end or STEP.recovered, as in previous.begin + 2s")
    if match["anchor"] == "previous" and previous is None:
        raise BadStep("after", value, "the name of an earlier step; the first step has none before it")
    return After(
        anchor=previous if match["anchor"] == "previous" and previous else match["anchor"],
        moment=_parse_moment(match["moment"], value),
        delay_s=parse_duration(match["delay"], "after") if match["delay"] else 0.0,
    )


def _parse_moment(word: str, value: object) -> Moment:
    for moment in get_args(Moment):
        if moment == word:
            return moment  # type: ignore[no-any-return]  # get_args is untyped
    raise BadStep("after", value, [f"STEP.{moment}" for moment in get_args(Moment)])


def write_step(step: Step) -> dict[str, str]:
    """The words for a step, which `parse_step` reads back to the same step: for the resolved scenario."""
    return (
        {"name": step.name, "do": step.kind}
        | _write_start(step.start)
        | step.write()
        | {"for": write_duration(step.hold_s)}
    )


def _write_start(start: Start) -> dict[str, str]:
    match start:
        case At():
            once = {"once": " + ".join(start.once)} if start.once else {}
            return {"at": write_duration(start.offset_s)} | once
        case After():
            return {"after": f"{start.anchor}.{start.moment} + {write_duration(start.delay_s)}"}
        case When():
            return {"when": str(start.condition), "within": write_duration(start.within_s)}
