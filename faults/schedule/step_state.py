"""How far one step has come: what its runner writes down, and what other steps wait for."""

from collections.abc import Collection, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field
from types import MappingProxyType

from faults.clock import ns
from faults.errors import NotInjected
from faults.kinds.fault.base import Fault, Outage, Outages
from faults.kinds.fault.evidence import Evidence, seconds
from faults.kinds.fault.node_holds import CutShort
from faults.kinds.fault.step import Step
from faults.schedule.record import FaultEvent, FaultRecord, Stage, as_json
from faults.schedule.resolve_targets import Ready, Vacant
from faults.targets.moments import Moment
from faults.targets.observed import Observed
from faults.tasks import Signal


def _moments() -> Mapping[Moment, Signal[int]]:
    return {"begin": Signal(), "end": Signal(), "recovered": Signal()}


@dataclass(slots=True, eq=False)
class StepState:
    """One step on its way through its stages. Times are -1 until they have come.

    `moments` come with their time. `failed`: the injection raised an error. `is_changing`: an injection or
    healing has begun and not ended. `preparing`: the preparation that goes on; `prepared`: what the last one
    found, at `prepared_ns`; `delayed`: why it was not injected when it was due; `postponed`: whose recovery
    made it due by `postponed_ns` later. `before`: for an event that it waits for, what was known just before
    the moment from which on that counts; `noticed_within_ns`: how long before it was noticed it came at most,
    -1: it waits for none, or in vain. `probe`: the last probe of the effect, which may go on; `probes`: how
    many have returned. `cut_short`: the nodes that other faults have taken from it, once it is healed;
    `given_up`: that it could not be. `final`: the record, once all that it was made from is let go.
    """

    index: int
    step: Step
    due_ns: int = -1
    inject_ns: int = -1
    begin_ns: int = -1
    effect_ns: int = -1
    end_ns: int = -1
    heal_ns: int = -1
    recovered_ns: int = -1
    over_ns: int = -1
    fault: Fault | None = None
    outages: Outages = field(default_factory=Outages)
    nodes: tuple[int, ...] = ()
    edges: tuple[str, ...] = ()
    preparing: "Future[Ready | Vacant] | None" = None
    prepared: Ready | Vacant | None = None
    prepared_ns: int = -1
    delayed: str = ""
    postponed: str = ""
    postponed_ns: int = 0
    before: Observed | None = None
    noticed_within_ns: int = -1
    effect: Mapping[str, object] = field(default_factory=dict)
    recovery: Mapping[str, object] = field(default_factory=dict)
    failed: bool = False
    reason: str = ""
    given_up: str = ""
    cut_short: tuple[CutShort, ...] = ()
    heal_attempts: int = 0
    is_changing: bool = False
    probe: Future[Evidence] | None = None
    probes: int = 0
    moments: Mapping[Moment, Signal[int]] = field(default_factory=_moments)
    final: FaultRecord | None = None

    @property
    def is_over(self) -> bool:
        """Whether nothing more happens in this step."""
        return self.over_ns >= 0

    def has_changed(self, nodes: Collection[int], since_ns: int) -> bool:
        """Whether it was injected or healed at `since_ns` or later, and has to do with one of the nodes; or
        has ended or started one then, as in a round of restarts."""
        last_ns = max(self.inject_ns, self.begin_ns, self.end_ns, self.heal_ns)
        if last_ns >= since_ns and not set(self.nodes).isdisjoint(nodes):
            return True
        return self.in_force and any(self.outages.has_changed(node, since_ns) for node in nodes)

    def is_ending(self, nodes: Collection[int]) -> bool:
        """Whether it is ending the process of one of the nodes, which may take a while."""
        return self.is_changing and any(map(self.outages.is_ending, nodes))

    @property
    def in_force(self) -> bool:
        """Whether it was injected, if only in part, and is not healed."""
        return self.inject_ns >= 0 and self.heal_ns < 0

    def let_go(self) -> None:
        """Nothing happens in this step any more: keep its record, and not all that its stages have needed.

        A night has thousands of steps.
        """
        self.final = self.record()
        self.fault = self.prepared = self.preparing = self.before = self.probe = None
        self.effect = self.recovery = MappingProxyType({})

    def give_up_moments(self, reason: str) -> None:
        """None of the moments that have not come ever comes: steps that wait for them are not injected."""
        for moment in self.moments.values():
            moment.never(NotInjected(f"{self.step.name}: {reason}"))

    def event(self, at_ns: int, stage: Stage, detail: str) -> FaultEvent:
        """What is reported of the step when it has reached a stage."""
        return FaultEvent(
            at_ns=at_ns,
            index=self.index,
            name=self.step.name,
            kind=self.step.kind,
            stage=stage,
            target=self.step.asked,
            nodes=self.nodes,
            edges=self.edges,
            detail=detail,
        )

    def record(self) -> FaultRecord:
        """The step as a row of the history."""
        if self.final is not None:
            return self.final
        evidence: dict[str, object] = {"effect": dict(self.effect), "recovery": dict(self.recovery)}
        if reasons := [reason for reason in (self.reason, self.given_up) if reason]:
            evidence["reason"] = "; ".join(reasons)
        if self.cut_short:
            evidence["cut_short"] = [
                {"node": lost.node, "by": lost.by, "after_s": seconds(lost.at_ns - self.begin_ns)}
                for lost in self.cut_short
            ]
        if self.inject_ns >= 0:
            evidence["late_s"] = seconds(self.inject_ns - self.due_ns)
        if self.noticed_within_ns >= 0:
            evidence["noticed_within_s"] = seconds(self.noticed_within_ns)
        if self.outages.waited_ns:
            evidence["waited_s"] = seconds(self.outages.waited_ns)
        if self.delayed:
            evidence["delayed"] = self.delayed
        if self.postponed:
            evidence["postponed"] = {"by_s": seconds(self.postponed_ns), "for": self.postponed}
        down: list[tuple[int, Outage]] = sorted(self.outages.down.items(), key=lambda each: each[0])
        return FaultRecord(
            index=self.index,
            name=self.step.name,
            kind=self.step.kind,
            target=self.step.asked,
            nodes=self.nodes,
            edges=self.edges,
            planned_begin_ns=self.due_ns,
            planned_end_ns=-1 if self.due_ns < 0 else self.due_ns + ns(self.step.hold_s),
            inject_ns=self.inject_ns,
            begin_ns=self.begin_ns,
            effect_ns=self.effect_ns,
            end_ns=self.end_ns,
            heal_ns=self.heal_ns,
            recovered_ns=self.recovered_ns,
            proven=self.effect_ns >= 0,
            recovered=self.recovered_ns >= 0,
            down=tuple(node for node, _ in down),
            down_ns=tuple(outage.down_ns for _, outage in down),
            up_ns=tuple(outage.up_ns for _, outage in down),
            data_lost=tuple(sorted(self.outages.data_lost)),
            unclean=tuple(sorted(self.outages.unclean)),
            replicas=tuple(
                f"{node}/{topic}-{partition}" for node, topic, partition in sorted(self.outages.replicas)
            ),
            evidence=as_json(evidence),
            logs=tuple(self.outages.logs),
        )
