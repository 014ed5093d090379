"""A storm: a plan drawn from a seed, with every choice made here, so that running the plan draws nothing.

A storm never asks more of Kafka than acks=all with min.insync.replicas 2 of 3 replicas promises: one node is
impaired at a time, and the next fault waits until the one before is proven recovered (plus a drawn pause). No
fault of a storm loses data, and none leaves a leader alone with its clients: cutting the followers off would
shrink the ISR to one and stop writes, so arrows go out of the victim, or both ways around it.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Literal, get_args

from compose.protocols import CutMode
from faults.errors import BadStep
from faults.plan.edges import Arrow, EdgeSet, around
from faults.plan.parse import parse_duration
from faults.plan.steps import After, At, FaultStep, Start
from faults.plan.targets import Role, Target, TopicPartition
from faults.plan.validate import Facts, validate

StormKind = Literal["partition", "pause", "disk-stall"]
STORM_KINDS: tuple[StormKind, ...] = get_args(StormKind)
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
class _Shape:
    """What kind of step comes; for a partition also its mode and whether it goes both ways."""

    kind: StormKind
    mode: CutMode = "refuse"
    both_ways: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Storm:
    """What a person asks of a storm; everything else is drawn."""

    duration_s: float
    kinds: tuple[StormKind, ...] = STORM_KINDS
    holds: Range = HOLDS
    gaps: Range = GAPS

    @property
    def shortest_s(self) -> float:
        """Below this duration, an unlucky draw would leave out a kind."""
        return len(_musts(self.kinds)) * (self.holds.high_s + self.gaps.high_s + RECOVERY_S)


def storm(asked: Storm, *, seed: int, facts: Facts) -> tuple[FaultStep, ...]:
    """Steps for about the duration; each kind occurs, and of partitions both modes and both directions.

    BadStep if the time is too short, or if the cluster has no node to spare.
    """
    _check(asked, facts)
    rng = Random(seed)
    steps: list[FaultStep] = []
    spent_s = 0.0
    for shape in _shapes(rng, asked.kinds):
        gap_s, hold_s = asked.gaps.draw(rng), asked.holds.draw(rng)
        spent_s += gap_s + hold_s + RECOVERY_S
        if spent_s > asked.duration_s:
            break
        start: Start = (
            After(anchor=steps[-1].name, moment="recovered", delay_s=gap_s) if steps else At(offset_s=gap_s)
        )
        steps.append(_step(rng, shape, f"storm-{len(steps) + 1}-{shape.kind}", start, hold_s, facts))
    return validate(tuple(steps), facts)


def parse_storm(mapping: Mapping[str, object]) -> Storm:
    """Read `{duration: 60s, kinds: [pause], hold: [2s, 4s], gap: [1s, 2s]}`; only the duration is a must."""
    for key in mapping:
        if key not in KEYS:
            raise BadStep(key, mapping[key], f"the keys of a storm: {', '.join(KEYS)}")
    return Storm(
        duration_s=parse_duration(mapping.get("duration"), "duration"),
        kinds=_parse_kinds(mapping.get("kinds", list(STORM_KINDS))),
        holds=_parse_range(mapping.get("hold"), "hold", HOLDS),
        gaps=_parse_range(mapping.get("gap"), "gap", GAPS),
    )


def _parse_kinds(value: object) -> tuple[StormKind, ...]:
    if not isinstance(value, list) or not value or any(each not in STORM_KINDS for each in value):
        raise BadStep("kinds", value, f"a list of {', '.join(STORM_KINDS)}")
    return tuple(kind for kind in STORM_KINDS if kind in value)


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
        seen = (
            f"{len(facts.brokers)} brokers, {len(facts.controllers)} controllers, {len(facts.topics)} topics"
        )
        raise BadStep("storm", seen, f"at least {_NODES_TO_SPARE} brokers and controllers, and a topic")
    if asked.duration_s < asked.shortest_s:
        seen = f"{asked.duration_s:g}s"
        raise BadStep("duration", seen, f"at least {asked.shortest_s:g}s, for {', '.join(asked.kinds)}")


def _musts(kinds: Sequence[StormKind]) -> list[_Shape]:
    """The shapes that every storm of these kinds holds."""
    cuts = [_Shape(kind="partition"), _Shape(kind="partition", mode="blackhole", both_ways=False)]
    return [shape for kind in kinds for shape in (cuts if kind == "partition" else [_Shape(kind=kind)])]


def _shapes(rng: Random, kinds: Sequence[StormKind]) -> Iterator[_Shape]:
    """What must occur, in drawn order, then anything."""
    musts = _musts(kinds)
    rng.shuffle(musts)
    yield from musts
    while True:
        kind = rng.choice(kinds)
        if kind == "partition":
            yield _Shape(kind=kind, mode=rng.choice(get_args(CutMode)), both_ways=rng.random() < 0.5)
        else:
            yield _Shape(kind=kind)


def _step(rng: Random, shape: _Shape, name: str, start: Start, hold_s: float, facts: Facts) -> FaultStep:
    victim = _victim(rng, facts, brokers_only=shape.kind == "disk-stall")
    if shape.kind != "partition":
        return FaultStep(name=name, kind=shape.kind, start=start, hold_s=hold_s, target=victim)
    edges = around(victim) if shape.both_ways else _out_of(rng, victim, facts)
    return FaultStep(name=name, kind=shape.kind, start=start, hold_s=hold_s, edges=edges, mode=shape.mode)


def _victim(rng: Random, facts: Facts, *, brokers_only: bool) -> Target:
    """A node by id or by role: leaders and brokers twice as often as controllers."""
    topic = rng.choice(facts.topics)
    led = TopicPartition(topic=topic.name, partition=rng.randrange(topic.partitions))
    roles = [Target(role="leader", of=led), Target(role="node", ids=(rng.choice(facts.brokers),))]
    if not brokers_only:
        roles += roles
        roles += [Target(role="active controller"), Target(role="node", ids=(rng.choice(facts.controllers),))]
    return rng.choice(roles)


def _out_of(rng: Random, victim: Target, facts: Facts) -> EdgeSet:
    """One way: a broker loses its peers, the controllers, or both; a controller loses its peers."""
    is_broker = victim.role == "leader" or any(node in facts.brokers for node in victim.ids)
    losing: tuple[Role, ...] = ("brokers", "controllers", "nodes") if is_broker else ("controllers",)
    right = Target(role=rng.choice(losing))
    return EdgeSet(arrows=(Arrow(left=victim, right=right, both_ways=False),))
