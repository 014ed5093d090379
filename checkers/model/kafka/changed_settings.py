"""Settings that an administrator changes by a record of the metadata log, and what the controller does then.

Where ELR is on, another min.insync.replicas lets the controller forget whom it had kept eligible: a record
behind that of the setting empties the ELR and the last known leader of every partition of the topic. ELR that
is turned off goes from a partition with its next change.
Source: ConfigurationControlManager.createClearElrRecordsAsNeeded, ReplicationControlManager.removeTopicElrs,
FeatureControlManager in Kafka 4; KIP-966.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TypeAlias

from checkers.model.kafka.partition_change import PartitionState


@dataclass(frozen=True, slots=True, kw_only=True)
class MinIsrSet:
    """The topic's min.insync.replicas has this value."""

    value: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ElrSet:
    """Whether ELR is on: eligible.leader.replicas.version at level 1 or 0."""

    on: bool


SettingSet: TypeAlias = MinIsrSet | ElrSet


@dataclass(frozen=True, slots=True, kw_only=True)
class ElrCleared:
    """One record that leaves these partitions so: those that had nobody eligible it does not change."""

    states: tuple[PartitionState, ...]


def cleared(states: Iterable[PartitionState]) -> ElrCleared:
    """The record that empties the ELR of partitions.

    Turning ELR off writes none: whom a partition keeps then nobody strikes out after an unclean shutdown, and
    PartitionChangeBuilder.isValidNewLeader of Kafka 4 may elect one of them once. The model elects none.
    """
    return ElrCleared(
        states=tuple(
            replace(state, elr=(), last_known_elr=(), partition_epoch=state.partition_epoch + 1)
            for state in states
            if state.elr or state.last_known_elr
        )
    )
