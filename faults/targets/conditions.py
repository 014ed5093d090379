"""Events that a step can wait for.

    isr.size(orders-0) <= 1       at most so many replicas are in sync; also == and >=
    elr.size(orders-0) >= 1       so many replicas are eligible leaders without being in sync; also <= and ==
    isr(orders-0) == {leader}     the leader is the only replica in sync
    leader.changed(orders-0)      there is a leader, and it is another, or of another epoch, than before
    leader.moved(orders-0)        there is a leader, and it is another node than before
    leader(orders-0) == none      the partition has no leader
    hw(orders-0) < leo            the leader's log goes beyond the high watermark: what is there is not on all
                                  replicas in sync yet; hw(orders-0) < leo - 500: by more than 500 offsets
    follower 2(orders-0) behind by 100
                                  that replica's log ends at least 100 offsets before the leader's
    broker 2 fenced               the controllers have fenced it
    broker 2 unfenced             it has been fenced since the waiting began, and is not any more
    controller.moved              there is an active controller, and it is another one than before; one where
                                  there was none, too
    coordinator(GROUP).moved      a consumer group has a coordinator, and it is another broker than before
    transaction coordinator(ID).moved
                                  the same of a transactional id of the load
    producer fenced               a producer of the load was told that another instance has replaced it, or
                                  that its coordinator has ended its transaction
    first ack(orders-0) after cut.begin
                                  a record was acknowledged to the load later than that

"Before" is just before the moment from which on the event counts. The partition may be left out: then it is
the plan's default one. What nobody reports is not known to be so: a replica that does not answer is not
behind.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from faults.errors import BadStep
from faults.numbers import COUNT, NUMBER
from faults.targets.target import TopicPartition, parse_partition

Comparison = Literal["<=", "==", ">="]
_OF = r"(?:\((?P<of>[^()]+)\))?"
_SIZE = rf"(?P<how>[<>=]=) ?(?P<size>{NUMBER})"
_WORDS = (
    "isr.size <= N",
    "elr.size >= N (each also with == and the other one)",
    "isr == {leader}",
    "leader.changed",
    "leader.moved",
    "leader == none",
    "hw < leo",
    "hw < leo - N",
    "follower N behind by N",
    "first ack after STEP.begin",
    "each also of a partition, as isr.size(orders-0) <= 1",
    "broker N fenced",
    "broker N unfenced",
    "controller.moved",
    "coordinator(GROUP).moved",
    "transaction coordinator(ID).moved",
    "producer fenced",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class IsrSize:
    """How many replicas are in sync."""

    how: Comparison
    size: int
    of: TopicPartition | None = None

    def __str__(self) -> str:
        return f"isr.size{_of(self.of)} {self.how} {self.size}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ElrSize:
    """How many replicas may be elected without being in sync (KIP-966)."""

    how: Comparison
    size: int
    of: TopicPartition | None = None

    def __str__(self) -> str:
        return f"elr.size{_of(self.of)} {self.how} {self.size}"


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
class LeaderMoved:
    """A leader of another id than before; one where there was none, too."""

    of: TopicPartition | None = None

    def __str__(self) -> str:
        return f"leader.moved{_of(self.of)}"


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


@dataclass(frozen=True, slots=True, kw_only=True)
class FirstAck:
    """A record was acknowledged to the load since the waiting began."""

    of: TopicPartition | None = None

    def __str__(self) -> str:
        return f"first ack{_of(self.of)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerFenced:
    """The broker is fenced."""

    broker: int

    def __str__(self) -> str:
        return f"broker {self.broker} fenced"


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerUnfenced:
    """The broker is not fenced, and was since the waiting began."""

    broker: int

    def __str__(self) -> str:
        return f"broker {self.broker} unfenced"


@dataclass(frozen=True, slots=True, kw_only=True)
class ControllerMoved:
    """Another active controller than before; one where there was none, too."""

    def __str__(self) -> str:
        return "controller.moved"


@dataclass(frozen=True, slots=True, kw_only=True)
class CoordinatorMoved:
    """Another coordinator of a consumer group than before."""

    group: str

    def __str__(self) -> str:
        return f"coordinator({self.group}).moved"


@dataclass(frozen=True, slots=True, kw_only=True)
class TransactionCoordinatorMoved:
    """Another coordinator of a transactional id than before."""

    transactional_id: str

    def __str__(self) -> str:
        return f"transaction coordinator({self.transactional_id}).moved"


@dataclass(frozen=True, slots=True, kw_only=True)
class ProducerFenced:
    """A producer of the load was told that it is fenced, since the waiting began."""

    def __str__(self) -> str:
        return "producer fenced"


OffsetCondition = HwBelowLeo | FollowerBehind
"""Conditions that need the offsets of a state."""
PartitionCondition = (
    IsrSize | ElrSize | IsrIsLeader | LeaderChanged | LeaderMoved | NoLeader | OffsetCondition | FirstAck
)
BrokerCondition = BrokerFenced | BrokerUnfenced
TransactionCondition = TransactionCoordinatorMoved | ProducerFenced
"""Conditions that only a load with transactions can meet."""
Condition = PartitionCondition | BrokerCondition | ControllerMoved | CoordinatorMoved | TransactionCondition

_Make = Callable[[re.Match[str], TopicPartition | None], Condition]
_SHAPES: tuple[tuple[str, _Make], ...] = (
    (
        rf"isr\.size{_OF} ?{_SIZE}",
        lambda words, of: IsrSize(how=_comparison(words["how"]), size=int(words["size"]), of=of),
    ),
    (
        rf"elr\.size{_OF} ?{_SIZE}",
        lambda words, of: ElrSize(how=_comparison(words["how"]), size=int(words["size"]), of=of),
    ),
    (rf"isr{_OF} ?== ?\{{ ?leader ?\}}", lambda _, of: IsrIsLeader(of=of)),
    (rf"leader\.changed{_OF}", lambda _, of: LeaderChanged(of=of)),
    (rf"leader\.moved{_OF}", lambda _, of: LeaderMoved(of=of)),
    (rf"leader{_OF} ?== ?none", lambda _, of: NoLeader(of=of)),
    (
        rf"hw{_OF} ?< ?leo(?: ?- ?(?P<by>{NUMBER}))?",
        lambda words, of: HwBelowLeo(by=int(words["by"] or 0), of=of),
    ),
    (
        rf"follower(?: (?P<rank>{COUNT}))?{_OF} behind by (?P<by>{COUNT})",
        lambda words, of: FollowerBehind(by=int(words["by"]), rank=int(words["rank"] or 1), of=of),
    ),
    (rf"first ack{_OF}", lambda _, of: FirstAck(of=of)),
    (rf"broker (?P<broker>{NUMBER}) fenced", lambda words, _: BrokerFenced(broker=int(words["broker"]))),
    (rf"broker (?P<broker>{NUMBER}) unfenced", lambda words, _: BrokerUnfenced(broker=int(words["broker"]))),
    (r"controller\.moved", lambda _, __: ControllerMoved()),
    (
        r"coordinator\((?P<group>[^()]+)\)\.moved",
        lambda words, _: CoordinatorMoved(group=words["group"]),
    ),
    (
        r"transaction coordinator\((?P<id>[^()]+)\)\.moved",
        lambda words, _: TransactionCoordinatorMoved(transactional_id=words["id"]),
    ),
    (r"producer fenced", lambda _, __: ProducerFenced()),
)


def _of(partition: TopicPartition | None) -> str:
    return f"({partition})" if partition else ""


def _comparison(text: str) -> Comparison:
    return "<=" if text == "<=" else ">=" if text == ">=" else "=="


def parse_condition(value: object, field: str = "when") -> Condition:
    """Read a condition; `str()` of the result reads back to the same."""
    text = " ".join(value.split()) if isinstance(value, str) else ""
    for pattern, make in _SHAPES:
        if match := re.fullmatch(pattern, text):
            of = match.groupdict().get("of")
            return make(match, parse_partition(of, field) if of else None)
    raise BadStep(field, value, _WORDS)
