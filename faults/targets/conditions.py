"""Events that a step can wait for, as the brokers report them.

    isr.size(orders-0) <= 1       at most this many replicas are in sync
    isr(orders-0) == {leader}     the leader is the only replica in sync
    leader.changed(orders-0)      there is a leader, and it is another, or of another epoch, than when the
                                  step began to wait: just before the step before it was injected
    leader(orders-0) == none      the partition has no leader
    hw(orders-0) < leo            the leader's log goes beyond the high watermark: what is there is not on all
                                  replicas in sync yet; hw(orders-0) < leo - 500: by more than 500 offsets
    follower 2(orders-0) behind by 100
                                  that replica's log ends at least 100 offsets before the leader's

The partition may be left out: then it is the plan's default one. A replica that does not answer is not known
to be behind.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass

from compose.protocols import PartitionOffsets, PartitionState
from faults.errors import BadStep
from faults.targets.target import TopicPartition, parse_partition

_OF = r"(?:\((?P<of>[^()]+)\))?"
_WORDS = (
    "isr.size <= N",
    "isr == {leader}",
    "leader.changed",
    "leader == none",
    "hw < leo",
    "hw < leo - N",
    "follower N behind by N",
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


@dataclass(frozen=True, slots=True, kw_only=True)
class HwBelowLeo:
    """The high watermark is below the leader's log end by more than `by`."""

    by: int = 0
    of: TopicPartition | None = None

    def __str__(self) -> str:
        return f"hw{_of(self.of)} < leo" + (f" - {self.by}" if self.by else "")


@dataclass(frozen=True, slots=True, kw_only=True)
class FollowerBehind:
    """The log of a follower, which `rank` counts from 1, ends at least `by` offsets before the leader's."""

    by: int
    rank: int = 1
    of: TopicPartition | None = None

    def __str__(self) -> str:
        return f"follower{f' {self.rank}' if self.rank > 1 else ''}{_of(self.of)} behind by {self.by}"


StateCondition = IsrAtMost | IsrIsLeader | LeaderChanged | NoLeader
OffsetCondition = HwBelowLeo | FollowerBehind
"""Conditions that need the offsets of a state."""
Condition = StateCondition | OffsetCondition

_Make = Callable[[re.Match[str], TopicPartition | None], Condition]
_SHAPES: tuple[tuple[str, _Make], ...] = (
    (rf"isr\.size{_OF} ?<= ?(?P<size>\d+)", lambda words, of: IsrAtMost(size=int(words["size"]), of=of)),
    (rf"isr{_OF} ?== ?\{{ ?leader ?\}}", lambda _, of: IsrIsLeader(of=of)),
    (rf"leader\.changed{_OF}", lambda _, of: LeaderChanged(of=of)),
    (rf"leader{_OF} ?== ?none", lambda _, of: NoLeader(of=of)),
    (rf"hw{_OF} ?< ?leo(?: ?- ?(?P<by>\d+))?", lambda words, of: HwBelowLeo(by=int(words["by"] or 0), of=of)),
    (
        rf"follower(?: (?P<rank>[1-9]\d*))?{_OF} behind by (?P<by>[1-9]\d*)",
        lambda words, of: FollowerBehind(by=int(words["by"]), rank=int(words["rank"] or 1), of=of),
    ),
)


def _of(partition: TopicPartition | None) -> str:
    return f"({partition})" if partition else ""


def parse_condition(value: object, field: str = "when") -> Condition:
    """Read a condition; `str()` of the result reads back to the same."""
    text = " ".join(value.split()) if isinstance(value, str) else ""
    for pattern, make in _SHAPES:
        if match := re.fullmatch(pattern, text):
            return make(match, parse_partition(match["of"], field) if match["of"] else None)
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
        case HwBelowLeo(by=by):
            return now.offsets is not None and now.offsets.high_watermark < _leo(now.offsets, now) - by
        case FollowerBehind(by=by, rank=rank):
            return now.offsets is not None and _is_behind(now.offsets, now, rank, by)


def _leo(offsets: PartitionOffsets, now: PartitionState) -> int:
    return offsets.log_end(now.leader)


def _is_behind(offsets: PartitionOffsets, now: PartitionState, rank: int, by: int) -> bool:
    """Whether the follower of this rank answers, and ends so far before the leader."""
    followers = sorted(set(now.replicas) - {now.leader})
    ends = [offsets.log_end(follower) for follower in followers[rank - 1 : rank]]
    return any(0 <= end <= _leo(offsets, now) - by for end in ends)
