"""What a step that waits for an event has read of the cluster and the load, and whether it has come."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from compose.protocols import PartitionOffsets, PartitionState
from faults.targets.conditions import (
    BrokerFenced,
    BrokerUnfenced,
    Comparison,
    Condition,
    ControllerMoved,
    CoordinatorMoved,
    ElrSize,
    FirstAck,
    FollowerBehind,
    HwBelowLeo,
    IsrIsLeader,
    IsrSize,
    LeaderChanged,
    LeaderMoved,
    NoLeader,
    ProducerFenced,
    TransactionCoordinatorMoved,
)

NOBODY = 0
"""In place of the number of a controller: none is active. That is known, other than what nobody reports."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Observed:
    """One reading, of what the condition is about only; the rest is None or empty, as what nobody reports.

    `fenced`: by broker, if most of those that answer agree. `last_ack_ns`: when the load got its last
    acknowledgement for the partition, -1: never; `last_fencing_ns` the same of a producer that was fenced.
    """

    partition: PartitionState | None = None
    fenced: Mapping[int, bool] = field(default_factory=dict)
    controller: int | None = None
    coordinator: int | None = None
    last_ack_ns: int = -1
    last_fencing_ns: int = -1

    @property
    def is_empty(self) -> bool:
        """Whether nothing was found out."""
        return self == Observed()


def in_words(condition: Condition, observed: Observed) -> str:
    """What was read for this condition."""
    match condition:
        case BrokerFenced(broker=broker) | BrokerUnfenced(broker=broker):
            words = {None: "nobody knows", True: "fenced", False: "not fenced"}
            return f"broker {broker}: {words[observed.fenced.get(broker)]}"
        case ControllerMoved():
            nobody = observed.controller == NOBODY
            return "no active controller" if nobody else f"active controller {observed.controller}"
        case CoordinatorMoved(group=group):
            return f"coordinator of {group}: {observed.coordinator}"
        case FirstAck():
            return f"the last acknowledgement at {observed.last_ack_ns} ns"
        case ProducerFenced():
            return f"the last fencing of a producer at {observed.last_fencing_ns} ns"
        case _:
            return str(observed.partition)


def tells(condition: Condition, observed: Observed) -> bool:
    """Whether anybody has said what the condition is about: else it may have come, and nobody says so."""
    match condition:
        case FirstAck() | ProducerFenced():
            return True
        case BrokerFenced(broker=broker) | BrokerUnfenced(broker=broker):
            return broker in observed.fenced
        case HwBelowLeo() | FollowerBehind():
            return observed.partition is not None and observed.partition.offsets is not None
        case _:
            return not observed.is_empty


def baseline(condition: Condition, before: Observed | None, now: Observed) -> Observed | None:
    """What later readings are compared with: `before`, unless there is none, or `now` tells more.

    A broker is unfenced if it was fenced first, however late that was.
    """
    if isinstance(condition, BrokerUnfenced) and now.fenced.get(condition.broker):
        return now
    is_known = before is not None and not before.is_empty
    return before if is_known or now.is_empty else now


def holds(condition: Condition, before: Observed, now: Observed, *, since_ns: int = 0) -> bool:
    """Whether the condition holds `now`, where waiting began at `since_ns` with what was known `before`."""
    match condition:
        case BrokerFenced(broker=broker):
            return now.fenced.get(broker, False)
        case BrokerUnfenced(broker=broker):
            return before.fenced.get(broker, False) and not now.fenced.get(broker, True)
        case ControllerMoved():
            return now.controller not in (None, NOBODY, before.controller)
        case CoordinatorMoved():
            return now.coordinator is not None and now.coordinator != before.coordinator
        case FirstAck():
            return now.last_ack_ns > since_ns
        case ProducerFenced():
            return now.last_fencing_ns > since_ns
        case _:
            if before.partition is None or now.partition is None:
                return False
            return _holds(condition, before.partition, now.partition)


def _holds(condition: Condition, before: PartitionState, now: PartitionState) -> bool:
    """Of the conditions of one partition."""
    match condition:
        case IsrSize(how=how, size=size):
            return _compare(len(now.isr), how, size)
        case ElrSize(how=how, size=size):
            return _compare(len(now.elr), how, size)
        case IsrIsLeader():
            return now.leader >= 0 and now.isr == (now.leader,)
        case LeaderChanged():
            return now.leader >= 0 and (now.leader, now.leader_epoch) != (before.leader, before.leader_epoch)
        case LeaderMoved() | TransactionCoordinatorMoved():
            return now.leader >= 0 and now.leader != before.leader
        case NoLeader():
            return now.leader < 0
        case HwBelowLeo(by=by):
            return now.offsets is not None and now.offsets.high_watermark < _leo(now.offsets, now) - by
        case FollowerBehind(by=by, rank=rank):
            return now.offsets is not None and _is_behind(now.offsets, now, rank, by)
        case _:
            raise AssertionError(f"{condition} is about no partition's state")


def _compare(found: int, how: Comparison, size: int) -> bool:
    match how:
        case "<=":
            return found <= size
        case "==":
            return found == size
        case ">=":
            return found >= size


def _leo(offsets: PartitionOffsets, now: PartitionState) -> int:
    return offsets.log_end(now.leader)


def _is_behind(offsets: PartitionOffsets, now: PartitionState, rank: int, by: int) -> bool:
    """Whether the follower of this rank answers, and ends so far before the leader."""
    followers = sorted(set(now.replicas) - {now.leader})
    ends = [offsets.log_end(follower) for follower in followers[rank - 1 : rank]]
    return any(0 <= end <= _leo(offsets, now) - by for end in ends)
