"""A storm: a plan drawn from a seed, with every choice made here, so that running the plan draws nothing.

A storm never asks more of Kafka than acks=all with min.insync.replicas 2 of 3 replicas promises: one node is
impaired at a time, and the next fault waits until the one before is proven recovered (plus a drawn pause). No
fault of a storm loses data, and none leaves a leader alone with its clients: cutting the followers off would
shrink the ISR to one and stop writes, so arrows go out of the node that is hit, or both ways around it.

Which kinds a storm may draw, and how, is part of their records (`FaultKind.storm`).
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from random import Random

from faults.durations import parse_duration
from faults.errors import BadStep
from faults.kinds.kind import Shape, StormRule
from faults.kinds.registry import KINDS
from faults.kinds.step import After, At, Head, Start, Step
from faults.plan.validate import MOST_STEPS, validate
from faults.targets.facts import Facts

RULES: Mapping[str, StormRule] = {name: kind.storm for name, kind in KINDS.items() if kind.storm is not None}
KEYS = ("duration", "kinds", "hold", "gap")

RECOVERY_S = 2.0
"""What one recovery takes of the storm's duration: an ISR is full again 0 to 4 s after these faults."""

_NODES_TO_SPARE = 3
"""With three of a kind, one can be away and the other two still decide."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Range:
    """Seconds to draw from, to the millisecond."""

    low_s: float
    high_s: float

    def draw(self, rng: Random) -> float:
        """A duration between both, inclusive."""
        return rng.randint(round(self.low_s * 1000), round(self.high_s * 1000)) / 1000


HOLDS = Range(low_s=2.0, high_s=7.0)
"""Around the limits of lag (3 s) and session (4 s), so that some faults move leaders and others do not."""

GAPS = Range(low_s=0.5, high_s=2.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Storm:
    """What a person asks of a storm; everything else is drawn."""

    duration_s: float
    kinds: tuple[str, ...] = tuple(RULES)
    holds: Range = HOLDS
    gaps: Range = GAPS

    @property
    def shortest_s(self) -> float:
        """Below this duration, an unlucky draw would leave out a kind."""
        return len(_musts(self.kinds)) * (self.holds.high_s + self.gaps.high_s + RECOVERY_S)

    @property
    def longest_s(self) -> float:
        """Above this duration, a draw of short times would give more steps than a plan may have."""
        return MOST_STEPS * (self.holds.low_s + self.gaps.low_s + RECOVERY_S)


def storm(asked: Storm, *, seed: int, facts: Facts) -> tuple[Step, ...]:
    """Steps for about the duration; each kind occurs, and of partitions both modes and both directions.

    BadStep if the time is too short, or if the cluster has no node to spare.
    """
    _check(asked, facts)
    rng = Random(seed)
    steps: list[Step] = []
    spent_s = 0.0
    for kind, shape in _shapes(rng, asked.kinds):
        gap_s, hold_s = asked.gaps.draw(rng), asked.holds.draw(rng)
        spent_s += gap_s + hold_s + RECOVERY_S
        if spent_s > asked.duration_s:
            break
        start: Start = (
            After(anchor=steps[-1].name, moment="recovered", delay_s=gap_s) if steps else At(offset_s=gap_s)
        )
        head = Head(name=f"storm-{len(steps) + 1}-{kind}", start=start, hold_s=hold_s)
        steps.append(shape(rng, head, facts))
    return validate(tuple(steps), facts)


def parse_storm(mapping: Mapping[str, object]) -> Storm:
    """Read `{duration: 60s, kinds: [pause], hold: [2s, 4s], gap: [1s, 2s]}`; only the duration is a must."""
    for key in mapping:
        if key not in KEYS:
            raise BadStep(key, mapping[key], f"the keys of a storm: {', '.join(KEYS)}")
    return Storm(
        duration_s=parse_duration(mapping.get("duration"), "duration"),
        kinds=_parse_kinds(mapping.get("kinds", list(RULES))),
        holds=_parse_range(mapping.get("hold"), "hold", HOLDS),
        gaps=_parse_range(mapping.get("gap"), "gap", GAPS),
    )


def _parse_kinds(value: object) -> tuple[str, ...]:
    if not isinstance(value, list) or not value or any(each not in RULES for each in value):
        raise BadStep("kinds", value, f"a list of {', '.join(RULES)}")
    return tuple(kind for kind in RULES if kind in value)


def _parse_range(value: object, field: str, default: Range) -> Range:
    if value is None:
        return default
    if not isinstance(value, list) or len(value) != 2:
        raise BadStep(field, value, "a list of the shortest and the longest, as in [2s, 4s]")
    low_s, high_s = (parse_duration(each, field) for each in value)
    if low_s > high_s:
        raise BadStep(field, value, "the shortest before the longest, as in [2s, 4s]")
    return Range(low_s=low_s, high_s=high_s)


def _check(asked: Storm, facts: Facts) -> None:
    if min(len(facts.brokers), len(facts.controllers)) < _NODES_TO_SPARE or not facts.topics:
        given = (
            f"{len(facts.brokers)} brokers, {len(facts.controllers)} controllers, {len(facts.topics)} topics"
        )
        raise BadStep("storm", given, f"at least {_NODES_TO_SPARE} brokers and controllers, and a topic")
    if asked.duration_s < asked.shortest_s:
        given = f"{asked.duration_s:g}s"
        raise BadStep("duration", given, f"at least {asked.shortest_s:g}s, for {', '.join(asked.kinds)}")
    if asked.duration_s > asked.longest_s:
        given = f"{asked.duration_s:g}s"
        raise BadStep("duration", given, f"at most {asked.longest_s:g}s, or longer holds and gaps")


def _musts(kinds: Sequence[str]) -> list[tuple[str, Shape]]:
    """The shapes that every storm of these kinds holds."""
    return [(kind, shape) for kind in kinds for shape in RULES[kind].musts]


def _shapes(rng: Random, kinds: Sequence[str]) -> Iterator[tuple[str, Shape]]:
    """What must occur, in drawn order, then anything."""
    musts = _musts(kinds)
    rng.shuffle(musts)
    yield from musts
    while True:
        kind = rng.choice(kinds)
        yield kind, RULES[kind].draw(rng)
