"""Pause: every process of the node is stopped in place by the freezer, and later goes on where it was.

Effect: the container is paused, and its CPU time, which rose before, stands still.
Recovery: it runs and answers; the ISR is what it was.
"""

from dataclasses import dataclass, field
from functools import partial
from typing import ClassVar

from faults.kinds.fault.base import UP, Injection, all_alive, fit_node, try_all
from faults.kinds.fault.evidence import Evidence, NotYet, Proven, Stillness, by_name, moved, seconds
from faults.kinds.fault.kind import FaultKind, one_node
from faults.kinds.fault.step import TargetStep
from faults.kinds.shared.recovery import answering
from faults.tasks import as_job


@dataclass(frozen=True, slots=True, kw_only=True)
class PauseStep(TargetStep):
    """Pause nodes."""

    kind: ClassVar[str] = "pause"


@dataclass(slots=True)
class Pause:
    """Holds the injection's nodes paused."""

    injection: Injection[PauseStep]
    _nodes: tuple[int, ...] = ()
    _still: Stillness[int] = field(default_factory=Stillness)

    def prepare(self) -> None:
        """Only a running node can be paused."""
        self._nodes = all_alive(self.injection, what="pause")

    @as_job
    def inject(self) -> None:
        """Pause, also one that another fault has paused meanwhile."""
        holds = self.injection.holds
        for node in self._nodes:
            with fit_node(self.injection, node, UP):
                holds.take("paused", node, self.injection.owner)
                self.injection.cluster.pause(node)

    def effect(self) -> Evidence:
        """Is it paused, and does its CPU time stand still?"""
        injection = self.injection
        states = {node: injection.cluster.state(node).status for node in self._nodes}
        if any(status != "paused" for status in states.values()):
            return NotYet(instead=f"states: {by_name(states)}")
        used = moved(injection.before.cpu_ns, injection.now.cpu_ns)
        if any(node not in used for node in self._nodes):
            return NotYet(instead=f"CPU time did not rise before the pause either: {by_name(used)}")
        began_ns = injection.clock.now_ns()
        times = {node: injection.cluster.cpu_ns(node) for node in self._nodes}
        self._still.add(began_ns, injection.clock.now_ns(), times)
        if not self._still.proven:
            return NotYet(instead=f"CPU time {by_name(self._still.values)} not still for long enough")
        values = {
            "states": by_name(states),
            "cpu_ns_before": by_name({node: used[node] for node in self._nodes}),
            "no_cpu_for_s": seconds(self._still.last_ns - self._still.since_ns),
        }
        return Proven(since_ns=self._still.since_ns, values=values)

    @as_job
    def heal(self) -> None:
        """Let the nodes go on, except those that another fault holds paused."""
        try_all(partial(self._release, node) for node in self._nodes)

    def _release(self, node: int) -> None:
        holds = self.injection.holds
        with holds.changing((node,)):
            if holds.release("paused", node, self.injection.owner):
                self.injection.cluster.unpause(node)

    def recovery(self) -> Evidence:
        """Do all serve again, and is the ISR what it was?"""
        return answering(self.injection, self._nodes)


PAUSE = FaultKind(
    step=PauseStep,
    make=Pause,
    counter="cpu",
    shortest_hold_s=1.0,
    storm=one_node(PauseStep, weight=3),
    does="the node's processes are stopped in place (freezer)",
    effect="the container is paused, and its CPU time, which rose before, stands still for 0.75 s",
    healing="they go on",
    recovery="the node answers",
)
