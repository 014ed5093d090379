"""Create partitions: a topic of its own, of one partition, gets more while the run goes on, and is deleted.

A topic never has fewer partitions again, so none of the scenario's is touched.

Effect: every broker knows the same leader of each partition, and each leader serves.
Recovery: no broker knows the topic any more; the ISR of the others is what it was.
"""

from dataclasses import dataclass
from typing import ClassVar

from faults.kinds.admin.topics.own_topic import OwnTopic, OwnTopicStep
from faults.kinds.fault.kind import BY_CONTROLLERS, FaultKind


@dataclass(frozen=True, slots=True, kw_only=True)
class CreatePartitionsStep(OwnTopicStep):
    """Let a topic have more partitions."""

    kind: ClassVar[str] = "create-partitions"
    fewest: ClassVar[int] = 2


@dataclass(slots=True)
class CreatePartitions(OwnTopic[CreatePartitionsStep]):
    """Holds a topic that was made with one partition, and then got more."""

    def make(self) -> None:
        """The controller knows the topic at once, whichever broker passes on the second change."""
        step = self.injection.step
        self.create(partitions=1)
        self.injection.cluster.admin.add_partitions(step.topic, count=step.partitions)


CREATE_PARTITIONS = FaultKind(
    step=CreatePartitionsStep,
    make=CreatePartitions,
    takes=BY_CONTROLLERS,
    shortest_hold_s=1.0,
    does="a topic `fault-NAME` is made with one partition, and gets more, up to `partitions` (6); nobody "
    "writes to it",
    effect="every broker knows the same leader of each partition, and each leader serves",
    healing="the topic is deleted",
    recovery="no broker knows it",
)
