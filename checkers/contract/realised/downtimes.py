"""When the process of each node did not run, and when a log directory of it could not be served.

Invariant: a process is taken for gone from when something shows that it had ended, until it was started
again.
Evidence: the faults, with the times at which each node's process ended and was started; the watch of the
nodes, for what nobody planned.
Counterexample to "its process had ended when the fault was injected":
    a rolling restart is injected at 10 s; broker 3 is its third node, and runs until 31 s
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from checkers.history.rows import LOG_DIR_FAILURE, Context, Fault
from checkers.history.tables import NONE

SECOND_NS = 1_000_000_000
NEVER_NS = 1 << 62
HALTED = 1
"""The exit code with which Kafka ends itself."""


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Downtime:
    """A node's process did not run from `down_ns` until `up_ns` (NEVER_NS: to the end)."""

    down_ns: int
    up_ns: int = NEVER_NS


def downtimes(context: Context) -> Mapping[int, Sequence[Downtime]]:
    """When each node's process did not run, by time: ended by a fault, or by what nobody planned."""
    found: dict[int, list[Downtime]] = defaultdict(list)
    for fault in context.faults:
        for node, down_ns, up_ns in zip(fault.down, fault.down_ns, fault.up_ns, strict=True):
            ended_ns = down_ns if down_ns != NONE else max(fault.inject_ns, fault.effect_ns)
            found[node].append(Downtime(down_ns=ended_ns, up_ns=up_ns if up_ns != NONE else NEVER_NS))
    for event in context.node_events:
        if event.event == "exited" and not event.planned:
            found[event.node].append(Downtime(down_ns=event.at_ns))
    started = _starts(context)
    for node, times in found.items():
        found[node] = sorted(_until_started(each, started.get(node, ())) for each in times)
    return found


def unplanned_ends(context: Context) -> Iterator[tuple[int, Downtime]]:
    """When a node's process ended though no fault of the schedule held it down then, each with the node."""
    started = _starts(context)
    for event in context.node_events:
        if event.event != "exited" or event.planned:
            continue
        held = (
            fault.inject_ns <= event.at_ns and (up_ns == NONE or event.at_ns <= up_ns)
            for fault in context.faults
            for node, up_ns in zip(fault.down, fault.up_ns, strict=True)
            if node == event.node
        )
        if not any(held):
            yield event.node, _until_started(Downtime(down_ns=event.at_ns), started.get(event.node, ()))


def _starts(context: Context) -> Mapping[int, Sequence[int]]:
    """When each node's process was started, by time."""
    found: dict[int, list[int]] = defaultdict(list)
    for event in sorted(context.node_events, key=lambda event: event.at_ns):
        if event.event == "started":
            found[event.node].append(event.at_ns)
    return found


def ended_after_ns(context: Context, fault: Fault, node: int, down: Downtime) -> int:
    """Since when a node's process may have ended.

    A fault that restarts its nodes in turn ends none before it has started the one before; others start none
    before all have ended. A process that halted by itself ran until the watch saw its end, one that went on
    without a log directory until the hold was over.
    """
    held = (fault.end_ns,) if fault.takes_log_dir else ()
    earlier = (up_ns for up_ns in fault.up_ns if NONE != up_ns <= down.down_ns)
    halted = (
        event.at_ns - SECOND_NS
        for event in context.node_events
        if (event.node, event.fault, event.event) == (node, fault.name, "exited")
        and event.exit_code == HALTED
    )
    return int(max((fault.inject_ns, *held, *earlier, *halted)))


def without_directory(context: Context, fault: Fault, node: int) -> Downtime:
    """When a node that had lost a log directory to a fault could not serve what lay there: no write succeeds
    once its file system is cut off, the last one may until it is offline where it is full. A process that
    starts has it again, whoever started it."""
    down_ns = max(fault.inject_ns, fault.begin_ns)
    if fault.kind != LOG_DIR_FAILURE:
        down_ns = max(down_ns, fault.effect_ns)
    starts = [
        up_ns for each, up_ns in zip(fault.down, fault.up_ns, strict=True) if each == node and up_ns != NONE
    ]
    starts += [
        event.at_ns
        for event in context.node_events
        if (event.node, event.event) == (node, "started") and event.at_ns > down_ns
    ]
    return Downtime(down_ns=down_ns, up_ns=min(starts, default=NEVER_NS))


def _until_started(each: Downtime, started: Sequence[int]) -> Downtime:
    """A node that was started again though nobody noted it with what ended it."""
    if each.up_ns != NEVER_NS:
        return each
    return Downtime(down_ns=each.down_ns, up_ns=next((at for at in started if at > each.down_ns), NEVER_NS))
