"""Between the words of a scenario and the plain data of a plan, both ways.

    {do: partition, at: 5s, edges: followers -> leader, mode: refuse, for: 3s}
    {do: kill, after: previous.begin + 2s, target: leader, for: 8s, name: the-kill}
    {do: power-loss, when: 'isr == {leader}', within: 20s, target: leader, for: 5s}

Keys: `do` and `for` always; one of `at`, `after`, `when`; `within` with `when`; `name` if you like. A
partition takes `edges`, or a `target` to cut off from everybody, and `mode`; every other fault a `target`.
Every error is a BadStep that names the key.
"""

import re
from collections.abc import Mapping, Sequence
from typing import get_args

from compose.protocols import CutMode
from faults.errors import BadStep
from faults.plan.conditions import parse_condition
from faults.plan.edges import EdgeSet, around, parse_edges
from faults.plan.steps import After, At, FaultKind, FaultStep, Moment, Start, When
from faults.plan.targets import Target, parse_target

KEYS = ("name", "do", "at", "after", "when", "within", "target", "edges", "mode", "for")
KINDS: tuple[FaultKind, ...] = get_args(FaultKind)
MODES: tuple[CutMode, ...] = get_args(CutMode)
WITHIN_S = 60.0
"""How long a step waits for its event if it does not say."""

_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}
_DURATION = re.compile(r"(?P<number>\d+(?:\.\d+)?) ?(?P<unit>ms|s|m|h)")
_NAME = re.compile(r"[a-z][a-z0-9-]*")
_AFTER = re.compile(r"(?P<anchor>[a-z][a-z0-9-]*)\.(?P<moment>\w+)(?: ?\+ ?(?P<delay>.+))?")


def parse_steps(mappings: Sequence[Mapping[str, object]]) -> tuple[FaultStep, ...]:
    """The steps of a plan, in order; a BadStep says which one."""
    steps: list[FaultStep] = []
    for index, mapping in enumerate(mappings):
        try:
            steps.append(parse_step(mapping, index=index, previous=steps[-1].name if steps else None))
        except BadStep as refusal:
            raise refusal.at_step(index) from None
    return tuple(steps)


def parse_step(mapping: Mapping[str, object], *, index: int = 0, previous: str | None = None) -> FaultStep:
    """One step; `index` counts from 0 and gives a default name, `previous` is the name of the step before."""
    for key in mapping:
        if key not in KEYS:
            raise BadStep(key, mapping[key], (f"the keys of a step: {', '.join(KEYS)}"))
    kind = _parse_kind(mapping.get("do"))
    target, edges = _parse_aim(mapping, kind)
    return FaultStep(
        name=_parse_name(mapping.get("name", f"{kind}-{index + 1}")),
        kind=kind,
        start=_parse_start(mapping, previous),
        hold_s=parse_duration(mapping.get("for"), "for"),
        target=target,
        edges=edges,
        mode=_parse_mode(mapping.get("mode", "refuse"), kind, given="mode" in mapping),
    )


def parse_duration(value: object, field: str) -> float:
    """Seconds from "500ms", "2.5s", "10m" or "1h", to the millisecond."""
    match = _DURATION.fullmatch(value.strip()) if isinstance(value, str) else None
    if match is None:
        raise BadStep(field, value, "a duration with its unit, not negative: 500ms, 2.5s, 10m, 1h")
    return round(float(match["number"]) * _UNITS[match["unit"]], 3)


def _parse_kind(value: object) -> FaultKind:
    for kind in KINDS:
        if kind == value:
            return kind
    raise BadStep("do", value, KINDS)


def _parse_name(value: object) -> str:
    if not isinstance(value, str) or not _NAME.fullmatch(value) or value == "previous":
        raise BadStep("name", value, "lower-case letters, digits and hyphens; not 'previous'")
    return value


def _parse_mode(value: object, kind: FaultKind, *, given: bool) -> CutMode:
    if given and kind != "partition":
        raise BadStep("mode", value, f"nothing: a {kind} has no mode, a partition has")
    for mode in MODES:
        if mode == value:
            return mode
    raise BadStep("mode", value, MODES)


def _parse_aim(mapping: Mapping[str, object], kind: FaultKind) -> tuple[Target | None, EdgeSet | None]:
    """The step's target or edges, of which each kind of fault takes its own."""
    target, edges = mapping.get("target"), mapping.get("edges")
    if kind != "partition":
        if edges is not None:
            raise BadStep("edges", edges, f"nothing: a {kind} takes a target, a partition takes edges")
        return parse_target(target), None
    if (target is None) == (edges is None):
        raise BadStep("edges", edges, "arrows such as 'followers -> leader', or else a target to cut off")
    return None, parse_edges(edges) if target is None else around(parse_target(target))


def _parse_start(mapping: Mapping[str, object], previous: str | None) -> Start:
    """The one of `at`, `after` and `when` that the step has."""
    given = [key for key in ("at", "after", "when") if key in mapping]
    if len(given) != 1:
        raise BadStep("at", given, "exactly one of at, after, when")
    value = mapping[given[0]]
    if "within" in mapping and given != ["when"]:
        raise BadStep("within", mapping["within"], "nothing: it belongs to 'when'")
    match given[0]:
        case "at":
            return At(offset_s=parse_duration(value, "at"))
        case "after":
            return _parse_after(value, previous)
        case _:
            within_s = parse_duration(mapping["within"], "within") if "within" in mapping else WITHIN_S
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


def write_duration(seconds: float) -> str:
    """The words for a duration, to the millisecond."""
    return f"{seconds:.3f}".rstrip("0").rstrip(".") + "s"


def write_step(step: FaultStep) -> dict[str, str]:
    """The words for a step, which `parse_step` reads back to the same step: for the resolved scenario."""
    words = {"name": step.name, "do": step.kind} | _write_start(step.start)
    if step.edges is not None:
        words |= {"edges": str(step.edges), "mode": step.mode}
    if step.target is not None:
        words["target"] = str(step.target)
    return words | {"for": write_duration(step.hold_s)}


def _write_start(start: Start) -> dict[str, str]:
    match start:
        case At():
            return {"at": write_duration(start.offset_s)}
        case After():
            return {"after": f"{start.anchor}.{start.moment} + {write_duration(start.delay_s)}"}
        case When():
            return {"when": str(start.condition), "within": write_duration(start.within_s)}
