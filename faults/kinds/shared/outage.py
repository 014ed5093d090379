"""What the faults share that end a node's process and start it again.

A node that is down belongs to the fault that has ended it: no other one ends it too, or starts it.

The proxy in front of a dead node would still accept, and the connection would hang: clients resumed after 6
to 7 s that way, and after 0.75 s when every edge to the node was closed with it. So its incoming edges are
refused while it is down, and open when its process runs again.
"""

from collections.abc import Collection, Iterable
from functools import partial
from typing import get_args

from compose.errors import ComposeError
from compose.protocols import Status
from faults.kinds.fault.base import (
    UP,
    Injection,
    LogEndSource,
    MeasuredLog,
    StepT,
    check_fit,
    process_of,
    try_all,
)
from faults.kinds.fault.evidence import Evidence, NotYet, Proven, by_name
from faults.kinds.fault.node_holds import Hold
from faults.kinds.shared.recovery import incoming
from faults.tasks import Task, in_background

SIGKILLED = 137
"""The exit code of a process that SIGKILL ended."""

STOPPED = (0, 143)
"""Those of a process that ended in order after SIGTERM."""

STOP_S = 30.0
"""A broker gives up moving its leaderships after three tries, 5 s apart; then it still closes its logs."""

STOPPING_S = 10.0
"""What a shutdown takes of itself: on a busy machine about 6 s, unless it cannot move its leaderships."""

DIALLING_S = 4.0
"""How long a proxy hangs at most that dials a node which has ended: 3 s, and what a busy machine adds."""


def thaw_first(injection: Injection[StepT], node: int) -> None:
    """A process that waits for a frozen disk cannot end, and nothing on the disk be removed: it is thawed."""
    if _void(injection, "frozen", node):
        injection.cluster.thaw(node)


def _void(injection: Injection[StepT], hold: Hold, node: int) -> bool:
    return injection.holds.void(hold, node, by=injection.owner, at_ns=injection.clock.now_ns())


def close_edges(injection: Injection[StepT], node: int) -> None:
    """Refuse connections to the node. Best before it ends: a proxy that dials a dead node hangs."""
    injection.cluster.mesh.cut(incoming(injection, node), mode="refuse", owner=injection.owner)


def close_edges_behind(injection: Injection[StepT], node: int) -> Task[None]:
    """The same when it has ended: what hangs then is waited for."""
    began_ns = injection.clock.now_ns()
    yield from in_background(partial(close_edges, injection, node))
    injection.outages.waited(injection.clock.now_ns() - began_ns, at_most_s=DIALLING_S)


def kill(injection: Injection[StepT], node: int) -> None:
    """SIGKILL. No fault holds the node paused or frozen any more, not even one that is in force."""
    injection.outages.ending(node, unclean=True)
    injection.cluster.kill(node, owner=injection.owner)
    note_end(injection, node)


def stop_or_kill(
    injection: Injection[StepT], node: int, fit: tuple[Status, ...] = ("running",)
) -> Task[None]:
    """SIGTERM, in the background; SIGKILL if the node still runs STOP_S later. NodeStateError, and nothing is
    done, where the node is not fit or another fault is ending it."""
    yield from in_background(partial(_claim, injection, node, fit))
    try:
        yield from _stop_or_kill(injection, node)
    finally:
        injection.holds.give_up(process_of(node), injection.owner)


def _claim(injection: Injection[StepT], node: int, fit: tuple[Status, ...]) -> None:
    with injection.holds.changing((node,)):
        check_fit(injection, node, fit)
        injection.holds.claim(process_of(node), injection.owner)


def _stop_or_kill(injection: Injection[StepT], node: int) -> Task[None]:
    yield from in_background(partial(thaw_first, injection, node))
    injection.outages.ending(node, unclean=False)
    began_ns = injection.clock.now_ns()
    stop = partial(injection.cluster.stop, node, within_s=STOP_S, owner=injection.owner)
    try:
        yield from in_background(stop)
    except ComposeError:
        # Killed, so that it cannot end later, after it was healed.
        yield from in_background(partial(kill, injection, node))
    else:
        note_end(injection, node)
    injection.outages.waited(injection.clock.now_ns() - began_ns, at_most_s=STOPPING_S)


def note_end(injection: Injection[StepT], node: int) -> None:
    """The process has ended, and with it whatever held it paused or its disk frozen."""
    injection.outages.ended(node, injection.clock.now_ns())
    for hold in get_args(Hold):
        _void(injection, hold, node)


def measure_logs(injection: Injection[StepT], node: int, source: LogEndSource) -> None:
    """Read what the node holds of each partition from its disk; 0.1 s.

    No fault fails because of it. Of a disk that cannot be read nothing is known, and nothing is recorded.
    """
    try:
        extents = injection.cluster.log_ends(node)
    except ComposeError:
        return
    at_ns = injection.clock.now_ns()
    injection.outages.logs.extend(
        MeasuredLog(
            at_ns=at_ns,
            node=node,
            topic=topic,
            partition=partition,
            log_start=extent.log_start,
            log_end=extent.log_end,
            source=source,
        )
        for (topic, partition), extent in extents.items()
    )


def bring_back(
    injection: Injection[StepT], nodes: Iterable[int], *, source: LogEndSource = "disk-down"
) -> None:
    """Read what the disk holds of each node that this fault has ended, start it, and open its edges; of the
    others open the edges only. Tries every node, also if one fails."""
    try_all(partial(_bring_back, injection, node, source) for node in nodes)


def _bring_back(injection: Injection[StepT], node: int, source: LogEndSource) -> None:
    with injection.holds.changing((node,)):
        status = injection.cluster.state(node).status
        if status in UP or _has_ended(injection, node):
            if status == "exited":
                measure_logs(injection, node, source)
            if status not in UP:
                injection.cluster.start(node, owner=injection.owner)
            injection.outages.started(node, injection.clock.now_ns())
        injection.cluster.mesh.mend(incoming(injection, node), owner=injection.owner)


def _has_ended(injection: Injection[StepT], node: int) -> bool:
    """Whether the node, which is down, is so because of this fault. Nobody is named for one that is missing,
    or that has ended otherwise than it was asked to."""
    ended_by, outage = injection.cluster.ended_by(node), injection.outages.down.get(node)
    return ended_by == injection.owner or (ended_by is None and outage is not None and outage.up_ns < 0)


def exit_codes(injection: Injection[StepT], nodes: Iterable[int]) -> dict[int, int | None]:
    """The exit code of each node, None for one that lives."""
    return {node: injection.cluster.state(node).exit_code for node in nodes}


def all_ended(injection: Injection[StepT], nodes: Iterable[int], codes: Collection[int]) -> Evidence:
    """Whether every node's process has ended, with one of these exit codes."""
    found = exit_codes(injection, nodes)
    if any(code not in codes for code in found.values()):
        return NotYet(instead=f"exit codes: {by_name(found)}")
    return Proven(since_ns=injection.clock.now_ns(), values={"exit_codes": by_name(found)})
