"""A plan of faults as plain data: what `parse` reads, `validate` checks and `scheduler` runs.

A step *begins* when its injection is done and the fault is in force, *ends* when it is healed, and is
*recovered* when that is proven (or its deadline has passed). The hold counts from the begin.
"""

from dataclasses import dataclass
from typing import Literal

from compose.protocols import CutMode
from faults.plan.conditions import Condition
from faults.plan.edges import EdgeSet
from faults.plan.targets import Target

FaultKind = Literal["partition", "pause", "kill", "stop", "disk-stall", "power-loss"]
Moment = Literal["begin", "end", "recovered"]


@dataclass(frozen=True, slots=True, kw_only=True)
class At:
    """At a time: seconds after the start of the schedule, which is when the workload is warm."""

    offset_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class After:
    """After a moment of an earlier step, which `anchor` names."""

    anchor: str
    moment: Moment
    delay_s: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class When:
    """On an event, awaited from just before the step before is injected until `within_s` after its begin.

    The first step of a plan waits from the start of the schedule. If the event does not come, the step is
    recorded as not injected.
    """

    condition: Condition
    within_s: float


Start = At | After | When


@dataclass(frozen=True, slots=True, kw_only=True)
class FaultStep:
    """One fault of a plan. `edges` and `mode` belong to partitions, `target` to all others."""

    name: str
    kind: FaultKind
    start: Start
    hold_s: float
    target: Target | None = None
    edges: EdgeSet | None = None
    mode: CutMode = "refuse"

    @property
    def asked(self) -> str:
        """What the step is to hit, in the plan's words: the target or the edges."""
        return str(self.edges if self.target is None else self.target)
