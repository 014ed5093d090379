"""How far one step has come: what the scheduler writes down while it runs a plan."""

from collections.abc import Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field

from faults.kinds.base import Fault, seconds
from faults.kinds.evidence import Finding
from faults.plan.steps import FaultStep, Moment
from faults.schedule.record import FaultRecord, as_json


@dataclass(slots=True)
class Course:
    """One step's way through its stages. Times are -1 until they have come; `failed`: in its injection."""

    index: int
    step: FaultStep
    due_ns: int = -1
    inject_ns: int = -1
    begin_ns: int = -1
    effect_ns: int = -1
    heal_ns: int = -1
    recovered_ns: int = -1
    over_ns: int = -1
    fault: Fault | None = None
    nodes: tuple[int, ...] = ()
    edges: tuple[str, ...] = ()
    effect: Mapping[str, object] = field(default_factory=dict)
    recovery: Mapping[str, object] = field(default_factory=dict)
    failed: bool = False
    reason: str = ""
    heal_attempts: int = 0
    looking: Future[Finding] | None = None

    @property
    def is_over(self) -> bool:
        """Whether nothing more will come of this step."""
        return self.over_ns >= 0

    @property
    def in_force(self) -> bool:
        """Whether it was injected, if only in part, and is not healed."""
        return self.inject_ns >= 0 and self.heal_ns < 0

    def moment_ns(self, moment: Moment) -> int:
        """When the step began, ended or was through with its recovery; -1: not yet."""
        return {"begin": self.begin_ns, "end": self.heal_ns, "recovered": self.over_ns}[moment]

    def record(self) -> FaultRecord:
        """The step as a row of the history."""
        toll = self.fault.toll if self.fault else None
        evidence: dict[str, object] = {"effect": dict(self.effect), "recovery": dict(self.recovery)}
        if self.reason:
            evidence["reason"] = self.reason
        if self.inject_ns >= 0:
            evidence["late_s"] = seconds(self.inject_ns - self.due_ns)
        return FaultRecord(
            index=self.index,
            name=self.step.name,
            kind=self.step.kind,
            target=self.step.asked,
            nodes=self.nodes,
            edges=self.edges,
            inject_ns=self.inject_ns,
            effect_ns=self.effect_ns,
            heal_ns=self.heal_ns,
            recovered_ns=self.recovered_ns,
            proven=self.effect_ns >= 0,
            recovered=self.recovered_ns >= 0,
            data_lost=tuple(sorted(toll.data_lost)) if toll else (),
            unclean=tuple(sorted(toll.unclean)) if toll else (),
            evidence=as_json(evidence),
        )
