"""A storm: a plan drawn from a seed, with every choice made here, so that running the plan draws nothing.

A storm is a sequence of rounds. The faults of a round overlap, on a few nodes; the next round begins when
each of them is proven recovered (`once`). So at any instant, however late anything is, only the nodes of one
round are impaired, and these are as few as `limit` says: what the configuration promises to survive
(storm_limits.py), or beyond that any number, where the contract alone says what may be lost.

Each round has its instant, drawn with room for the recoveries of the round before; the other faults of a
round are planned by the begin of its first. Which kinds a storm may draw, and how, is part of their records
(`FaultKind.storm`).
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import ceil
from random import Random
from types import MappingProxyType
from typing import Literal, get_args

from faults.choices import parse_choice
from faults.durations import parse_duration, write_duration
from faults.errors import BadStep
from faults.kinds.fault.kind import StormRule
from faults.kinds.fault.step import After, At, Step
from faults.kinds.registry import KINDS
from faults.plan.expand import MOST_STEPS
from faults.plan.storm_draw import Range, Rounds
from faults.plan.storm_limits import Limit, Limits, limits_of
from faults.plan.storm_round import RECOVERY_S, RESTART_S, Planned
from faults.plan.validate import validate
from faults.targets.facts import Facts
from faults.targets.moments import StepMoment

RULES: Mapping[str, StormRule] = {name: kind.storm for name, kind in KINDS.items() if kind.storm is not None}
KEYS = ("duration", "intensity", "limit", "kinds", "weights", "hold", "gap")

Intensity = Literal["gentle", "normal", "hard"]

SHORTEST_HOLD_S = 1.5
"""A shorter fault of some kinds could not be proven."""

FIRST_S = 14.0
"""The first round begins no sooner: its faults are prepared before, and brokers that have just begun to take
a load have no processor time to spare, for ten seconds and more on two processors."""

DRAWS = 60
"""So often a whole storm is drawn until one holds every kind that was asked for."""

FEW_DRAWS = 8
"""As well, if none was: a short storm has no time for all."""

ROUND_DRAWS = 5
"""So often a round is drawn until it has enough faults and fits into what is left of the duration."""

MOST_WEIGHT = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class Strength:
    """What an intensity means: faults in a round, fewest and most; their holds; the time between rounds."""

    faults: tuple[int, int]
    holds: Range
    gaps: Range


STRENGTHS: Mapping[Intensity, Strength] = MappingProxyType(
    {
        "gentle": Strength(
            faults=(1, 2), holds=Range(low_s=2.0, high_s=5.0), gaps=Range(low_s=3.0, high_s=6.0)
        ),
        "normal": Strength(
            faults=(2, 3), holds=Range(low_s=2.0, high_s=7.0), gaps=Range(low_s=0.5, high_s=2.0)
        ),
        "hard": Strength(
            faults=(3, 5), holds=Range(low_s=3.0, high_s=12.0), gaps=Range(low_s=0.0, high_s=0.5)
        ),
    }
)
"""The holds are around the limits of lag (3 s) and session (4 s), so that some faults move leaders and others
do not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Storm:
    """What a person asks of a storm; everything else is drawn.

    `kinds` empty: all that are drawn by default and that `limit` covers. `weights` replaces the weights of
    some kinds. `holds` and `gaps` None: those of the intensity.
    """

    duration_s: float
    intensity: Intensity = "normal"
    limit: Limit = "within-promise"
    kinds: tuple[str, ...] = ()
    weights: Mapping[str, int] = field(default_factory=dict)
    holds: Range | None = None
    gaps: Range | None = None

    @property
    def strength(self) -> Strength:
        """The intensity with what is asked for instead."""
        own = STRENGTHS[self.intensity]
        return replace(own, holds=self.holds or own.holds, gaps=self.gaps or own.gaps)


def storm(asked: Storm, *, seed: int, facts: Facts) -> tuple[Step, ...]:
    """Steps for about the duration.

    Each of `asked.kinds` occurs; without any, as many of all kinds as there is time for. BadStep if the time
    is too short, or if the cluster has no node to spare.
    """
    limits = limits_of(asked.limit, facts)
    _check_nodes(limits, facts)
    weights = _weights(asked, limits)
    _check_duration(asked, weights)
    rng, best, missing = Random(seed), tuple[Step, ...](), set(weights)
    for _ in range(DRAWS if asked.kinds else FEW_DRAWS):
        rounds = Rounds(
            rng=rng,
            facts=facts,
            limits=limits,
            weights=weights,
            faults=asked.strength.faults,
            holds=asked.strength.holds,
        )
        steps = tuple(_steps(rounds, asked))
        if not best or len(rounds.missing) < len(missing):
            best, missing = steps, rounds.missing
        if not missing:
            break
    if not best or missing & set(asked.kinds):
        given = f"{asked.duration_s:g}s"
        raise BadStep("duration", given, f"longer: {DRAWS} draws had none with {', '.join(sorted(missing))}")
    return validate(best, facts)


def _steps(rounds: Rounds, asked: Storm) -> Iterator[Step]:
    """The steps of one round after the other, as many as there is time for."""
    at_s, before, count = max(FIRST_S, asked.strength.gaps.draw(rounds.rng)), tuple[str, ...](), 0
    while faults := _fitting(rounds, asked.duration_s - at_s):
        rounds.took(faults)
        numbered = enumerate((each.step.kind for each in faults), count + 1)
        names = tuple(f"storm-{number}-{kind}" for number, kind in numbered)
        yield from _named(faults, names, At(offset_s=at_s, once=before))
        over_s = max(each.over_s for each in faults)
        at_s = round(at_s + over_s + asked.strength.gaps.draw(rounds.rng), 3)
        before, count = names, count + len(names)


def _named(faults: Sequence[Planned], names: Sequence[str], start: At) -> Iterator[Step]:
    """The steps of one round: the first with this start, the others planned by its begin."""
    yield replace(faults[0].step, name=names[0], start=start)
    for name, each in zip(names[1:], faults[1:], strict=True):
        after = After(of=StepMoment(step=names[0], moment="begin"), delay_s=each.begin_s)
        yield replace(each.step, name=name, start=after)


def _fitting(rounds: Rounds, left_s: float) -> tuple[Planned, ...]:
    """A round that is over in what is left of the storm, best one with enough faults; empty if none is."""
    best: tuple[Planned, ...] = ()
    for _ in range(ROUND_DRAWS):
        faults = rounds.draw()
        if len(faults) > len(best) and max(each.over_s for each in faults) <= left_s:
            best = faults
        if len(best) >= rounds.faults[0]:
            break
    return best


def _check_nodes(limits: Limits, facts: Facts) -> None:
    if limits.brokers:
        return
    given = ", ".join(
        f"topic {topic.name} with {topic.replication} replicas and min.insync.replicas {topic.min_isr}"
        for topic in facts.topics
    )
    allowed = "more replicas than min.insync.replicas, so that one can be away, or limit: beyond-promise"
    raise BadStep("storm", given or "no topic", allowed)


def _weights(asked: Storm, limits: Limits) -> Mapping[str, int]:
    """By kind that is drawn: those asked for, else all that the limit allows and that lose no data.

    Of those that are not drawn by default, the ones that `weights` names.
    """
    kinds = asked.kinds or tuple(
        name
        for name, rule in RULES.items()
        if (rule.by_default or name in asked.weights)
        and limits.cover(cost := KINDS[name].cost)
        and (asked.limit == "beyond-promise" or not cost.loses_data)
    )
    for name in kinds:
        if not limits.cover(KINDS[name].cost):
            allowed = f"{name} only where min.insync.replicas is at least 2, or with limit: beyond-promise"
            raise BadStep("kinds", list(kinds), allowed)
    weights = {name: asked.weights.get(name, RULES[name].weight) for name in kinds}
    weights = {name: weight for name, weight in weights.items() if weight > 0}
    if not weights:
        raise BadStep("weights", dict(asked.weights), "a kind with a weight above 0")
    return weights


def shortest_s(asked: Storm, kinds: Collection[str]) -> float:
    """Below this duration, there is no time for a round, or for one of the kinds that were asked for."""
    strength = asked.strength
    ends = any(KINDS[kind].cost.ends_process for kind in kinds)
    faults_s = 1.25 * (strength.holds.low_s + strength.holds.high_s)
    round_s = faults_s + (RESTART_S if ends else RECOVERY_S) + strength.gaps.high_s
    return FIRST_S + max(1, ceil(len(asked.kinds) / strength.faults[1])) * round_s


def longest_s(asked: Storm) -> float:
    """Above this duration, a draw of short times would give more steps than a plan may have."""
    strength = asked.strength
    return MOST_STEPS / strength.faults[1] * (strength.holds.low_s + RECOVERY_S + strength.gaps.low_s)


def _check_duration(asked: Storm, kinds: Collection[str]) -> None:
    given, least_s, most_s = write_duration(asked.duration_s), shortest_s(asked, kinds), longest_s(asked)
    if asked.duration_s < least_s:
        raise BadStep("duration", given, f"at least {write_duration(least_s)}, for {', '.join(kinds)}")
    if asked.duration_s > most_s:
        raise BadStep("duration", given, f"at most {write_duration(most_s)}, or longer holds and gaps")


def parse_storm(mapping: Mapping[str, object]) -> Storm:
    """Read `{duration: 60s, intensity: hard, kinds: [pause], weights: {kill: 3}, hold: [2s, 4s]}`.

    Only the duration is a must.
    """
    for key in mapping:
        if key not in KEYS:
            raise BadStep(key, mapping[key], f"the keys of a storm: {', '.join(KEYS)}")
    return Storm(
        duration_s=parse_duration(mapping.get("duration"), "duration"),
        intensity=parse_choice(mapping.get("intensity", "normal"), "intensity", get_args(Intensity)),
        limit=parse_choice(mapping.get("limit", "within-promise"), "limit", get_args(Limit)),
        kinds=_parse_kinds(mapping["kinds"]) if "kinds" in mapping else (),
        weights=_parse_weights(mapping.get("weights", {})),
        holds=_parse_range(mapping.get("hold"), "hold", least_s=SHORTEST_HOLD_S),
        gaps=_parse_range(mapping.get("gap"), "gap", least_s=0.0),
    )


def _parse_kinds(value: object) -> tuple[str, ...]:
    if (
        not isinstance(value, list)
        or not value
        or not all(isinstance(each, str) and each in RULES for each in value)
    ):
        raise BadStep("kinds", value, f"a list of {', '.join(RULES)}")
    return tuple(kind for kind in RULES if kind in value)


def _parse_weights(value: object) -> Mapping[str, int]:
    allowed = (
        f"whole numbers up to {MOST_WEIGHT}, 0 for never, by kind, as in {{pause: 3, kill: 1}}; the kinds "
    )
    refusal = BadStep("weights", value, f"{allowed}are {', '.join(RULES)}")
    if not isinstance(value, dict) or not value.keys() <= RULES.keys():
        raise refusal
    for weight in value.values():
        if isinstance(weight, bool) or not isinstance(weight, int) or not 0 <= weight <= MOST_WEIGHT:
            raise refusal
    return MappingProxyType(dict(value))


def _parse_range(value: object, field: str, *, least_s: float) -> Range | None:
    if value is None:
        return None
    if not isinstance(value, list) or len(value) != 2:
        raise BadStep(field, value, "a list of the shortest and the longest, as in [2s, 4s]")
    low_s, high_s = (parse_duration(each, field) for each in value)
    if low_s > high_s:
        raise BadStep(field, value, "the shortest before the longest, as in [2s, 4s]")
    if low_s < least_s:
        raise BadStep(field, value, f"at least {least_s:g}s: a shorter fault cannot be proven")
    return Range(low_s=low_s, high_s=high_s)
