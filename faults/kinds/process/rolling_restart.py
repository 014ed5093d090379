"""Rolling restart: every targeted broker is ended and started again, one after the other.

The patient form waits before the next broker until the one before serves and every partition has its full
ISR, as operators do it. The impatient one waits `pause` after a start, and so takes a broker down while the
one before still catches up. Either ends when all have registered.
Effect: each process has ended as asked, and the next one has registered under a greater broker epoch.
Recovery: the nodes answer; the ISR is what it was.
"""

from dataclasses import dataclass, field
from functools import partial
from typing import ClassVar, Literal, Self, get_args

from faults.choices import parse_choice
from faults.durations import parse_duration, write_duration
from faults.errors import BadStep
from faults.kinds.fault.base import all_alive, check_fit
from faults.kinds.fault.evidence import Evidence, NotYet, Proven, by_name, seconds
from faults.kinds.fault.kind import Cost, FaultKind, Takes
from faults.kinds.fault.step import Head, TargetStep, Words
from faults.kinds.process.roll import Roll
from faults.kinds.shared.outage import SIGKILLED, STOPPED, close_edges, close_edges_behind, kill, stop_or_kill
from faults.kinds.shared.recovery import not_serving, under_replicated
from faults.targets.facts import Facts
from faults.targets.target import parse_target
from faults.tasks import Task, in_background

How = Literal["stop", "kill"]
HOWS: tuple[How, ...] = get_args(How)


@dataclass(frozen=True, slots=True, kw_only=True)
class RollingRestartStep(TargetStep):
    """Restart brokers in turn. `pause_s`: from when one may be followed by the next until it is."""

    kind: ClassVar[str] = "rolling-restart"
    keys: ClassVar[tuple[str, ...]] = (*TargetStep.keys, "how", "patient", "pause")
    how: How = "stop"
    patient: bool = True
    pause_s: float = 0.0

    @classmethod
    def parse(cls, head: Head, words: Words) -> Self:
        """Read the target, how each broker ends, and what is waited for."""
        return cls(
            name=head.name,
            start=head.start,
            hold_s=head.hold_s,
            target=parse_target(words.get("target")),
            how=parse_choice(words.get("how", "stop"), "how", HOWS),
            patient=_parse_bool(words.get("patient", True)),
            pause_s=parse_duration(words.get("pause", "0s"), "pause"),
        )

    def write(self) -> dict[str, str]:
        """Target and manner."""
        patient, pause = str(self.patient).lower(), write_duration(self.pause_s)
        return TargetStep.write(self) | {"how": self.how, "patient": patient, "pause": pause}

    def pauses_s(self, nodes: int) -> float:
        """Before each node but the first."""
        return self.pause_s * max(0, nodes - 1)

    def check(self, facts: Facts) -> None:
        """Only brokers have a broker epoch, by which a restart is proven."""
        TargetStep.check(self, facts)
        if not set(self.candidates(facts.brokers, facts.controllers)) <= set(facts.brokers):
            allowed = "brokers: the restart of a controller has no broker epoch to prove it"
            raise BadStep("target", str(self.target), allowed)


def _parse_bool(value: object) -> bool:
    match value:
        case True | "true":
            return True
        case False | "false":
            return False
    raise BadStep("patient", value, "true or false")


@dataclass(slots=True)
class RollingRestart(Roll[RollingRestartStep]):
    """Restarts the injection's nodes, by ascending id."""

    _epochs: dict[int, int] = field(default_factory=dict)

    @property
    def pause_s(self) -> float:
        """As the step says."""
        return self.injection.step.pause_s

    def prepare(self) -> None:
        """Only running brokers can be restarted."""
        self.nodes = all_alive(self.injection, what="restart")

    def note(self, node: int) -> None:
        """Its broker epoch."""
        self._epochs[node] = self.injection.cluster.broker_epoch(node)

    def end(self, node: int) -> Task[None]:
        """As `kill` and `stop` do it."""
        if self.injection.step.how == "kill":
            yield from in_background(partial(self._kill, node))
        else:
            yield from stop_or_kill(self.injection, node)
            yield from close_edges_behind(self.injection, node)

    def _kill(self, node: int) -> None:
        with self.injection.holds.changing((node,)):
            check_fit(self.injection, node)
            close_edges(self.injection, node)
            kill(self.injection, node)

    def lacking(self, node: int) -> str:
        """A patient one waits until the node serves and every ISR is full."""
        if not self.injection.step.patient:
            return ""
        return not_serving(self.injection, (node,)) or under_replicated(self.injection.view)

    def not_new(self, node: int) -> str:
        """It has registered under a greater broker epoch."""
        epoch = self.injection.cluster.broker_epoch(node)
        return "" if epoch > self._epochs[node] else f"its broker epoch is {epoch}, was {self._epochs[node]}"

    def effect(self) -> Evidence:
        """Did each end as asked, and register anew?"""
        allowed = (SIGKILLED,) if self.injection.step.how == "kill" else STOPPED
        codes = {node: self.codes.get(node) for node in self.nodes}
        if any(code not in allowed for code in codes.values()):
            return NotYet(instead=f"exit codes: {by_name(codes)}")
        epochs = {node: self.injection.cluster.broker_epoch(node) for node in self.nodes}
        if any(epochs[node] <= self._epochs[node] for node in self.nodes):
            return NotYet(instead=f"broker epochs: {by_name(epochs)}, before: {by_name(self._epochs)}")
        values = {
            "exit_codes": by_name(codes),
            "broker_epochs_before": by_name(self._epochs),
            "broker_epochs": by_name(epochs),
            "took_s": seconds(self.took_ns),
        }
        return Proven(since_ns=self.injection.clock.now_ns(), values=values)


def _cost(step: RollingRestartStep) -> Cost:
    return Cost(ends_process=True, unclean=step.how == "kill")


ROLLING_RESTART = FaultKind(
    step=RollingRestartStep,
    make=RollingRestart,
    takes=Takes(inject_s=3.5, heal_s=2.5, waits=True),
    cost=Cost(ends_process=True, unclean=True),
    cost_of_step=_cost,
    costs="a controlled shutdown, with `how: kill` an unclean one",
    does="every broker of the target is restarted, one after the other: `how: stop` (SIGTERM) or `how: kill` "
    "(SIGKILL, unclean shutdowns). `patient: true` waits for the full ISR of all partitions before the next, "
    "up to 60 s; `patient: false` only for `pause` (0s)",
    effect="each process ended with the exit code of its signal, and the next one registered under a greater "
    "broker epoch",
    healing="start what it has ended and is down; nothing after a whole round",
    recovery="the nodes answer",
)
