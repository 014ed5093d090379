"""Kill: SIGKILL, and later a restart. The page cache survives, so nothing that was written is lost.

Effect: exit code 137, no process.
Recovery: the node answers again; the ISR is what it was.
"""

from dataclasses import dataclass
from typing import ClassVar

from faults.kinds.fault.base import UP, Injection, alive, check_fit
from faults.kinds.fault.evidence import Evidence
from faults.kinds.fault.kind import Cost, FaultKind, Takes, one_node
from faults.kinds.fault.step import TargetStep
from faults.kinds.shared.outage import SIGKILLED, all_ended, bring_back, close_edges, kill
from faults.kinds.shared.recovery import answering
from faults.tasks import as_job


@dataclass(frozen=True, slots=True, kw_only=True)
class KillStep(TargetStep):
    """Kill nodes."""

    kind: ClassVar[str] = "kill"


@dataclass(slots=True)
class Kill:
    """Holds the injection's nodes down after SIGKILL."""

    injection: Injection[KillStep]
    _nodes: tuple[int, ...] = ()

    def prepare(self) -> None:
        """Only a living node can be killed."""
        self._nodes = alive(self.injection, what="kill", fit=UP)

    @as_job
    def inject(self) -> None:
        """Close the edges, then kill at once. `Cluster.kill` thaws a frozen disk, behind a pause."""
        for node in self._nodes:
            with self.injection.holds.changing((node,)):
                check_fit(self.injection, node, UP)
                close_edges(self.injection, node)
                kill(self.injection, node)

    def effect(self) -> Evidence:
        """Did all die of SIGKILL?"""
        return all_ended(self.injection, self._nodes, (SIGKILLED,))

    @as_job
    def heal(self) -> None:
        """Start again."""
        bring_back(self.injection, self._nodes)

    def recovery(self) -> Evidence:
        """Are all back?"""
        return answering(self.injection, self._nodes)


KILL = FaultKind(
    step=KillStep,
    make=Kill,
    takes=Takes(inject_s=2.0, heal_s=2.5),
    storm=one_node(KillStep, weight=2),
    cost=Cost(ends_process=True, unclean=True),
    does="SIGKILL; the page cache survives",
    effect="exit code 137, no process",
    healing="start",
    recovery="the node answers",
)
