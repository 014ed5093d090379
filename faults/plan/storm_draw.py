"""Draws the rounds of a storm: which nodes, which faults on them, when each begins and how long it holds."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate
from random import Random

from faults.kinds.fault.kind import StormRule
from faults.kinds.fault.step import At, Head
from faults.kinds.registry import KINDS, kind_of
from faults.plan.storm_limits import Limits
from faults.plan.storm_round import PROOF_S, Planned, fits_among, with_another
from faults.targets.facts import Facts
from faults.targets.target import Target, TopicPartition, candidates

TRIES = 30
"""Draws of one fault of a round: most have no evidence there, or come too soon after another."""

NONE_SHARE = 0.2
"""Of the rounds, so many leave the brokers alone, and so many the controllers."""

ROLE_SHARE = 0.3
"""Of the victims, so many are named by their role, once every node has been hit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Range:
    """Seconds to draw from, to the millisecond."""

    low_s: float
    high_s: float

    def draw(self, rng: Random) -> float:
        """A duration between both, inclusive."""
        return rng.randint(round(self.low_s * 1000), round(self.high_s * 1000)) / 1000


@dataclass(slots=True)
class Turns:
    """Nodes in drawn order: none comes again before each of the others has been hit."""

    rng: Random
    nodes: tuple[int, ...]
    hit: set[int] = field(default_factory=set)
    _left: list[int] = field(default_factory=list)

    def next(self, count: int) -> list[int]:
        """The nodes whose turn it is."""
        if len(self._left) < count:
            others = [node for node in self.nodes if node not in self._left]
            self._left += self.rng.sample(others, len(others))
        return self._left[:count]

    def took(self, nodes: Iterable[int]) -> None:
        """These were hit."""
        self.hit |= {node for node in nodes if node in self.nodes}
        self._left = [node for node in self._left if node not in self.hit or node not in nodes]

    @property
    def is_through(self) -> bool:
        """Whether each has been hit."""
        return self.hit >= set(self.nodes)


@dataclass(slots=True, kw_only=True)
class Rounds:
    """Draws one round after the other from `rng`. `missing` are the kinds that have not occurred yet."""

    rng: Random
    facts: Facts
    limits: Limits
    weights: Mapping[str, int]
    faults: tuple[int, int]
    holds: Range
    missing: set[str] = field(init=False)
    _brokers: Turns = field(init=False)
    _controllers: Turns = field(init=False)
    _drawn: dict[bool, tuple[list[str], list[int]]] = field(init=False, default_factory=dict)
    """For a controller and for a broker: the kinds to draw from, and the sums of their weights."""

    def __post_init__(self) -> None:
        """Nothing has occurred, and nobody has been hit."""
        self.missing = set(self.weights)
        self._brokers = Turns(self.rng, self.facts.brokers)
        self._controllers = Turns(self.rng, self.facts.controllers)

    def draw(self) -> tuple[Planned, ...]:
        """A round: in order of the begins, the first of which is at 0. Empty if nothing fits together."""
        victims, faults = self._victims(), list[Planned]()
        for _ in range(self.rng.randint(*self.faults)):
            choice = _choice(faults, victims)
            for _ in range(TRIES if choice else 0):
                fault = self._another(faults, choice)
                if fault and self._is_covered(fault, faults) and fits_among(fault, faults, self.facts):
                    faults = with_another(faults, fault)
                    break
        first_s = min((each.begin_s for each in faults), default=0.0)
        return tuple(replace(each, begin_s=round(each.begin_s - first_s, 3)) for each in faults)

    def took(self, faults: Sequence[Planned]) -> None:
        """The round is one of the storm's: its kinds have occurred, and its nodes been hit."""
        self.missing -= {each.step.kind for each in faults}
        self._drawn.clear()
        nodes = [node for each in faults for node in each.victim.ids]
        self._brokers.took(nodes)
        self._controllers.took(nodes)

    def _victims(self) -> list[Target]:
        """Nodes that may be impaired at one time, at least one."""
        brokers, controllers = self._count(self.limits.brokers), self._count(self.limits.controllers)
        if not brokers and not controllers:
            brokers = 1
        leaders = [self._of_role(self._leader(), node) for node in self._brokers.next(brokers)]
        active = Target(role="active controller")
        others = [self._of_role(active, node) for node in self._controllers.next(controllers)]
        victims: list[Target] = []
        for victim in dict.fromkeys([*leaders, *others]):
            if self.limits.allow([*victims, victim], self.facts):
                victims.append(victim)
        return victims

    def _count(self, most: int) -> int:
        return 0 if most == 0 or self.rng.random() < NONE_SHARE else self.rng.randint(1, most)

    def _leader(self) -> Target:
        topic = self.rng.choice(self.facts.topics)
        led = TopicPartition(topic=topic.name, partition=self.rng.randrange(topic.partitions))
        return Target(role="leader", of=led)

    def _of_role(self, role: Target, node: int) -> Target:
        """The node by its id, or now and then whichever holds the role."""
        all_hit = self._brokers.is_through and (self._controllers.is_through or not self.limits.controllers)
        by_role = all_hit and self.rng.random() < ROLE_SHARE
        return role if by_role else Target(role="node", ids=(node,))

    def _another(self, faults: Sequence[Planned], choice: Sequence[Target]) -> Planned | None:
        """Another fault on one of these; None if there is none to draw."""
        victim = self.rng.choice(choice)
        kind = self._kind(victim)
        if kind is None:
            return None
        head = Head(name=kind, start=At(offset_s=0.0), hold_s=self.holds.draw(self.rng))
        step = _rule(kind).draw(self.rng, head, victim, self.facts)
        return Planned(step=step, victim=victim, begin_s=self._begin_s(faults, head.hold_s))

    def _kind(self, victim: Target) -> str | None:
        """By weight, of those that can be proven on the victim; what is missing comes first."""
        nodes = candidates(victim, self.facts.brokers, self.facts.controllers)
        is_broker = all(node in self.facts.brokers for node in nodes)
        if is_broker not in self._drawn:
            fitting = [kind for kind in self.weights if is_broker or not _rule(kind).brokers_only]
            drawn = [kind for kind in fitting if kind in self.missing] or fitting
            self._drawn[is_broker] = drawn, list(accumulate(self.weights[kind] for kind in drawn))
        drawn, weights = self._drawn[is_broker]
        return self.rng.choices(drawn, cum_weights=weights)[0] if drawn else None

    def _begin_s(self, faults: Sequence[Planned], hold_s: float) -> float:
        """Any time at which it overlaps with one of the others."""
        if not faults:
            return 0.0
        first_s, last_s = faults[0].begin_s - hold_s, max(each.end_s for each in faults)
        return self.rng.randint(round(first_s * 1000), round((last_s - PROOF_S / 4) * 1000)) / 1000

    def _is_covered(self, fault: Planned, faults: Sequence[Planned]) -> bool:
        """Whether with this fault no more brokers end uncleanly than may at a time."""
        if not kind_of(fault.step).cost.unclean:
            return True
        unclean = {each.victim for each in (*faults, fault) if kind_of(each.step).cost.unclean}
        hit = (set(candidates(each, self.facts.brokers, self.facts.controllers)) for each in unclean)
        return sum(not nodes.isdisjoint(self.facts.brokers) for nodes in hit) <= self.limits.unclean


def _choice(faults: Sequence[Planned], victims: Sequence[Target]) -> list[Target]:
    """Those that are not hit yet, if there is any; else all again, but none by its role, which may move."""
    hit = {each.victim for each in faults}
    return [victim for victim in victims if victim not in hit] or [each for each in victims if each.ids]


def _rule(kind: str) -> StormRule:
    rule = KINDS[kind].storm
    assert rule is not None, "only kinds with a rule are drawn"
    return rule
