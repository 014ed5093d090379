"""Stop: SIGTERM, a controlled shutdown that moves leadership away, and later a restart.

Effect: the process has ended by itself, exit code 143 (128 + SIGTERM) or 0.
Recovery: the node answers again; the ISR is what it was.
"""

from dataclasses import dataclass
from typing import ClassVar

from faults.kinds.fault.base import Injection, alive
from faults.kinds.fault.evidence import Evidence
from faults.kinds.fault.kind import Cost, FaultKind, Takes, one_node
from faults.kinds.fault.step import TargetStep
from faults.kinds.shared.outage import STOPPED, all_ended, bring_back, close_edges_behind, stop_or_kill
from faults.kinds.shared.recovery import answering
from faults.tasks import Task, as_job


@dataclass(frozen=True, slots=True, kw_only=True)
class StopStep(TargetStep):
    """Stop nodes."""

    kind: ClassVar[str] = "stop"


@dataclass(slots=True)
class Stop:
    """Holds the injection's nodes down after SIGTERM."""

    injection: Injection[StopStep]
    _nodes: tuple[int, ...] = ()

    def prepare(self) -> None:
        """Only a running node can end by itself."""
        self._nodes = alive(self.injection, what="stop")

    def inject(self) -> Task[None]:
        """SIGTERM, one node after the other, each waited for.

        A node's edges are closed only when it has ended, since it needs them to move its leaderships.
        """
        for node in self._nodes:
            yield from stop_or_kill(self.injection, node)
            yield from close_edges_behind(self.injection, node)

    def effect(self) -> Evidence:
        """Did all end by themselves?"""
        return all_ended(self.injection, self._nodes, STOPPED)

    @as_job
    def heal(self) -> None:
        """Start again."""
        bring_back(self.injection, self._nodes)

    def recovery(self) -> Evidence:
        """Are all back?"""
        return answering(self.injection, self._nodes)


STOP = FaultKind(
    step=StopStep,
    make=Stop,
    takes=Takes(inject_s=2.0, heal_s=2.5, waits=True),
    storm=one_node(StopStep, weight=1, needs_peers=True),
    cost=Cost(ends_process=True),
    does="SIGTERM, a controlled shutdown; after 30 s SIGKILL, and then it is unproven as a stop",
    effect="exit code 143 or 0",
    healing="start",
    recovery="the node answers",
)
