"""Unclean election: a person gives a partition without a leader to a replica that was not in sync (KIP-460).

Effect: a replica leads that was neither in sync nor eligible, under a later epoch.
Recovery: the ISR holds who was in it before. What the new leader lacks is lost, and nothing brings it back.
"""

from dataclasses import dataclass
from typing import ClassVar

from compose.admin_protocol import ElectionKind
from compose.protocols import PartitionState
from faults.kinds.admin.leaders.election import Election
from faults.kinds.admin.topic_step import TopicStep
from faults.kinds.fault.kind import BY_CONTROLLERS, FaultKind


@dataclass(frozen=True, slots=True, kw_only=True)
class UncleanElectionStep(TopicStep):
    """Elect leaders that may lack records."""

    kind: ClassVar[str] = "unclean-election"


@dataclass(slots=True)
class UncleanElection(Election[UncleanElectionStep]):
    """Gives a leader to those partitions that have none."""

    election: ClassVar[ElectionKind] = "unclean"

    def can_elect(self, state: PartitionState) -> bool:
        """Whether it has no leader."""
        return state.leader < 0

    def nothing(self) -> str:
        """They have leaders."""
        return f"each partition of {self.injection.step.topic} has a leader"

    def objection(self, before: PartitionState, now: PartitionState) -> str:
        """Whether the leader was in sync or eligible: then the election was clean."""
        if now.leader < 0:
            return "it has no leader"
        was = [*before.isr, *before.elr]
        return f"its leader {now.leader} was in sync or eligible, {was}" if now.leader in was else ""


UNCLEAN_ELECTION = FaultKind(
    step=UncleanElectionStep,
    make=UncleanElection,
    takes=BY_CONTROLLERS,
    shortest_hold_s=1.0,
    does="partitions without a leader, `when: leader == none`, get one that was not in sync, whatever "
    "`unclean.leader.election.enable` says: by this, records may be lost",
    effect="a replica leads that was neither in sync nor eligible, under a later epoch",
    healing="nothing: what is lost stays lost",
    recovery="the ISR alone",
)
