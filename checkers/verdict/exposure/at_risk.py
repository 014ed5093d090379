"""Which acknowledgements a fault put at risk: those around it, on the partitions that it touches.

Invariant: a fault shows something of a run only if there is a record that it could have cost.
Evidence: the acknowledgements; what the fault hit; the replicas of each partition in the metadata log (of a
partition that it does not name, any broker may be a replica).
Counterexample to "there are acks after the fault, so it was survived":
    broker 1 is killed from 5 s to 60 s; the last ack before it is at 3 s, the next one at 70 s
    every replica had each record by then, and the broker was back: the kill could cost nothing

At risk is what was acknowledged from the fault's injection, or that of the faults that were not over by then,
until it was over, and shortly before: what a leader has acknowledged may not be replicated yet. Where pages
were dropped, whatever the kernel had not written back: it writes a dirty page after 30 s
(`vm.dirty_expire_centisecs`). Where a disk was replaced, everything.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from checkers.history.rows import Fault, MetadataChange, TopicPartition

Times = NDArray[np.int64]
"""Shape (acks of one partition,), ns of the run's clock, ascending."""
BEFORE_NS = 1_000_000_000
WRITTEN_BACK_NS = 30_000_000_000
NEVER_NS = 1 << 62


@dataclass(frozen=True, slots=True, kw_only=True)
class AtRisk:
    """`acks` on `partitions_with_acks` of the `partitions` that a fault touches."""

    acks: int
    partitions: int
    partitions_with_acks: int


def at_risk(
    fault: Fault,
    acks: Mapping[TopicPartition, Times],
    on: Collection[TopicPartition],
    *,
    since_ns: int | None = None,
) -> AtRisk:
    """What a fault put at risk on the partitions that it touches; nothing if it was never injected.

    `since_ns`: from when on, if not from shortly before its own injection; see `beginnings`.
    """
    own_ns, end_ns = span(fault)
    begin_ns = own_ns if since_ns is None else since_ns
    counts = [_between(acks[tp], begin_ns, end_ns) for tp in on]
    return AtRisk(
        acks=sum(counts), partitions=len(counts), partitions_with_acks=sum(count > 0 for count in counts)
    )


def span(fault: Fault) -> tuple[int, int]:
    """From when on, and until when, an acknowledgement is at risk; ns of the run's clock."""
    if fault.inject_ns < 0:
        return NEVER_NS, NEVER_NS
    if fault.wiped:
        return 0, over_ns(fault)
    before_ns = WRITTEN_BACK_NS if fault.data_lost else BEFORE_NS
    return fault.inject_ns - before_ns, over_ns(fault)


def beginnings(faults: Iterable[Fault]) -> dict[int, int]:
    """From when on acknowledgements were at risk in each fault that was injected, by its index: ns.

    Faults that overlap act together. What the first of them put at risk still is when the next one comes,
    which may find that nothing can be acknowledged any more.
    """
    found: dict[int, int] = {}
    begin_ns = until_ns = -1
    for fault in sorted((each for each in faults if each.inject_ns >= 0), key=lambda each: each.inject_ns):
        own_ns = span(fault)[0]
        begin_ns = min(begin_ns, own_ns) if fault.inject_ns <= until_ns else own_ns
        until_ns = max(until_ns, over_ns(fault))
        found[fault.index] = begin_ns
    return found


def over_ns(fault: Fault) -> int:
    """When a fault was over: recovered, or at least healed; never, if it was neither."""
    end_ns = max(fault.heal_ns, fault.recovered_ns)
    return NEVER_NS if fault.inject_ns >= 0 and end_ns < 0 else end_ns


def _between(times: Times, begin_ns: int, end_ns: int) -> int:
    return int(np.searchsorted(times, end_ns, "right") - np.searchsorted(times, begin_ns))


def replicas_of(changes: Iterable[MetadataChange]) -> dict[TopicPartition, frozenset[int]]:
    """The brokers that ever held a replica of each partition that the metadata log names."""
    found: dict[TopicPartition, set[int]] = defaultdict(set)
    for change in changes:
        found[change.tp].update(change.replicas)
    return {tp: frozenset(nodes) for tp, nodes in found.items() if nodes}


def touched(
    fault: Fault,
    partitions: Iterable[TopicPartition],
    replicas: Mapping[TopicPartition, frozenset[int]],
    controllers: Collection[int],
) -> list[TopicPartition]:
    """The partitions of which the fault hit a replica, or an edge of one; all, if it hit controllers alone.

    A fault of one log directory hits the replicas there, and no other one of its nodes. Without controllers
    no partition gets a new leader or ISR, so a fault of them touches every partition.
    """
    hits = [_ends(edge) for edge in fault.edges] or [{node} for node in fault.nodes]
    of_all = not hits or (not fault.takes_log_dir and any(hit and hit <= set(controllers) for hit in hits))
    hit = frozenset().union(*hits)
    return [
        tp
        for tp in partitions
        if of_all or any(fault.concerns(node, tp) for node in replicas.get(tp, hit) & hit)
    ]


def _ends(edge: str) -> set[int]:
    """The nodes at the ends of an edge as "2->1"; a client is no node."""
    return {int(end) for end in edge.split("->") if end.isdecimal()}
