"""Pulses: every process of the node is stopped in place for `on`, goes on for `off`, and so in turn.

So a collector of garbage or a busy hypervisor stops a process: too shortly to be fenced, again and again.
Effect: in two pulses in a row it is paused and its CPU time stands still, which rises between them.
Recovery: it runs and answers; the ISR is what it was.
"""

from dataclasses import dataclass, field
from random import Random
from typing import ClassVar

from faults.kinds.fault.base import Injection, all_alive
from faults.kinds.fault.evidence import Evidence
from faults.kinds.fault.kind import FaultKind, StormRule
from faults.kinds.fault.step import Head, Step
from faults.kinds.shared.pulse_train import PULSES as LEAST_PULSES
from faults.kinds.shared.pulse_train import SHORTEST_S, PulsedStep, PulseTrain, Switch
from faults.kinds.shared.recovery import answering
from faults.targets.facts import Facts
from faults.targets.target import Target
from faults.tasks import Task, as_job

LONGEST_DRAWN_MS = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class PulsesStep(PulsedStep):
    """Pause nodes in pulses."""

    kind: ClassVar[str] = "pulses"
    change_s: ClassVar[float] = 0.2


@dataclass(slots=True)
class Pulses:
    """Holds the injection's nodes in pulses of a pause."""

    injection: Injection[PulsesStep]
    _train: PulseTrain[PulsesStep] = field(init=False)

    def __post_init__(self) -> None:
        """The freezer holds a node, and its CPU time shows it."""
        cluster = self.injection.cluster
        switch = Switch(
            hold="paused",
            on=cluster.pause,
            off=cluster.unpause,
            is_on=lambda node: cluster.state(node).status == "paused",
            counter=cluster.cpu_ns,
        )
        self._train = PulseTrain(self.injection, switch)

    def prepare(self) -> None:
        """Only a running node can be paused."""
        self._train.nodes = all_alive(self.injection, what="pause")

    @as_job
    def inject(self) -> None:
        """The first pulse."""
        self._train.begin()

    def go_on(self) -> Task[None]:
        """The others."""
        yield from self._train.go_on()

    def effect(self) -> Evidence:
        """Do they stand still in pulses?"""
        return self._train.effect()

    @as_job
    def heal(self) -> None:
        """Let them go on, except those that another fault holds paused."""
        self._train.end()

    def recovery(self) -> Evidence:
        """Do all serve again, and is the ISR what it was?"""
        return answering(self.injection, self._train.nodes)


def _draw(rng: Random, head: Head, node: Target, facts: Facts) -> Step:
    """Pulses that have time within the hold to be proven."""
    period_ms = round((head.hold_s / LEAST_PULSES - PulsesStep.change_s) * 1000)
    shortest_ms = round(SHORTEST_S * 1000)
    longest_ms = max(shortest_ms, min(LONGEST_DRAWN_MS, period_ms // 2))
    on_s, off_s = (rng.randint(shortest_ms, longest_ms) / 1000 for _ in range(2))
    return PulsesStep(
        name=head.name, start=head.start, hold_s=head.hold_s, target=node, on_s=on_s, off_s=off_s
    )


PULSES = FaultKind(
    step=PulsesStep,
    make=Pulses,
    shortest_hold_s=PulsesStep.shortest_hold_s(),
    storm=StormRule(draw=_draw, weight=2, by_default=False),
    does="the node's processes are stopped in place for `on`, go on for `off`, and so in turn (each 100ms "
    "to 10s)",
    effect="in two pulses in a row the container is paused and its CPU time stands still, which rises "
    "between them",
    healing="they go on",
    recovery="the node answers",
)
