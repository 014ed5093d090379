"""How long a high watermark stood still although every replica in sync had more, and enough were in sync.

Invariant: all that while each sample of the leader, under one epoch, named the same high watermark and the
same in-sync replicas, and each of those had reported, under that epoch, a log that went beyond it. A report
counts from when it was answered, a sample until when it was asked for: a lower bound.
Evidence: the samples of watermarks and of log ends; both ask each broker by itself. Settings along the
metadata log: of several values the greatest.
Counterexample to "the log of the leader goes beyond its high watermark, so that is stuck":
    a follower in the ISR does not fetch: the high watermark waits for it, until it is out of the ISR
Counterexample to "all who are in sync have more, so the leader is at fault":
    one is in sync, min.insync.replicas is 2: the high watermark has to stand (KIP-966)
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from checkers.history.columnar import Ints
from checkers.history.metadata_log.settings import MIN_ISR, Settings
from checkers.history.rows import Context, ReplicaOffset, TopicPartition, Watermark
from checkers.history.tables import NONE
from checkers.verdict.metrics.metric import Measured, in_seconds

Replica = tuple[TopicPartition, int, int]
"""A partition, a broker, and the leader epoch under which that reported."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Stand:
    """Samples of one leader that say the same; by `since_ns` all of these replicas had more, -1: never."""

    high_watermark: int
    isr: tuple[int, ...]
    since_ns: int


def longest_stall(context: Context) -> Measured:
    """In seconds, with the partition; unknown without a sample of a leader that names who is in sync, or
    where nobody knows how many have to be."""
    reported, least = _reported(context.replica_offsets), _least(context)
    stands: dict[Replica, _Stand] = {}
    most_ns, where, sampled = 0, "", False
    for sample in context.watermarks:
        if NONE in (sample.leader, sample.leader_epoch, sample.high_watermark) or not sample.isr:
            continue
        enough = least.get(sample.topic)
        if enough is None:
            return Measured(value=None, unknown=f"{MIN_ISR} of topic {sample.topic}")
        sampled = True
        leader = (sample.tp, sample.leader, sample.leader_epoch)
        stand = stands.get(leader)
        if stand is None or (stand.high_watermark, stand.isr) != (sample.high_watermark, sample.isr):
            stand = stands[leader] = _stand(sample, reported, enough)
        asked_ns = sample.at_ns if sample.asked_ns == NONE else sample.asked_ns
        if stand.since_ns != NONE and asked_ns - stand.since_ns > most_ns:
            most_ns, where = asked_ns - stand.since_ns, str(sample.tp)
    if not sampled:
        return Measured(value=None, unknown="no leader was sampled with its in-sync replicas")
    return Measured(value=in_seconds(most_ns), where=where)


def _least(context: Context) -> Mapping[str, int]:
    """How many of each topic's replicas have to be in sync, by the strictest value that it ever had; of a
    topic with one that is not known, nothing."""
    settings, found = Settings(context.configs), dict[str, int]()
    for topic in sorted({row.topic for row in context.metadata}):
        its = [row for row in context.metadata if row.topic == topic]
        made = min(row.log_offset for row in its)
        later = (row.log_offset for row in settings.changes(topic, MIN_ISR) if row.log_offset > made)
        values = [settings.min_isr(topic, offset) for offset in (made, *later)]
        known = [value for value in values if value is not None]
        if len(known) == len(values):
            found[topic] = min(max(known), max(len(row.replicas) for row in its))
    return found


def _stand(sample: Watermark, reported: Mapping[Replica, tuple[Ints, Ints]], enough: int) -> _Stand:
    """Which this sample begins."""
    had = [NONE] * (len(sample.isr) < enough) + [
        _first_beyond(reported.get((sample.tp, node, sample.leader_epoch)), sample.high_watermark)
        for node in sample.isr
    ]
    since_ns = NONE if NONE in had else max(sample.at_ns, *had)
    return _Stand(high_watermark=sample.high_watermark, isr=sample.isr, since_ns=since_ns)


def _first_beyond(reports: tuple[Ints, Ints] | None, offset: int) -> int:
    """When a report of a replica was first answered that its log goes beyond an offset; -1: never."""
    if reports is None:
        return NONE
    at_ns, farthest = reports
    place = int(np.searchsorted(farthest, offset, "right"))
    return int(at_ns[place]) if place < len(at_ns) else NONE


def _reported(log_ends: Iterable[ReplicaOffset]) -> Mapping[Replica, tuple[Ints, Ints]]:
    """When each replica answered, and the farthest log end that it had reported until then."""
    found: dict[Replica, list[tuple[int, int]]] = defaultdict(list)
    for row in log_ends:
        found[row.tp, row.broker, row.leader_epoch].append((row.at_ns, row.log_end))
    return {replica: _columns(sorted(rows)) for replica, rows in found.items()}


def _columns(rows: Sequence[tuple[int, int]]) -> tuple[Ints, Ints]:
    at_ns, log_end = np.array(rows, np.int64).T
    return at_ns, np.maximum.accumulate(log_end)
