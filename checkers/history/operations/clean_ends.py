"""Which processes of a broker surely ended in order, so that the controllers hear of it when the next one
registers.

A broker that is stopped writes its broker epoch into each log directory, once it has loaded all logs; the
next process sends it with its registration (KIP-966, PreviousBrokerEpoch). One that ends otherwise leaves
none.

Invariant: an end is sure only if it is the only one between two registrations of the node, came after the
first of them was unfenced, which is after it had loaded its logs, was by SIGTERM, is of no fault that counts
it as unclean, and no fault had hit the node's disks by then.
Evidence: the watch of the nodes, the faults, the registrations in the metadata log, readings of the clocks.
Counterexample to "it was stopped by SIGTERM":
    broker 2 is killed, started, and stopped after 1 s: it still loads its logs, and leaves no mark
    it has registered by then, fenced: the exit code is 143, and the next registration tells of no clean end
"""

from collections.abc import Iterable
from typing import Protocol

from checkers.history.rows import LOG_DIR_FAILURE, BrokerState, Context, NodeEvent
from checkers.history.tables import NONE

SIGTERMED = 143
"""The exit code of a JVM that was asked to end, and has run its shutdown hooks."""
OF_DISKS = "disk-"
"""How the kinds of faults begin that hit a disk."""


class WallTime(Protocol):
    """The controllers' wall clock on the history's clock."""

    @property
    def slack_ns(self) -> int:
        """How far a time may be off."""

    def at(self, wall_ms: int) -> int:
        """A wall-clock time in milliseconds as nanoseconds of the history's clock."""


class CleanEnds:
    """The ends of all brokers' processes."""

    def __init__(self, context: Context, clock: WallTime | None) -> None:
        """Without a clock no end is sure."""
        self._context = context
        self._clock = None if context.unplaced else clock

    def surely(self, node: int, registrations: Iterable[BrokerState], anew: BrokerState) -> bool:
        """Whether the process of a node ended in order that was registered before `anew`, the first state of
        its new registration; `registrations` are all of the node's, in the order of the log."""
        before = [row for row in registrations if row.log_offset < anew.log_offset]
        its_own = [row for row in before if row.broker_epoch == before[-1].broker_epoch]
        if self._clock is None or not any(row.registered and not row.fenced for row in its_own):
            return False
        since_ns = self._clock.at(its_own[0].at_ms) - self._clock.slack_ns
        until_ns = self._clock.at(anew.at_ms) + self._clock.slack_ns
        ends = [
            event
            for event in self._context.node_events
            if event.node == node and event.event != "started" and since_ns <= event.at_ns <= until_ns
        ]
        return len(ends) == 1 and self._in_order(ends[0])

    def _in_order(self, end: NodeEvent) -> bool:
        hit = any(
            fault.kind.startswith(OF_DISKS) or fault.kind == LOG_DIR_FAILURE or end.node in fault.data_lost
            for fault in self._context.faults
            if end.node in fault.nodes and NONE != fault.inject_ns <= end.at_ns
        )
        counted = any(end.node in fault.unclean and fault.name == end.fault for fault in self._context.faults)
        return end.exit_code == SIGTERMED and not hit and not counted
