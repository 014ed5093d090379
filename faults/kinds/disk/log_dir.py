"""Which log directory of a node a fault of a disk hits, and which replicas lie in it.

A broker with several log directories (`cluster.log_dirs`) has each on a disk of its own, numbered from 1 on.
The first one has its metadata log too: without that it halts, without any other it goes on (KIP-858).
"""

from abc import ABC
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import ClassVar, Self

from compose.errors import NodeStateError
from faults.errors import BadStep, NoTarget
from faults.kinds.fault.base import Injection, StepT, fit_node
from faults.kinds.fault.step import Head, TargetStep, Words
from faults.numbers import parse_number
from faults.targets.facts import Facts
from faults.targets.target import parse_target

KEY = "log_dir"
METADATA = 1
"""The number of the log directory with the metadata log."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LogDirStep(TargetStep, ABC):
    """A step that hits disks of nodes: that of one log directory of each, or all (None)."""

    keys: ClassVar[tuple[str, ...]] = (*TargetStep.keys, KEY)
    by_default: ClassVar[int | None] = None
    log_dir: int | None = None

    @classmethod
    def parse(cls, head: Head, words: Words) -> Self:
        """Read the target, and which log directory."""
        return cls(
            name=head.name,
            start=head.start,
            hold_s=head.hold_s,
            target=parse_target(words.get("target")),
            log_dir=parse_log_dir(words.get(KEY, cls.by_default)),
        )

    def write(self) -> dict[str, str]:
        """Target and log directory."""
        return TargetStep.write(self) | write_log_dir(self.log_dir)

    def check(self, facts: Facts) -> None:
        """Every node that may be hit must have such a log directory."""
        TargetStep.check(self, facts)
        check_log_dir(self.log_dir, self.candidates(facts.brokers, facts.controllers), facts)


def parse_log_dir(value: object) -> int | None:
    """The number of a log directory; None if none is named."""
    if value is None:
        return None
    return parse_number(value, KEY, "the number of a log directory, from 1 on", least=1)


def write_log_dir(number: int | None) -> dict[str, str]:
    """The words for it."""
    return {} if number is None else {KEY: str(number)}


def check_log_dir(number: int | None, hit: Collection[int], facts: Facts) -> None:
    """BadStep unless each of the nodes `hit` has such a log directory."""
    if number is None or number == METADATA:
        return
    if number > facts.log_dirs:
        raise BadStep(KEY, str(number), f"from 1 to {facts.log_dirs}, which cluster.log_dirs sets")
    if not set(hit) <= set(facts.brokers):
        raise BadStep(KEY, str(number), "1 for this target: a controller has one log directory")


def check_thawed(injection: Injection[StepT], nodes: Iterable[int], *, what: str) -> None:
    """NoTarget if a disk of one of the nodes is frozen: another fault has it, and whatever else is done to it
    may wait for that one."""
    for node in nodes:
        if injection.cluster.is_frozen(node):
            raise NoTarget(f"nothing to {what}: a disk of node {node} is frozen")


@contextmanager
def thawed_node(injection: Injection[StepT], node: int) -> Iterator[None]:
    """This fault has the node, which runs, and whose disks are not frozen, to himself; NodeStateError
    otherwise."""
    with fit_node(injection, node):
        if injection.cluster.is_frozen(node):
            raise NodeStateError(f"a disk of node {node} is frozen")
        yield


def note_replicas(injection: Injection[StepT], nodes: Collection[int], number: int | None) -> None:
    """Put down which replicas the fault concerns, as the disks have them, if these are not all of its nodes.

    Kafka's internal topics are left out. NoTarget if there is none in the log directory of a broker.
    """
    for node in nodes:
        if number is None or len(injection.cluster.log_dirs(node)) == 1:
            continue
        found = injection.cluster.log_ends(node, log_dir=number)
        if not found:
            raise NoTarget(f"nothing to hit: log directory {number} of node {node} has no replica")
        injection.outages.replicas |= {(node, topic, partition) for topic, partition in found}
