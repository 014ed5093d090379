"""What the kinds share that make a topic of their own: nobody writes to it, and healing deletes it."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar, Generic, Self, TypeVar

from faults.errors import BadStep
from faults.kinds.admin.topic_step import ClusterStep
from faults.kinds.fault.base import Injection
from faults.kinds.fault.evidence import Evidence, NotYet, Proven
from faults.kinds.fault.step import Head, Words
from faults.kinds.shared.recovery import isr_is_short
from faults.numbers import parse_number
from faults.targets.facts import Facts
from faults.tasks import as_job

REPLICATION = 3
"""Or as many as there are brokers."""

MOST_PARTITIONS = 1000
"""Their creation takes seconds; a broker keeps some files open for each."""

MOST_LETTERS = 249
"""Of the name of a topic (`Topic.java`)."""

SETTLED_S = 0.3
"""One question to all brokers, and one more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnTopicStep(ClusterStep, ABC):
    """Make a topic of some partitions, named after the step."""

    keys: ClassVar[tuple[str, ...]] = ("partitions",)
    fewest: ClassVar[int] = 1
    partitions: int

    @property
    def topic(self) -> str:
        """Its name. That of a repetition, kill#2, has a sign that Kafka does not take."""
        return f"fault-{self.name.replace('#', '.')}"

    @classmethod
    def parse(cls, head: Head, words: Words) -> Self:
        """Read how many partitions it has."""
        allowed = f"a number from {cls.fewest} to {MOST_PARTITIONS}"
        number = parse_number(
            words.get("partitions", "6"), "partitions", allowed, least=cls.fewest, most=MOST_PARTITIONS
        )
        return cls(name=head.name, start=head.start, hold_s=head.hold_s, partitions=number)

    def write(self) -> dict[str, str]:
        """The number of partitions."""
        return {"partitions": str(self.partitions)}

    @property
    def asked(self) -> str:
        """Its name and size."""
        return f"topic {self.topic}, {self.partitions} partition{'s' * (self.partitions != 1)}"

    def check(self, facts: Facts) -> None:
        """It is none of the scenario's, for healing deletes it, and none that Kafka refuses: for its length,
        or because it takes `.` and `_` for the same letter."""
        for topic in facts.topics:
            if topic.name.replace("_", ".") == self.topic.replace("_", "."):
                raise BadStep("name", self.name, f"another one: {topic.name} is a topic of the scenario")
        if len(self.topic) > MOST_LETTERS:
            most = MOST_LETTERS - len(self.topic) + len(self.name)
            raise BadStep("name", self.name, f"at most {most} letters: Kafka takes no longer name of a topic")


OwnTopicStepT = TypeVar("OwnTopicStepT", bound=OwnTopicStep)


@dataclass(slots=True)
class OwnTopic(ABC, Generic[OwnTopicStepT]):
    """Holds a topic of its own."""

    injection: Injection[OwnTopicStepT]

    @abstractmethod
    def make(self) -> None:
        """Have the topic made, as the kind makes it."""

    def prepare(self) -> None:
        """Nothing needs to be known."""

    @as_job
    def inject(self) -> None:
        """Make it."""
        self.make()

    def effect(self) -> Evidence:
        """Do all brokers know the same leader of each partition, and does each serve as such?"""
        injection, topic = self.injection, self.injection.step.topic
        injection.view.wait_until_settled(topic, within_s=SETTLED_S)
        leaders = {f"{topic}-{state.partition}": state.leader for state in injection.view.describe(topic)}
        if len(leaders) != injection.step.partitions:
            return NotYet(instead=f"{topic} has {len(leaders)} partitions, of {injection.step.partitions}")
        return Proven(since_ns=injection.clock.now_ns(), values={"leaders": leaders})

    @as_job
    def heal(self) -> None:
        """Delete it."""
        self.injection.cluster.admin.delete_topic(self.injection.step.topic)

    def recovery(self) -> Evidence:
        """Does no broker know it any more, and is the ISR of the others what it was?"""
        if known := self.injection.view.describe(self.injection.step.topic):
            return NotYet(instead=f"a broker still knows {len(known)} partitions of {known[0].topic}")
        if lacking := isr_is_short(self.injection):
            return NotYet(instead=lacking)
        return Proven(since_ns=self.injection.clock.now_ns(), values={"deleted": self.injection.step.topic})

    def create(self, *, partitions: int) -> None:
        """Create it."""
        cluster = self.injection.cluster
        cluster.admin.create_topic(
            self.injection.step.topic,
            partitions=partitions,
            replication=min(REPLICATION, len(cluster.brokers)),
        )
