"""What the rounds have in common that take one node after the other: each ends, is started again, and may
have to be well before the next one goes.

All of it is the injection: the step begins when the last node is back, and its hold may be 0s. A node that
another fault has ended when its turn comes is not this round's to start: it is waited for as for a vacant
role, and then the round breaks off.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Generic, TypeVar

from compose.errors import ComposeError, NodeNotReady, NodeStateError
from faults.clock import ns
from faults.kinds.fault.base import VACANT_S, Injection, unfit
from faults.kinds.fault.evidence import Evidence
from faults.kinds.fault.step import TargetStep
from faults.kinds.shared.outage import bring_back
from faults.kinds.shared.recovery import answering
from faults.tasks import Task, as_job, in_background, sleep_until

TargetStepT = TypeVar("TargetStepT", bound=TargetStep)

PATIENCE_S = 60.0
"""Restart to full ISR took 3 to 6.4 s, once 13 s."""

AGAIN_NS = ns(0.25)

ASKED_S = 2.0
"""What a question to all brokers takes, one of which has just begun to serve."""


@dataclass(slots=True)
class Roll(ABC, Generic[TargetStepT]):
    """Takes `nodes` in their order. `codes`: the exit code of each that has ended."""

    injection: Injection[TargetStepT]
    nodes: tuple[int, ...] = ()
    codes: dict[int, int | None] = field(default_factory=dict)
    took_ns: int = 0

    @abstractmethod
    def prepare(self) -> None:
        """Which nodes, in which order."""

    @abstractmethod
    def note(self, node: int) -> None:
        """Read what is compared later, while the node still runs."""

    @abstractmethod
    def end(self, node: int) -> Task[None]:
        """End the node's process; its edges are closed then."""

    @abstractmethod
    def lacking(self, node: int) -> str:
        """What keeps the next node from its turn; "" if nothing does."""

    @abstractmethod
    def not_new(self, node: int) -> str:
        """What does not show yet that the node's process is a new one; "" if all does."""

    @abstractmethod
    def effect(self) -> Evidence:
        """One short probe: has each been ended and started again as asked?"""

    @property
    def pause_s(self) -> float:
        """From when one may be followed by the next until it is."""
        return 0.0

    def before_start(self, node: int) -> None:
        """What is done to a node that is down."""

    def inject(self) -> Task[None]:
        """One after the other; if the schedule is broken off, no further one."""
        clock = self.injection.clock
        began_ns = clock.now_ns()
        for node in self.nodes:
            if node != self.nodes[0]:
                yield from self._wait(ns(self.pause_s))
            yield from self._turn(node)
            if self.injection.broken_off.is_set():
                return
            yield from in_background(partial(self.note, node))
            yield from self.end(node)
            yield from in_background(partial(self._start, node))
            yield from self._until(node, self.lacking)
        for node in self.nodes:
            yield from self._until(node, self.not_new)
        self.took_ns = clock.now_ns() - began_ns

    def _turn(self, node: int) -> Task[None]:
        """Wait until the node runs and no other fault is ending it; NodeStateError after VACANT_S."""
        clock = self.injection.clock
        by_ns = clock.now_ns() + ns(VACANT_S)
        while found := (yield from in_background(partial(unfit, self.injection, node))):
            if self.injection.broken_off.is_set():
                return
            if clock.now_ns() >= by_ns:
                raise NodeStateError(f"the turn of node {node} has come, and {found}, for {VACANT_S:g} s")
            yield from self._wait(AGAIN_NS)

    def _start(self, node: int) -> None:
        self.codes[node] = self.injection.cluster.state(node).exit_code
        self.before_start(node)
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

    @as_job
    def heal(self) -> None:
        """Start what it has ended and is still down, and open the edges to all: nothing to do after a whole
        round."""
        bring_back(self.injection, self.nodes)

    def recovery(self) -> Evidence:
        """Are all back?"""
        return answering(self.injection, self.nodes)


def _or_error(lacking: Callable[[int], str], node: int) -> str:
    """What is lacking; if that cannot be asked, the reason."""
    try:
        return lacking(node)
    except ComposeError as error:
        return str(error)
