"""Loading: a process loads all that the disk of its node holds, whoever leads then.

Invariant: a log that was read from the disk of a node that was down reaches no further than what its next
process writes that it has loaded. A kill or a stop takes nothing from a disk (KAFKA-17076 is one that did).
Evidence: log ends that were read from disks, the lines in which brokers name what they have loaded, the watch
of the nodes, the faults, readings of the clocks.
Counterexample:
    broker 2 is killed; its disk holds orders-0 up to offset 21, and its next process loads it up to 19
    it follows, and fetches the two again; had it been elected, they would be gone: loads-all, of broker 2

Nothing is said of a log whose disk a fault had hit meanwhile (a batch that is whole by its header may be torn
after a power cut), of a node whose clock was set, of a replica that was ever moved, or of a topic that was
made anew. A line counts for the process that was started next after the disk was read, and for no later one.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from checkers.anomalies import Anomaly
from checkers.history.clocks.node_clocks import KIND as CLOCK_SKEW
from checkers.history.columnar import columns_of
from checkers.history.rows import Context, ReplicaOffset, TopicPartition
from checkers.history.tables import NONE
from checkers.properties import Property
from checkers.reference.control_plane.rule_result import (
    NOT_COLLECTED,
    RuleResult,
    collected,
    is_creation,
)
from checkers.reference.control_plane.wall_clock import wall_clock

DISK_DOWN, LOADED = "disk-down", "loaded"
OF_DISKS = "disk-"
"""How the kinds of faults begin that hit a disk, beside those that lose data."""
NEVER_NS = 1 << 62


@dataclass(frozen=True, slots=True, kw_only=True)
class _Life:
    """The process of a node that was started next after a time, and ended at another one."""

    begin_ns: int
    end_ns: int


def loads_all(context: Context) -> RuleResult:
    """Each log that a process did not load to the end.

    Undecided: a log on the disk of a node that was down, of which nothing shows how much was loaded then.
    """
    if not collected(context, "replica_offsets", "broker_lines", "node_events", "clocks"):
        return NOT_COLLECTED
    clock = wall_clock(context.clocks)
    if clock is None or context.unplaced:
        return NOT_COLLECTED
    lines: dict[tuple[TopicPartition, int], list[tuple[int, int]]] = defaultdict(list)
    for line in context.broker_lines:
        if line.kind == LOADED and NONE not in (line.at_ms, line.offset):
            lines[line.tp, line.node].append((clock.at(line.at_ms), line.offset))
    measured = [*_measured(context)]
    found = [
        (row, _loaded(row, context, lines.get((row.tp, row.broker), ()), clock.slack_ns)) for row in measured
    ]
    decided = [(row, end) for row, end in found if end is not None]
    anomalies = [_anomaly(row, end) for row, end in decided if end < row.log_end]
    return RuleResult(anomalies=anomalies, examined=len(decided), undecided=len(measured) - len(decided))


def _measured(context: Context) -> Iterator[ReplicaOffset]:
    """What was read from the disks of nodes that were down, of replicas that stayed where they were."""
    made = Counter(row.tp for row in context.metadata if is_creation(row))
    stayed: dict[TopicPartition, set[int]] = {}
    for change in context.metadata:
        stayed.setdefault(change.tp, set(change.replicas)).intersection_update(change.replicas)
    skewed = {node for fault in context.faults if fault.kind == CLOCK_SKEW for node in fault.nodes}
    source = columns_of(context.replica_offsets, ("source",))["source"]
    for place in np.flatnonzero(source == DISK_DOWN).tolist():
        row = context.replica_offsets[place]
        moved = row.broker not in stayed.get(row.tp, (row.broker,)) or made[row.tp] > 1
        if not moved and row.broker not in skewed:
            yield row


def _loaded(
    row: ReplicaOffset, context: Context, lines: Sequence[tuple[int, int]], slack_ns: int
) -> int | None:
    """How far the log reached that the next process loaded; None: not known, or a fault had hit the disk."""
    life = _next_life(row, context)
    if life is None:
        return None
    its_own = ((at_ns, end) for at_ns, end in sorted(lines) if row.at_ns + slack_ns < at_ns < life.end_ns)
    at_ns, end = next(its_own, (NONE, NONE))
    return None if at_ns == NONE or _is_hit(row, at_ns + slack_ns, context) else end


def _next_life(row: ReplicaOffset, context: Context) -> _Life | None:
    events = sorted((each.at_ns, each.event) for each in context.node_events if each.node == row.broker)
    starts = (at_ns for at_ns, event in events if event == "started" and at_ns > row.at_ns)
    begin_ns = next(starts, None)
    if begin_ns is None:
        return None
    ends = (at_ns for at_ns, event in events if event != "started" and at_ns > begin_ns)
    return _Life(begin_ns=begin_ns, end_ns=next(ends, NEVER_NS))


def _is_hit(row: ReplicaOffset, until_ns: int, context: Context) -> bool:
    """Whether a fault of disks may have been at work since the disk was read, until a time."""
    return any(
        fault.kind.startswith(OF_DISKS)
        or (fault.concerns(row.broker, row.tp) and (fault.takes_log_dir or row.broker in fault.data_lost))
        for fault in context.faults
        if row.broker in fault.nodes
        and fault.inject_ns <= until_ns
        and (fault.recovered_ns == NONE or fault.recovered_ns >= row.at_ns)
    )


def _anomaly(row: ReplicaOffset, end: int) -> Anomaly:
    return Anomaly(
        property=Property.LOADS_ALL,
        topic=row.topic,
        partition=row.partition,
        offset=end,
        last_offset=row.log_end - 1,
        producer=NONE,
        sequence=NONE,
        replica=row.broker,
        note=(
            f"broker {row.broker}: its disk held the log up to offset {row.log_end} when it was down, and "
            f"its next process loaded it up to {end}"
        ),
    )
