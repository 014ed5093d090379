"""What the end of a node's process means that no fault had planned.

Invariant: a process of the cluster ends and starts only because the harness does it.
Evidence: the node_events table: every start and end, observed all along; `planned` where the harness had
announced it, or a fault allowed it. An exit code above 128 is that of a signal: of SIGKILL or SIGTERM if
somebody, the engine or the kernel ended the process; of SIGSEGV, SIGBUS or SIGABRT if it crashed.
Counterexample to "the cluster was well, for all acknowledged records are there":
    no fault; broker 2 ends at 12 s with code 1: "Shutdown broker because all log dirs have failed"
    the others go on: nothing is lost, and still Kafka has failed
"""

import signal
from collections.abc import Iterator, Sequence
from types import MappingProxyType

from checkers.contract.realised.timeline import Clock
from checkers.history.rows import Fault, NodeEvent
from checkers.history.tables import NONE
from checkers.verdict.algebra import Reason, Verdict

SIGNALS_FROM_OUTSIDE = MappingProxyType(
    {128 + each: each.name for each in (signal.SIGHUP, signal.SIGINT, signal.SIGKILL, signal.SIGTERM)}
)
"""Exit codes that only another process, or the kernel short of memory, gives a process."""
SIGKILLED = 137
MOST_CHARACTERS = 160
"""Of each line of a log that a sentence repeats; the table has more."""


def reasons(events: Sequence[NodeEvent], faults: Sequence[Fault], clock: Clock) -> Iterator[Reason]:
    """One reason for each start or end that was not planned, in the order of time.

    What a process does of its own accord is Kafka's failure only as long as nobody has interfered: an end
    after a kill from outside, or after the proxy has died, may follow from that. So may an end of a node
    that a fault hit which could not be healed: its disk may be gone.
    """
    disturbed = False
    for event in sorted(events, key=lambda each: each.at_ns):
        if event.planned:
            continue
        verdict, text = verdict_of(event), sentence(event, at=f"at {clock.seconds(event.at_ns)}")
        if verdict is Verdict.FAIL and disturbed:
            verdict, text = Verdict.ERROR, f"{text} (after the cluster was disturbed from outside)"
        if verdict is Verdict.FAIL and (fault := _unhealed(event, faults)):
            verdict, text = Verdict.ERROR, f"{text} (fault {fault.name} hit it and could not be healed)"
        disturbed = disturbed or verdict is not Verdict.FAIL
        yield Reason(verdict, text)


def disturbed(events: Sequence[NodeEvent]) -> bool:
    """Whether anybody but the run and Kafka ended or started a process: what comes after may be due to it."""
    return any(not each.planned and verdict_of(each) is not Verdict.FAIL for each in events)


def _unhealed(event: NodeEvent, faults: Sequence[Fault]) -> Fault | None:
    """A fault of the event's node that was injected before it and never healed."""
    hit = (fault for fault in faults if event.node in fault.nodes and fault.heal_ns == NONE)
    return next((fault for fault in hit if NONE != fault.inject_ns <= event.at_ns), None)


def verdict_of(event: NodeEvent) -> Verdict:
    """What an event that was not planned amounts to by itself.

    An end without a known exit code shows that something happened, and not what: UNKNOWN.
    """
    if event.role == "proxy" or event.event != "exited" or event.exit_code in SIGNALS_FROM_OUTSIDE:
        return Verdict.ERROR
    return Verdict.UNKNOWN if event.exit_code == NONE else Verdict.FAIL


def sentence(event: NodeEvent, *, at: str) -> str:
    """What happened to which process, `at` which time, with which exit code, and why by its own log."""
    name = "the proxy" if event.role == "proxy" else f"node {event.node} ({event.role})"
    log = [line[:MOST_CHARACTERS] for line in event.detail.splitlines()]
    lines = f"; its last lines: {' | '.join(log)}" if log else ""
    code = f"exit code {event.exit_code}"
    if event.event == "started":
        return f"{name} was started {at}, and not by this run"
    if event.event == "oom-killed":
        return f"{name} was killed {at} because its memory ran out, {code}{lines}"
    if event.exit_code == NONE:
        return f"{name} ended {at}, nobody had planned it, and its exit code is not known{lines}"
    if name_of_signal := SIGNALS_FROM_OUTSIDE.get(event.exit_code):
        also = ", as the kernel does where memory is short" if event.exit_code == SIGKILLED else ""
        return f"{name} was ended from outside {at}: {name_of_signal}, {code}{also}{lines}"
    return f"{name} ended by itself {at} with {code}" + (f": {log[-1]}" if log else "")
