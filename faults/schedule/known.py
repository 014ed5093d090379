"""What is known of the roles now: partitions and the active controller, as they were read last.

A step that is due resolves its roles from here at once, since a question takes as long as the slowest broker.
Until when that is good enough goes with the answer.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from compose.kafka.coordinators import INTERNAL
from compose.protocols import PartitionState, View
from faults.clock import ns

Read = Mapping[tuple[str, int], PartitionState]
"""Partitions by topic and number."""

NEVER_NS = -1
ALWAYS_NS = 1 << 62
"""No role was asked for: a node by its id is the same at all times."""

PARTITIONS_GOOD_NS = ns(1.0)
"""How long an answer is good: the sampler asks every 0.25 s, and waits for a silent broker for 0.5 s. A
controlled shutdown moves its leaderships in 0.1 s."""

CONTROLLER_GOOD_NS = ns(2.0)
"""It is asked for every 0.5 s, and read from the disks of all controllers, 0.3 to 0.8 s. It moves only if its
node fails."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """The last answers. A time is when its question was asked; NEVER_NS: never, or nobody answered."""

    partitions: Read = field(default_factory=dict)
    partitions_ns: int = NEVER_NS
    controller: int | None = None
    controller_ns: int = NEVER_NS
    coordinators: Mapping[str, int | None] = field(default_factory=dict)
    coordinators_ns: int = NEVER_NS

    @property
    def isr(self) -> Mapping[tuple[str, int], tuple[int, ...]]:
        """The replicas in sync, by topic and partition."""
        return {place: state.isr for place, state in self.partitions.items()}


def by_place(states: Iterable[PartitionState]) -> Read:
    """The states by topic and partition."""
    return {(state.topic, state.partition): state for state in states}


def newest(known: Read, read: Read) -> Read:
    """What is known with what was read: of each partition the state of the greater epoch, else as read.

    Who asks brokers and does not wait for all of them can be told of an older leader than he knows already.
    """
    return {place: _newer(known.get(place, state), state) for place, state in read.items()}


def _newer(known: PartitionState, read: PartitionState) -> PartitionState:
    return known if known.leader_epoch > read.leader_epoch else read


@dataclass(frozen=True, slots=True, kw_only=True)
class NewestRoles:
    """Asks `view`, and answers with what is `known` where that is newer."""

    view: View
    known: Known

    def describe(self, topic: str) -> Sequence[PartitionState]:
        """All partitions of a topic, as they are known best; raises as the view does."""
        return tuple(newest(self.known.partitions, by_place(self.view.describe(topic))).values())

    def leaders(self) -> Mapping[tuple[str, int], int]:
        """Leader of every partition, as the view reports it."""
        return self.view.leaders()


@dataclass(slots=True)
class KnownRoles:
    """Answers from `known` as a view and a cluster do; until `good_until_ns` all answers given are good."""

    known: Known
    good_until_ns: int = ALWAYS_NS

    def describe(self, topic: str) -> Sequence[PartitionState]:
        """All partitions of a topic; empty if none is known."""
        self._used(self.known.partitions_ns, PARTITIONS_GOOD_NS)
        return tuple(state for (name, _), state in sorted(self.known.partitions.items()) if name == topic)

    def leaders(self) -> Mapping[tuple[str, int], int]:
        """Leader of every partition that is known, but for Kafka's own topics."""
        self._used(self.known.partitions_ns, PARTITIONS_GOOD_NS)
        known = self.known.partitions.items()
        return {place: state.leader for place, state in known if place[0] not in INTERNAL}

    def active_controller(self) -> int | None:
        """The active controller; None while there is none, or if it was never asked for."""
        self._used(self.known.controller_ns, CONTROLLER_GOOD_NS)
        return self.known.controller

    def coordinator(self, group: str) -> int | None:
        """The coordinator of a group; None while there is none, or if it was never asked for."""
        asked_ns = self.known.coordinators_ns if group in self.known.coordinators else NEVER_NS
        self._used(asked_ns, PARTITIONS_GOOD_NS)
        return self.known.coordinators.get(group)

    def _used(self, asked_ns: int, good_ns: int) -> None:
        until_ns = NEVER_NS if asked_ns == NEVER_NS else asked_ns + good_ns
        self.good_until_ns = min(self.good_until_ns, until_ns)
