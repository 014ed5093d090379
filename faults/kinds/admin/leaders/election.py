"""What both elections share: an event that is over at once, with nothing to undo.

Whom Kafka was to elect follows from the states just before; that it did, from the leader and a later epoch.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Generic

from compose.admin_protocol import ElectionKind, Place
from compose.protocols import PartitionState
from faults.errors import NoTarget
from faults.kinds.admin.topic_step import TopicStepT, states_of
from faults.kinds.fault.base import Injection
from faults.kinds.fault.evidence import Evidence, NotYet, Proven
from faults.kinds.shared.recovery import isr_is_short
from faults.tasks import as_job


@dataclass(slots=True)
class Election(ABC, Generic[TopicStepT]):
    """Has leaders elected once. A subclass says of which partitions, and what is wrong with the leader."""

    election: ClassVar[ElectionKind]
    injection: Injection[TopicStepT]
    _before: Mapping[Place, PartitionState] = field(default_factory=dict)

    @abstractmethod
    def can_elect(self, state: PartitionState) -> bool:
        """Whether Kafka would elect a leader of the partition."""

    @abstractmethod
    def nothing(self) -> str:
        """Why there is no such partition."""

    @abstractmethod
    def objection(self, before: PartitionState, now: PartitionState) -> str:
        """Why its leader is not the result of such an election; "" if it is."""

    def prepare(self) -> None:
        """Of which partitions a leader can be elected."""
        states = states_of(self.injection)
        self._before = {place: state for place, state in states.items() if self.can_elect(state)}
        if not self._before:
            raise NoTarget(f"nothing to elect: {self.nothing()}")

    @as_job
    def inject(self) -> None:
        """Elect."""
        self.injection.cluster.admin.elect(list(self._before), self.election)

    def effect(self) -> Evidence:
        """Has each partition such a leader, under a later epoch than before?"""
        states = states_of(self.injection)
        for place, before in self._before.items():
            name, now = f"{place[0]}-{place[1]}", states.get(place)
            if now is None:
                return NotYet(instead=f"no broker reports {name}")
            if now.leader_epoch <= before.leader_epoch:
                return NotYet(
                    instead=f"{name} has leader {now.leader} and epoch {now.leader_epoch} as before"
                )
            if objection := self.objection(before, now):
                return NotYet(instead=f"{name}: {objection}")
        values = {
            f"{topic}-{number}": {
                "leader": [before.leader, states[topic, number].leader],
                "leader_epoch": [before.leader_epoch, states[topic, number].leader_epoch],
                "isr_before": list(before.isr),
            }
            for (topic, number), before in self._before.items()
        }
        return Proven(since_ns=self.injection.clock.now_ns(), values=values)

    @as_job
    def heal(self) -> None:
        """Nothing is held."""

    def recovery(self) -> Evidence:
        """Is the ISR what it was?"""
        if lacking := isr_is_short(self.injection):
            return NotYet(instead=lacking)
        return Proven(since_ns=self.injection.clock.now_ns(), values={})
