"""A view of partitions that the test sets; a wait ends at once, or raises if its condition is false."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from compose.errors import ViewError
from compose.protocols import PartitionOffsets, PartitionState


def partition(topic: str, number: int, leader: int = 1, isr: tuple[int, ...] = (1, 2, 3)) -> PartitionState:
    """A partition with replicas 1, 2, 3."""
    return PartitionState(
        topic=topic, partition=number, leader=leader, leader_epoch=0, replicas=(1, 2, 3), isr=isr
    )


@dataclass
class FakeView:
    """Answers from `states` and `offsets`, keyed by (topic, partition); `offline` are brokers without their
    log directory."""

    states: dict[tuple[str, int], PartitionState] = field(default_factory=dict)
    offsets: dict[tuple[str, int], PartitionOffsets] = field(default_factory=dict)
    offline: set[int] = field(default_factory=set)

    def put(self, state: PartitionState) -> None:
        self.states[(state.topic, state.partition)] = state

    def describe(self, *topics: str) -> tuple[PartitionState, ...]:
        return tuple(s for (name, _), s in sorted(self.states.items()) if name in topics)

    def with_offsets(self, state: PartitionState) -> PartitionState:
        return replace(state, offsets=self.offsets.get((state.topic, state.partition)))

    def leaders(self) -> Mapping[tuple[str, int], int]:
        return {tp: state.leader for tp, state in self.states.items()}

    def fenced(self) -> Mapping[int, bool]:
        return {1: False, 2: False, 3: False}

    def log_dirs(self, broker: int) -> Mapping[str, bool]:
        return {"/data/kafka": broker not in self.offline}

    def coordinator(self, group: str) -> int | None:
        return None

    def wait_until_settled(self, topic: str, *, within_s: float) -> None:
        if any(state.leader < 0 for state in self.describe(topic)):
            raise ViewError(f"{topic} has a partition without a leader")

    def wait_for_full_isr(self, topics: Iterable[str], *, within_s: float) -> None:
        for topic in topics:
            if any(set(state.isr) != set(state.replicas) for state in self.describe(topic)):
                raise ViewError(f"{topic} has a replica out of sync")
