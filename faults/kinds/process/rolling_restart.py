"""Rolling restart: every targeted broker is ended and started again, one after the other.

The patient form waits before the next broker until the one before serves and every partition has its full
ISR, as operators do it. The impatient one waits `pause` after a start, and so takes a broker down while the
one before still catches up. Either ends when all have registered.
Effect: each process has ended as asked, and the next one has registered under a greater broker epoch.
Recovery: the nodes answer; the ISR is what it was.

All of it is the injection: the step begins when the last broker is back, and its hold may be 0s.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import ClassVar, Literal, Self, get_args

from compose.errors import ComposeError, NodeNotReady
from faults.choices import parse_choice
from faults.clock import ns
from faults.durations import parse_duration, write_duration
from faults.errors import BadStep
from faults.kinds.base import Injection, alive
from faults.kinds.evidence import Evidence, NotYet, Proven, by_name, seconds
from faults.kinds.kind import Cost, FaultKind, Takes
from faults.kinds.outage import (
    SIGKILLED,
    STOPPED,
    bring_back,
    bring_back_ended,
    close_edges,
    close_edges_behind,
    kill,
    stop_or_kill,
)
from faults.kinds.recovery import answering, not_serving, under_replicated
from faults.kinds.step import Head, TargetStep, Words
from faults.targets.facts import Facts
from faults.targets.target import parse_target
from faults.tasks import Task, as_job, in_background, sleep_until

How = Literal["stop", "kill"]
HOWS: tuple[How, ...] = get_args(How)

PATIENCE_S = 60.0
"""Restart to full ISR took 3 to 6.4 s, once 13 s."""

AGAIN_NS = ns(0.25)

ASKED_S = 2.0
"""What a question to all brokers takes, one of which has just begun to serve."""


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
class RollingRestart:
    """Restarts the injection's nodes, by ascending id."""

    injection: Injection[RollingRestartStep]
    _nodes: tuple[int, ...] = ()
    _epochs: dict[int, int] = field(default_factory=dict)
    _codes: dict[int, int | None] = field(default_factory=dict)
    _took_ns: int = 0

    def prepare(self) -> None:
        """Only running brokers can be restarted."""
        self._nodes = alive(self.injection, what="restart")

    def inject(self) -> Task[None]:
        """Restart one after the other; if the schedule is broken off, no further one."""
        began_ns = self.injection.clock.now_ns()
        for node in self._nodes:
            if node != self._nodes[0]:
                yield from self._wait(ns(self.injection.step.pause_s))
            if self.injection.broken_off.is_set():
                return
            yield from self._restart(node)
            if self.injection.step.patient:
                yield from self._until(node, self._not_well)
        for node in self._nodes:
            yield from self._until(node, self._not_registered)
        self._took_ns = self.injection.clock.now_ns() - began_ns

    def _restart(self, node: int) -> Task[None]:
        """As `kill` and `stop` do it, and back at once."""
        yield from in_background(partial(self._note_epoch, node))
        if self.injection.step.how == "kill":
            yield from in_background(partial(self._kill, node))
        else:
            yield from stop_or_kill(self.injection, node)
            yield from close_edges_behind(self.injection, node)
        yield from in_background(partial(self._start, node))

    def _note_epoch(self, node: int) -> None:
        self._epochs[node] = self.injection.cluster.broker_epoch(node)

    def _kill(self, node: int) -> None:
        with self.injection.holds.changing((node,)):
            close_edges(self.injection, node)
            kill(self.injection, node)

    def _start(self, node: int) -> None:
        self._codes[node] = self.injection.cluster.state(node).exit_code
        bring_back(self.injection, (node,))

    def _until(self, node: int, lacking: Callable[[int], str]) -> Task[None]:
        """Wait until nothing is lacking; NodeNotReady after PATIENCE_S, with what still is."""
        clock = self.injection.clock
        by_ns = clock.now_ns() + ns(PATIENCE_S)
        while found := (yield from self._asked(lacking, node)):
            if self.injection.broken_off.is_set():
                return
            if clock.now_ns() >= by_ns:
                raise NodeNotReady(f"{PATIENCE_S:g} s after the restart of node {node}: {found}")
            yield from self._wait(AGAIN_NS)

    def _asked(self, lacking: Callable[[int], str], node: int) -> Task[str]:
        began_ns = self.injection.clock.now_ns()
        found = yield from in_background(partial(_or_error, lacking, node))
        self.injection.outages.waited(self.injection.clock.now_ns() - began_ns, at_most_s=ASKED_S)
        return found

    def _wait(self, for_ns: int) -> Task[None]:
        self.injection.outages.waited_ns += for_ns
        yield from sleep_until(self.injection.clock.now_ns() + for_ns)

    def _not_well(self, node: int) -> str:
        return not_serving(self.injection, (node,)) or under_replicated(self.injection.view)

    def _not_registered(self, node: int) -> str:
        epoch = self.injection.cluster.broker_epoch(node)
        return "" if epoch > self._epochs[node] else f"its broker epoch is {epoch}, was {self._epochs[node]}"

    def effect(self) -> Evidence:
        """Did each end as asked, and register anew?"""
        allowed = (SIGKILLED,) if self.injection.step.how == "kill" else STOPPED
        codes = {node: self._codes.get(node) for node in self._nodes}
        if any(code not in allowed for code in codes.values()):
            return NotYet(instead=f"exit codes: {by_name(codes)}")
        epochs = {node: self.injection.cluster.broker_epoch(node) for node in self._nodes}
        if any(epochs[node] <= self._epochs[node] for node in self._nodes):
            return NotYet(instead=f"broker epochs: {by_name(epochs)}, before: {by_name(self._epochs)}")
        values = {
            "exit_codes": by_name(codes),
            "broker_epochs_before": by_name(self._epochs),
            "broker_epochs": by_name(epochs),
            "took_s": seconds(self._took_ns),
        }
        return Proven(since_ns=self.injection.clock.now_ns(), values=values)

    @as_job
    def heal(self) -> None:
        """Start what is still down, and open the edges to all: nothing to do after a whole round."""
        bring_back_ended(self.injection, self._nodes)

    def recovery(self) -> Evidence:
        """Are all back?"""
        return answering(self.injection, self._nodes)


def _or_error(lacking: Callable[[int], str], node: int) -> str:
    """What is lacking; if that cannot be asked, the reason."""
    try:
        return lacking(node)
    except ComposeError as error:
        return str(error)


ROLLING_RESTART = FaultKind(
    step=RollingRestartStep,
    make=RollingRestart,
    takes=Takes(inject_s=3.5, heal_s=2.5, waits=True),
    cost=Cost(ends_process=True),
    does="every broker of the target is restarted, one after the other: `how: stop` (SIGTERM) or `how: kill` "
    "(SIGKILL, unclean shutdowns). `patient: true` waits for the full ISR of all partitions before the next, "
    "up to 60 s; `patient: false` only for `pause` (0s)",
    effect="each process ended with the exit code of its signal, and the next one registered under a greater "
    "broker epoch",
    healing="start what is down; nothing after a whole round",
    recovery="the nodes answer",
)
