"""Resolves targets: which nodes hold a role now, according to the brokers and the controller quorum."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from compose.kafka.coordinators import TRANSACTION_LOG, coordinating_partition
from compose.protocols import Cluster, PartitionState
from faults.errors import NoTarget
from faults.targets.target import PartitionRole, Target, TopicPartition, candidates


class Partitions(Protocol):
    """Partitions as the brokers report them: a `View`, or what is known from one."""

    def describe(self, topic: str) -> Sequence[PartitionState]:
        """All partitions of a topic."""

    def leaders(self) -> Mapping[tuple[str, int], int]:
        """Leader of every partition."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Roles:
    """Which node holds which role now. Each partition is read once, so that one step gets one answer.

    `active_controller` answers in place of the cluster, if it is given.
    """

    cluster: Cluster
    view: Partitions
    active_controller: Callable[[], int | None] | None = None
    _partitions: dict[TopicPartition, PartitionState] = field(default_factory=dict)

    def nodes(self, target: Target) -> tuple[int, ...]:
        """Ids of the nodes that `target` means now, ascending; NoTarget if there are none."""
        found = tuple(sorted(self._nodes(target)))
        if not found:
            raise NoTarget(f"{target}: no node holds this role now")
        return found

    def _nodes(self, target: Target) -> tuple[int, ...]:
        match target.role:
            case "leader" | "follower" | "followers" as role:
                return self._of_partition(role, target)
            case "transaction coordinator":
                leader = self.coordinating(target.transactional_id).leader
                return () if leader < 0 else (leader,)
            case "active controller":
                active = (self.active_controller or self.cluster.active_controller)()
                return () if active is None else (active,)
            case _:
                return candidates(target, self.cluster.brokers, self.cluster.controllers)

    def _of_partition(self, role: PartitionRole, target: Target) -> tuple[int, ...]:
        state = self.partition(target.of)
        if state.leader < 0:
            raise NoTarget(f"{target}: {state.topic}-{state.partition} has no leader, isr {list(state.isr)}")
        if role == "leader":
            return (state.leader,)
        others = sorted(set(state.replicas) - {state.leader})
        return tuple(others) if role == "followers" else tuple(others[target.rank - 1 : target.rank])

    def coordinating(self, transactional_id: str) -> PartitionState:
        """The partition of Kafka's transaction log that has this id; its leader is the coordinator."""
        states = self.view.describe(TRANSACTION_LOG)
        if not states:
            raise NoTarget(f"{TRANSACTION_LOG}: no broker knows it; no producer has asked for it yet")
        number = coordinating_partition(transactional_id, len(states))
        where = TopicPartition(topic=TRANSACTION_LOG, partition=number)
        return self._partitions.setdefault(where, states[number])

    def partition(self, of: TopicPartition | None) -> PartitionState:
        """The partition's state now; without a name that of the first of all partitions, by name."""
        where = of or self._first()
        if where not in self._partitions:
            states: Mapping[int, PartitionState] = {
                each.partition: each for each in self.view.describe(where.topic)
            }
            if where.partition not in states:
                raise NoTarget(f"{where}: no broker knows this partition; known: {sorted(states)}")
            self._partitions[where] = states[where.partition]
        return self._partitions[where]

    def _first(self) -> TopicPartition:
        """Of the run's topics: Kafka's own begin with two underscores."""
        known = sorted(place for place in self.view.leaders() if not place[0].startswith("__"))
        if not known:
            raise NoTarget("no broker knows any topic")
        return TopicPartition(topic=known[0][0], partition=known[0][1])
