"""The record of a fault kind: all that the plan, the schedule, a storm and the documentation know of it."""

from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Generic

from faults.durations import write_duration
from faults.kinds.fault.base import Fault, Injection, StepT
from faults.kinds.fault.evidence import Counter
from faults.kinds.fault.step import Head, Step, TargetStep
from faults.targets.facts import Facts
from faults.targets.target import Target

Draw = Callable[[Random, Head, Target, Facts], Step]
"""Draws one step against a node, which the target names by id or by role."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StormRule:
    """How a storm draws a kind, and how often: `weight` is that of the kind among all of its storm.

    `brokers_only`: nothing of the kind can be proven on a node that is only a controller. `leaves_open`: what
    it hits answers all the same, so another fault can be proven there meanwhile. `needs_peers`: it cannot be
    proven on a node whose own connections are shut. `by_default`: also where a storm does not name the kind.
    """

    draw: Draw
    weight: int
    brokers_only: bool = False
    leaves_open: bool = False
    needs_peers: bool = False
    by_default: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """What a fault of this kind can cost a node that it hits.

    `may_end_node`: it does not end the process, but Kafka may halt by itself because of it, as where a log
    directory fails; such an end is no finding while the fault is in force. `changes_settings`: of brokers or
    of the cluster, which its disks keep. `upsets_timers`: of the node's process, for longer than it holds.
    """

    ends_process: bool = False
    unclean: bool = False
    loses_unsynced_data: bool = False
    loses_all_data: bool = False
    may_end_node: bool = False
    changes_settings: bool = False
    upsets_timers: bool = False

    @property
    def spoils_cluster(self) -> bool:
        """Whether no other run may get the cluster, healed or not."""
        return self.changes_settings or self.upsets_timers

    @property
    def loses_data(self) -> bool:
        """Whether a node's log can be shorter after it."""
        return self.loses_unsynced_data or self.loses_all_data


@dataclass(frozen=True, slots=True, kw_only=True)
class Takes:
    """What an injection and a healing of this kind need at most, in seconds, on a busy machine.

    For each node that is hit; of a fault of edges or of the cluster, in all. What takes longer was held up,
    as by an engine that stood still, and the run is not the one that was planned. `waits`: the injection also
    waits for what Kafka does in its own time, as a shutdown; how long is in the record (`Outages.waited_ns`).
    """

    inject_s: float = 1.5
    heal_s: float = 1.5
    waits: bool = False

    @property
    def in_words(self) -> str:
        """ "2s, 2.5s", or "2s and its wait, 2.5s"."""
        wait = " and its wait" if self.waits else ""
        return f"{write_duration(self.inject_s)}{wait}, {write_duration(self.heal_s)}"


BY_CONTROLLERS = Takes(inject_s=6.0, heal_s=6.0)
"""Of a change that the controllers are asked for: it waits while they elect one of themselves."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FaultKind(Generic[StepT]):
    """One kind of fault.

    `counter` proves its effect, if a counter does; `shortest_hold_s` is how long it must hold to be proven;
    `prepares_s` what its preparation takes on a busy machine, where that is more than other kinds need;
    `takes` what its changes take.
    `storm` is None if no storm may draw it. `cost` is the most that a step of the kind costs, `cost_of_step`
    what a certain one does, if that depends on the step, and `costs` is that in words. `does`, `effect`,
    `healing` and `recovery` are the sentences of docs/faults.md, in Markdown.
    """

    step: type[StepT]
    make: Callable[[Injection[StepT]], Fault]
    counter: Counter | None = None
    shortest_hold_s: float = 0.0
    prepares_s: float = 0.0
    takes: Takes = Takes()
    storm: StormRule | None = None
    cost: Cost = Cost()
    cost_of_step: Callable[[StepT], Cost] | None = None
    costs: str = ""
    does: str
    effect: str
    healing: str
    recovery: str

    @property
    def name(self) -> str:
        """As written after `do:`."""
        return self.step.kind

    def cost_of(self, step: StepT) -> Cost:
        """What a step of this kind can cost a node that it hits."""
        return self.cost if self.cost_of_step is None else self.cost_of_step(step)


def one_node(
    step: type[TargetStep],
    *,
    weight: int,
    brokers_only: bool = False,
    needs_peers: bool = False,
    by_default: bool = True,
) -> StormRule:
    """A storm hits one node with it at a time."""

    def draw(rng: Random, head: Head, node: Target, facts: Facts) -> Step:
        return step(name=head.name, start=head.start, hold_s=head.hold_s, target=node)

    return StormRule(
        draw=draw,
        weight=weight,
        brokers_only=brokers_only,
        needs_peers=needs_peers,
        by_default=by_default,
    )
