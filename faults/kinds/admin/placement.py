"""Where a partition's replicas are to be, as a plan writes it.

2+1            on these brokers, the preferred leader first
2 replicas     so many: the last ones go, or the brokers that follow the last one come
rotated        each replica goes to the next broker, the last broker's to the first
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from faults.errors import BadStep
from faults.numbers import NUMBER
from faults.targets.facts import Facts, TopicFacts

WORDS = "brokers, the preferred leader first, as in 2+1; a number of replicas, as in 2 replicas; rotated"

_IDS = re.compile(rf"{NUMBER}(?: ?\+ ?{NUMBER})*")
_COUNT = re.compile(rf"(?P<count>{NUMBER}) replicas?")


@dataclass(frozen=True, slots=True, kw_only=True)
class On:
    """On these brokers, in this order."""

    brokers: tuple[int, ...]

    def __str__(self) -> str:
        return "+".join(map(str, self.brokers))


@dataclass(frozen=True, slots=True, kw_only=True)
class Count:
    """On so many brokers, the first of them those that hold it."""

    replicas: int

    def __str__(self) -> str:
        return f"{self.replicas} replica{'s' * (self.replicas != 1)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Rotated:
    """Each on the next broker."""

    def __str__(self) -> str:
        return "rotated"


Placement = On | Count | Rotated


def parse_placement(value: object) -> Placement:
    """Read a placement; `str()` of the result reads back to the same."""
    text = " ".join(str(value).split()) if isinstance(value, str | int) else ""
    if text == "rotated":
        return Rotated()
    if _IDS.fullmatch(text):
        return On(brokers=tuple(int(each) for each in text.split("+")))
    if match := _COUNT.fullmatch(text):
        return Count(replicas=int(match["count"]))
    raise BadStep("to", value, WORDS)


def check_placement(to: Placement, topic: TopicFacts, facts: Facts) -> None:
    """BadStep if the cluster has no such brokers, or if the topic had fewer replicas than it needs in sync.

    With fewer of them than min.insync.replicas Kafka is content with all that there are (`Partition.scala`,
    `effectiveMinIsr`): what was promised would change.
    """
    match to:
        case On(brokers=brokers):
            if len(set(brokers)) < len(brokers) or not set(brokers) <= set(facts.brokers):
                raise BadStep("to", str(to), f"different brokers; the brokers are {list(facts.brokers)}")
        case Rotated():
            if len(facts.brokers) == 1:
                raise BadStep("to", str(to), "a placement in a cluster of several brokers")
        case Count():
            pass
    if not topic.min_isr <= copies_of(to, topic) <= len(facts.brokers):
        needed = f"{topic.min_isr} (min.insync.replicas of {topic.name})"
        raise BadStep("to", str(to), f"from {needed} to {len(facts.brokers)} replicas")


def copies_of(to: Placement, topic: TopicFacts) -> int:
    """How many replicas each partition of the topic has then."""
    match to:
        case On(brokers=brokers):
            return len(brokers)
        case Count(replicas=replicas):
            return replicas
        case Rotated():
            return topic.replication


def placed(to: Placement, replicas: Sequence[int], brokers: Sequence[int]) -> tuple[int, ...]:
    """The replicas of a partition as they are to be; `replicas` as they are, `brokers` all, ascending."""
    match to:
        case On(brokers=wanted):
            return wanted
        case Count(replicas=count):
            after = [*(each for each in brokers if each > replicas[-1]), *brokers]
            return tuple(dict.fromkeys((*replicas, *after)))[:count]
        case Rotated():
            following = dict(zip(brokers, (*brokers[1:], brokers[0]), strict=True))
            return tuple(following[replica] for replica in replicas)
