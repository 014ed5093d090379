"""Preferred election: the leaders move to the first of each partition's replicas, without a crash (KIP-460).

Effect: that replica leads, under a later epoch.
Recovery: the ISR is what it was. Nothing is undone: another leader is as good.
"""

from dataclasses import dataclass
from typing import ClassVar

from compose.admin_protocol import ElectionKind
from compose.protocols import PartitionState
from faults.errors import BadStep
from faults.kinds.admin.leaders.election import Election
from faults.kinds.admin.topic_step import TopicStep, replicas_of, topic_facts
from faults.kinds.fault.kind import BY_CONTROLLERS, FaultKind
from faults.targets.facts import Facts


@dataclass(frozen=True, slots=True, kw_only=True)
class PreferredElectionStep(TopicStep):
    """Elect the preferred leaders of a topic."""

    kind: ClassVar[str] = "preferred-election"

    @property
    def depends_on(self) -> frozenset[str]:
        """How many replicas there are."""
        return frozenset({replicas_of(self.topic)})

    def in_vain(self, facts: Facts) -> BadStep | None:
        """An only replica leads, or nobody does."""
        if topic_facts(self.topic, facts).replication > 1:
            return None
        others = [topic.name for topic in facts.topics if topic.replication > 1]
        allowed = f"a topic with several replicas: {', '.join(others) or 'there is none'}"
        return BadStep("topic", self.topic, allowed)


@dataclass(slots=True)
class PreferredElection(Election[PreferredElectionStep]):
    """Moves the leaders of those partitions that another replica leads, and whose first one is in sync."""

    election: ClassVar[ElectionKind] = "preferred"

    def can_elect(self, state: PartitionState) -> bool:
        """Whether another replica leads, and the preferred one is in sync."""
        return state.replicas[0] != state.leader and state.replicas[0] in state.isr

    def nothing(self) -> str:
        """They lead, or they cannot."""
        return (
            f"each partition of {self.injection.step.topic} is led by its first replica, or lacks it in sync"
        )

    def objection(self, before: PartitionState, now: PartitionState) -> str:
        """Whether the first replica leads."""
        preferred = before.replicas[0]
        return "" if now.leader == preferred else f"its leader is {now.leader}, to be {preferred}"


PREFERRED_ELECTION = FaultKind(
    step=PreferredElectionStep,
    make=PreferredElection,
    takes=BY_CONTROLLERS,
    shortest_hold_s=1.0,
    does="the leaders of a topic's partitions move to their first replicas, where these are in sync and do "
    "not lead: a planned move, as after `reassign` with `to: rotated`",
    effect="that replica leads, under a later epoch",
    healing="nothing: the move is not undone",
    recovery="the ISR alone",
)
