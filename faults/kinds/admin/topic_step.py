"""A step that asks the cluster to change something by itself, as a topic."""

from abc import ABC
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar, Self, TypeVar

from compose.admin_protocol import Place
from compose.protocols import PartitionState
from faults.errors import BadStep
from faults.kinds.fault.base import Injection
from faults.kinds.fault.step import Head, ResolvedTargets, Step, Words
from faults.targets.facts import Facts, TopicFacts
from faults.targets.roles import Roles
from faults.targets.target import TopicPartition


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterStep(Step, ABC):
    """A step that hits no node and no edge: the cluster is asked to change something by itself."""

    keys: ClassVar[tuple[str, ...]] = ()

    def with_partition(self, default: TopicPartition | None) -> Self:
        """The same: it names no role."""
        return self

    def check(self, facts: Facts) -> None:
        """Nothing that every cluster has can be missing."""

    def resolve(self, roles: Roles) -> ResolvedTargets:
        """No node."""
        return ResolvedTargets(nodes=())

    def candidates(self, brokers: tuple[int, ...], controllers: tuple[int, ...]) -> tuple[int, ...]:
        """None."""
        return ()


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicStep(ClusterStep, ABC):
    """A step that changes a topic of the scenario; "" until the plan's first one is written there."""

    keys: ClassVar[tuple[str, ...]] = ("topic",)
    topic: str = ""

    @classmethod
    def parse(cls, head: Head, words: Words) -> Self:
        """Read the topic."""
        return cls(name=head.name, start=head.start, hold_s=head.hold_s, topic=parse_topic(words))

    def write(self) -> dict[str, str]:
        """The topic."""
        return {"topic": self.topic} if self.topic else {}

    @property
    def asked(self) -> str:
        """The topic."""
        return f"topic {self.topic}"

    def with_partition(self, default: TopicPartition | None) -> Self:
        """With the topic of `default`, if none is named."""
        return replace(self, topic=self.topic or (default.topic if default else ""))

    def check(self, facts: Facts) -> None:
        """The scenario makes the topic."""
        topic_facts(self.topic, facts)


def replicas_of(topic: str) -> str:
    """What a step changes that moves a topic's replicas."""
    return f"the replicas of {topic}"


TopicStepT = TypeVar("TopicStepT", bound=TopicStep)


def states_of(injection: Injection[TopicStepT]) -> Mapping[Place, PartitionState]:
    """The partitions of the step's topic, as the brokers report them now. ViewError if none answers."""
    topic = injection.step.topic
    return {(topic, state.partition): state for state in injection.view.describe(topic)}


def parse_topic(words: Words) -> str:
    """The topic that a step names; "" if it names none."""
    topic = words.get("topic", "")
    if not isinstance(topic, str):
        raise BadStep("topic", topic, "the name of a topic")
    return topic


def topic_facts(name: str, facts: Facts) -> TopicFacts:
    """The topic of this name that the scenario makes; BadStep if it makes none."""
    for topic in facts.topics:
        if topic.name == name:
            return topic
    raise BadStep("topic", name, [topic.name for topic in facts.topics])
