"""What a schedule leaves behind: one record a step, and the events on the way.

The columns of a record are those of the history's table `faults`.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Literal

from faults.kinds.fault.base import MeasuredLog

Stage = Literal[
    "waiting",
    "injected",
    "effect",
    "unproven",
    "healed",
    "heal-failed",
    "recovered",
    "not-recovered",
    "skipped",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class FaultRecord:
    """One step as it went; times are the clock's nanoseconds, -1: did not happen.

    Planned and realised stand side by side: the injection was planned for `planned_begin_ns`, was begun at
    `inject_ns` and done at `begin_ns`; the hold was planned to end at `planned_end_ns`, ended at `end_ns`,
    and the fault was healed at `heal_ns`. `effect_ns` is when the effect was first true, which may be earlier
    than when it was proven; `target` is what the plan asked for, `nodes` and `edges` what that meant;
    `replicas` are those of its nodes that it concerns, as "1/orders-0", if not all. `down` lists the nodes
    whose process the fault ended, with the times at which each had ended and was started again. `evidence` is
    JSON: what the probes found under "effect" and "recovery", or why there is none under "reason". `logs` is
    no column of the table: what the nodes held while they were down is recorded beside the other log ends.
    """

    index: int
    name: str
    kind: str
    target: str
    nodes: tuple[int, ...] = ()
    edges: tuple[str, ...] = ()
    planned_begin_ns: int = -1
    planned_end_ns: int = -1
    inject_ns: int = -1
    begin_ns: int = -1
    effect_ns: int = -1
    end_ns: int = -1
    heal_ns: int = -1
    recovered_ns: int = -1
    proven: bool = False
    recovered: bool = False
    down: tuple[int, ...] = ()
    down_ns: tuple[int, ...] = ()
    up_ns: tuple[int, ...] = ()
    data_lost: tuple[int, ...] = ()
    unclean: tuple[int, ...] = ()
    replicas: tuple[str, ...] = ()
    evidence: str = "{}"
    logs: tuple[MeasuredLog, ...] = ()

    def row(self) -> dict[str, object]:
        """The record by column, with lists where the table has lists."""
        columns = {key: value for key, value in asdict(self).items() if key != "logs"}
        return {key: list(value) if isinstance(value, tuple) else value for key, value in columns.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class FaultEvent:
    """A step has reached a stage; `target` is what the plan asked for, `detail` one line for people."""

    at_ns: int
    index: int
    name: str
    kind: str
    stage: Stage
    target: str = ""
    nodes: tuple[int, ...] = ()
    edges: tuple[str, ...] = ()
    detail: str = ""


def as_json(evidence: Mapping[str, object]) -> str:
    """Evidence as one line of JSON, keys sorted."""
    return json.dumps(evidence, sort_keys=True)


@dataclass(slots=True)
class Reporter:
    """Passes events, and what is known of a fault at each of them, to the caller of the schedule.

    Its errors are raised, except while everything is being healed: then they are kept in `errors`.
    """

    on_event: Callable[[FaultEvent], None]
    on_record: Callable[[FaultRecord], None]
    keeps_errors: bool = False
    errors: list[Exception] = field(default_factory=list)

    def report(self, event: FaultEvent, record: FaultRecord) -> None:
        """Call both."""
        try:
            self.on_record(record)
            self.on_event(event)
        except Exception as error:
            if not self.keeps_errors:
                raise
            self.errors.append(error)
