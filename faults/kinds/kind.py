"""The record of a fault kind: all that the plan, the schedule, a storm and the documentation know of it."""

from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Generic

from faults.kinds.base import Fault, Injection, StepT
from faults.kinds.evidence import Counter
from faults.kinds.step import Head, Step, TargetStep
from faults.targets.draw import draw_node
from faults.targets.facts import Facts

Shape = Callable[[Random, Head, Facts], Step]
"""Draws the target of one step, and makes the step."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StormRule:
    """How a storm draws a kind: the shapes that must occur in it, and a draw among all shapes."""

    musts: tuple[Shape, ...]
    draw: Callable[[Random], Shape]


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """What a fault of this kind can cost a node that it hits.

    `may_end_node`: it does not end the process, but Kafka may halt by itself because of it, as where a log
    directory fails; such an end is no finding while the fault is in force.
    """

    ends_process: bool = False
    unclean: bool = False
    loses_unsynced_data: bool = False
    may_end_node: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class FaultKind(Generic[StepT]):
    """One kind of fault.

    `counter` proves its effect, if a counter does; `shortest_hold_s` is how long it must hold to be proven.
    `storm` is None if no storm may draw it. `does`, `effect`, `healing` and `recovery` are the sentences of
    docs/faults.md, in Markdown.
    """

    step: type[StepT]
    make: Callable[[Injection[StepT]], Fault]
    counter: Counter | None = None
    shortest_hold_s: float = 0.0
    storm: StormRule | None = None
    cost: Cost = Cost()
    does: str
    effect: str
    healing: str
    recovery: str

    @property
    def name(self) -> str:
        """As written after `do:`."""
        return self.step.kind


def one_node(step: type[TargetStep], *, brokers_only: bool = False) -> StormRule:
    """A storm hits one drawn node with it at a time."""

    def shape(rng: Random, head: Head, facts: Facts) -> Step:
        target = draw_node(rng, facts, brokers_only=brokers_only)
        return step(name=head.name, start=head.start, hold_s=head.hold_s, target=target)

    return StormRule(musts=(shape,), draw=lambda _: shape)
