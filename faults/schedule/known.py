"""What is known of the roles now: partitions and the active controller, as they were read last.

A step that is due resolves its roles from here at once, since a question takes as long as the slowest broker.
How old the knowledge is that it used goes with the answer.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from compose.protocols import PartitionState

Read = Mapping[tuple[str, int], PartitionState]
"""Partitions by topic and number."""

NEVER_NS = -1
TIMELESS_NS = 1 << 62
"""No role was asked for: a node by its id is the same at all times."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """The last answers. A time is when its question was asked; NEVER_NS: never, or nobody answered."""

    partitions: Read = field(default_factory=dict)
    partitions_ns: int = NEVER_NS
    controller: int | None = None
    controller_ns: int = NEVER_NS

    @property
    def isr(self) -> Mapping[tuple[str, int], tuple[int, ...]]:
        """The replicas in sync, by topic and partition."""
        return {place: state.isr for place, state in self.partitions.items()}


@dataclass(slots=True)
class KnownRoles:
    """Answers from `known` as a view and a cluster do; `as_of_ns`: when the oldest of the answers was read."""

    known: Known
    as_of_ns: int = TIMELESS_NS

    def describe(self, topic: str) -> Sequence[PartitionState]:
        """All partitions of a topic; empty if none is known."""
        self.as_of_ns = min(self.as_of_ns, self.known.partitions_ns)
        return tuple(state for (name, _), state in sorted(self.known.partitions.items()) if name == topic)

    def leaders(self) -> Mapping[tuple[str, int], int]:
        """Leader of every partition that is known."""
        self.as_of_ns = min(self.as_of_ns, self.known.partitions_ns)
        return {place: state.leader for place, state in self.known.partitions.items()}

    def active_controller(self) -> int | None:
        """The active controller; None while there is none, or if it was never asked for."""
        self.as_of_ns = min(self.as_of_ns, self.known.controller_ns)
        return self.known.controller
