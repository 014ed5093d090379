"""The cluster as the steps of a plan may make it.

Nobody knows which of two steps comes first, where one waits for an event, or is late. So a plan is checked
against all that any of its steps may give the cluster: what can be at some time is not refused.
"""

from collections.abc import Sequence
from dataclasses import replace

from faults.kinds.admin.features.feature import ELR, FeatureStep
from faults.kinds.admin.features.finalize import FinalizeStep
from faults.kinds.admin.placement import copies_of
from faults.kinds.admin.reassign import ReassignStep
from faults.kinds.fault.step import Step
from faults.targets.facts import Facts, TopicFacts


def as_planned(steps: Sequence[Step], facts: Facts) -> Facts:
    """With eligible leader replicas if a step may switch them on, and as many replicas of each topic as it
    has at most."""
    has_elr = facts.has_elr or any(_turns_elr_on(step) for step in steps)
    moves = [step for step in steps if isinstance(step, ReassignStep)]
    return replace(facts, has_elr=has_elr, topics=tuple(_moved(topic, moves) for topic in facts.topics))


def _turns_elr_on(step: Step) -> bool:
    match step:
        case FinalizeStep():
            return True
        case FeatureStep(feature=feature, level=level):
            return feature == ELR and level > 0
        case _:
            return False


def _moved(topic: TopicFacts, moves: Sequence[ReassignStep]) -> TopicFacts:
    copies = (copies_of(step.to, topic) for step in moves if step.topic == topic.name)
    return replace(topic, replication=max([topic.replication, *copies]))
