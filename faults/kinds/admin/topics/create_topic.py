"""Create topic: a topic of its own is made while the run goes on, and deleted again.

Effect: every broker knows the same leader of each of its partitions, and each leader serves.
Recovery: no broker knows it any more; the ISR of the others is what it was.
"""

from dataclasses import dataclass
from typing import ClassVar

from faults.kinds.admin.topics.own_topic import OwnTopic, OwnTopicStep
from faults.kinds.fault.kind import BY_CONTROLLERS, FaultKind


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateTopicStep(OwnTopicStep):
    """Create a topic."""

    kind: ClassVar[str] = "create-topic"


@dataclass(slots=True)
class CreateTopic(OwnTopic[CreateTopicStep]):
    """Holds a topic that was made at once."""

    def make(self) -> None:
        """With all its partitions."""
        self.create(partitions=self.injection.step.partitions)


CREATE_TOPIC = FaultKind(
    step=CreateTopicStep,
    make=CreateTopic,
    takes=BY_CONTROLLERS,
    shortest_hold_s=1.0,
    does="a topic `fault-NAME` of `partitions` (6) is made, with up to 3 replicas; nobody writes to it",
    effect="every broker knows the same leader of each partition, and each leader serves",
    healing="it is deleted",
    recovery="no broker knows it",
)
