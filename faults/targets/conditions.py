"""Events that a step can wait for, as the brokers report them.

    isr.size(orders-0) <= 1       at most this many replicas are in sync
    isr(orders-0) == {leader}     the leader is the only replica in sync
    leader.changed(orders-0)      there is a leader, and it is another, or of another epoch, than when the
                                  step began to wait: just before the step before it was injected
    leader(orders-0) == none      the partition has no leader

The partition may be left out: then it is the plan's default one.
"""

import re
from dataclasses import dataclass, replace

from compose.protocols import PartitionState
from faults.errors import BadStep
from faults.targets.target import TopicPartition, parse_partition

_OF = r"(?:\((?P<of>[^()]+)\))?"
_WORDS = (
    "isr.size <= N",
    "isr == {leader}",
    "leader.changed",
    "leader == none",
    "each also of a partition, as isr.size(orders-0) <= 1",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class IsrAtMost:
    """At most `size` replicas are in sync."""

    size: int
    of: TopicPartition | None = None

    def __str__(self) -> str:
        return f"isr.size{_of(self.of)} <= {self.size}"


@dataclass(frozen=True, slots=True, kw_only=True)
class IsrIsLeader:
    """The leader is the only replica in sync."""

    of: TopicPartition | None = None

    def __str__(self) -> str:
        return f"isr{_of(self.of)} == {{leader}}"


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaderChanged:
    """A leader of another id or epoch than before."""

    of: TopicPartition | None = None

    def __str__(self) -> str:
        return f"leader.changed{_of(self.of)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class NoLeader:
    """The partition has no leader."""

    of: TopicPartition | None = None

    def __str__(self) -> str:
        return f"leader{_of(self.of)} == none"


Condition = IsrAtMost | IsrIsLeader | LeaderChanged | NoLeader

_SHAPES: tuple[tuple[re.Pattern[str], Condition], ...] = (
    (re.compile(rf"isr\.size{_OF} ?<= ?(?P<size>\d+)"), IsrAtMost(size=0)),
    (re.compile(rf"isr{_OF} ?== ?\{{ ?leader ?\}}"), IsrIsLeader()),
    (re.compile(rf"leader\.changed{_OF}"), LeaderChanged()),
    (re.compile(rf"leader{_OF} ?== ?none"), NoLeader()),
)


def _of(partition: TopicPartition | None) -> str:
    return f"({partition})" if partition else ""


def parse_condition(value: object, field: str = "when") -> Condition:
    """Read a condition; `str()` of the result reads back to the same."""
    text = " ".join(value.split()) if isinstance(value, str) else ""
    for pattern, condition in _SHAPES:
        if match := pattern.fullmatch(text):
            of = parse_partition(match["of"], field) if match["of"] else None
            if isinstance(condition, IsrAtMost):
                return IsrAtMost(size=int(match["size"]), of=of)
            return replace(condition, of=of)
    raise BadStep(field, value, _WORDS)


def holds(condition: Condition, before: PartitionState, now: PartitionState) -> bool:
    """Whether the condition holds `now`; `before` is the state when the waiting began."""
    match condition:
        case IsrAtMost(size=size):
            return len(now.isr) <= size
        case IsrIsLeader():
            return now.leader >= 0 and now.isr == (now.leader,)
        case LeaderChanged():
            return now.leader >= 0 and (now.leader, now.leader_epoch) != (before.leader, before.leader_epoch)
        case NoLeader():
            return now.leader < 0
