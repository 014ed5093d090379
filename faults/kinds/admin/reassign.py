"""Reassign: the replicas of a topic are moved to other brokers, put into another order, or made fewer or more
(KIP-455).

Effect: the brokers report the new replicas, which they do only when the move is done.
Recovery: they report the replicas from before, all of them in sync.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Self

from compose.admin_protocol import Place
from compose.protocols import PartitionState
from faults.errors import BadStep, NoTarget
from faults.kinds.admin.placement import Count, Placement, check_placement, parse_placement, placed
from faults.kinds.admin.topic_step import (
    TopicStep,
    parse_topic,
    replicas_of,
    states_of,
    topic_facts,
)
from faults.kinds.fault.base import Injection, check_free, claim
from faults.kinds.fault.evidence import Evidence, NotYet, Proven
from faults.kinds.fault.kind import BY_CONTROLLERS, FaultKind
from faults.kinds.fault.step import Head, Words
from faults.kinds.shared.recovery import isr_is_short
from faults.targets.facts import Facts
from faults.tasks import as_job


@dataclass(frozen=True, slots=True, kw_only=True)
class ReassignStep(TopicStep):
    """Move the replicas of a topic."""

    kind: ClassVar[str] = "reassign"
    keys: ClassVar[tuple[str, ...]] = (*TopicStep.keys, "to")
    to: Placement

    @classmethod
    def parse(cls, head: Head, words: Words) -> Self:
        """Read topic and placement."""
        topic, to = parse_topic(words), parse_placement(words.get("to"))
        return cls(name=head.name, start=head.start, hold_s=head.hold_s, topic=topic, to=to)

    def write(self) -> dict[str, str]:
        """Topic and placement."""
        return {**TopicStep.write(self), "to": str(self.to)}

    @property
    def asked(self) -> str:
        """The topic, and where it is to be."""
        return f"topic {self.topic} to {self.to}"

    def check(self, facts: Facts) -> None:
        """The topic and the brokers must exist."""
        check_placement(self.to, topic_facts(self.topic, facts), facts)

    @property
    def changes(self) -> frozenset[str]:
        """The topic's replicas."""
        return frozenset({replicas_of(self.topic)})

    def in_vain(self, facts: Facts) -> BadStep | None:
        """There are so many replicas as the cluster begins; or there is one broker, which has them."""
        begins = Count(replicas=topic_facts(self.topic, facts).replication)
        if self.to != begins and len(facts.brokers) > 1:
            return None
        return BadStep("to", str(self.to), f"another placement: {self.topic} begins with {begins}")


@dataclass(slots=True)
class Reassign:
    """Holds the topic's replicas where they are to be."""

    injection: Injection[ReassignStep]
    _before: Mapping[Place, tuple[int, ...]] = field(default_factory=dict)
    _to: Mapping[Place, tuple[int, ...]] = field(default_factory=dict)
    _moving: bool = False

    @property
    def _thing(self) -> str:
        return replicas_of(self.injection.step.topic)

    def prepare(self) -> None:
        """Which partitions are elsewhere now."""
        check_free(self.injection, self._thing)
        step, brokers = self.injection.step, self.injection.cluster.brokers
        now = {place: state.replicas for place, state in states_of(self.injection).items()}
        wanted = {place: placed(step.to, replicas, brokers) for place, replicas in now.items()}
        self._to = {place: to for place, to in wanted.items() if to != now[place]}
        self._before = {place: now[place] for place in self._to}
        if not now:
            raise NoTarget(f"nothing to reassign: no broker knows topic {step.topic}")
        if not self._to:
            raise NoTarget(f"nothing to reassign: {self._thing} are {step.to} already")

    @as_job
    def inject(self) -> None:
        """Begin to move."""
        claim(self.injection, self._thing)
        self._moving = True
        self.injection.cluster.admin.reassign(self._to)

    def effect(self) -> Evidence:
        """Are the replicas where they are to be?"""
        states = states_of(self.injection)
        if elsewhere := _elsewhere(states, self._to):
            return NotYet(instead=elsewhere)
        values = {"replicas_before": _by_partition(self._before), "replicas": _by_partition(self._to)}
        return Proven(since_ns=self.injection.clock.now_ns(), values=values)

    @as_job
    def heal(self) -> None:
        """Begin to move back; a move that goes on ends there."""
        if self._moving:
            self.injection.cluster.admin.reassign(self._before)
            self._moving = False
        self.injection.holds.give_up(self._thing, self.injection.owner)

    def recovery(self) -> Evidence:
        """Are the replicas where they were, and all in sync?"""
        states = states_of(self.injection)
        if elsewhere := _elsewhere(states, self._before):
            return NotYet(instead=elsewhere)
        for place, replicas in self._before.items():
            if short := set(replicas) - set(states[place].isr):
                return NotYet(instead=f"replicas {sorted(short)} of {place[0]}-{place[1]} are not in sync")
        if lacking := isr_is_short(self.injection):
            return NotYet(instead=lacking)
        values = {"replicas": _by_partition(self._before)}
        return Proven(since_ns=self.injection.clock.now_ns(), values=values)


def _elsewhere(states: Mapping[Place, PartitionState], wanted: Mapping[Place, tuple[int, ...]]) -> str:
    """Which partition has other replicas than are wanted; "" if none."""
    for place, replicas in wanted.items():
        found = states[place].replicas if place in states else ()
        if found != replicas:
            return f"{place[0]}-{place[1]} is on {list(found)}, to be on {list(replicas)}"
    return ""


def _by_partition(replicas: Mapping[Place, tuple[int, ...]]) -> dict[str, list[int]]:
    return {f"{topic}-{number}": list(nodes) for (topic, number), nodes in replicas.items()}


REASSIGN = FaultKind(
    step=ReassignStep,
    make=Reassign,
    takes=BY_CONTROLLERS,
    shortest_hold_s=1.0,
    does="the replicas of a topic are moved: `to` brokers, the preferred leader first (`2+1`), a number of "
    "them (`2 replicas`), or each to the next broker (`rotated`)",
    effect="the brokers report the new replicas, which they do when the move is done",
    healing="the replicas are moved back",
    recovery="the brokers report the replicas from before, all in sync",
)
