"""How much a run has put at risk: acks by outcome, at risk by each fault, gaps, and who witnessed it.

Of a run, everything is read from the history on disk, one partition at a time, so `check` finds the same
figures again; of a history in memory, `exposure` takes what is in its rows.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from checkers.errors import MalformedHistory
from checkers.history.columnar import columns_of
from checkers.history.load import read_groups, rows_of
from checkers.history.rows import Context, Fault, MetadataChange, TopicPartition
from checkers.history.tables import NONE, Outcome, unit_path
from checkers.places import Place
from checkers.verdict.exposure.at_risk import at_risk, beginnings, over_ns, replicas_of, touched
from checkers.verdict.exposure.gaps import Gap, Times, longest_gaps
from checkers.verdict.exposure.resumption import Resumption, first_open_ns, last_recovery, resumption

COLUMNS = ["outcome", "invoked_ns", "completed_ns", "offset"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Exposure:
    """Counts over all partitions; times in seconds, None where nothing was sent.

    `unwitnessed` are the partitions with acks of which no reader was given a record and no sample has a high
    watermark. `replicas_read` is None where the replicas' logs were not collected; `replicas_unread` are
    those of the partitions with acks that the metadata log knows and that were not read whole, and why.
    """

    acked: int
    failed: int
    indeterminate: int
    acked_without_offset: int
    acked_partitions: int
    partitions: int
    longest_gap_s: float | None
    longest_gap_at: str
    gaps: tuple[Gap, ...]
    """The longest gaps of each partition, the longest first; verdict.json has the first of them only."""
    resumption: Resumption
    fault_windows: tuple[Mapping[str, Any], ...]
    watermark_samples: int
    reads: int
    unwitnessed: tuple[str, ...]
    replicas_read: int | None
    replicas_unread: tuple[str, ...]
    leader_changes: int
    isr_changes: int

    @property
    def attempts(self) -> int:
        """All sends."""
        return self.acked + self.failed + self.indeterminate

    def gaps_of(self, metric: str) -> tuple[Gap, ...]:
        """The times without an acknowledgement of which a metric is the longest, the longest first."""
        return self.resumption.gaps if metric == "resumed.max" else self.gaps

    def metric(self, name: str) -> float | None:
        """The value of a metric of harness.scenario.acceptance; None if this run does not show it."""
        match name:
            case "unavailable.max":
                return self.longest_gap_s
            case "acked.count":
                return float(self.acked)
            case "indeterminate.ratio":
                return self.indeterminate / self.attempts if self.attempts else None
            case "failed.ratio":
                return self.failed / self.attempts if self.attempts else None
        raise AssertionError(f"{name} is no metric")

    def as_json(self) -> dict[str, Any]:
        """Its part of verdict.json."""
        return {
            "attempts": self.attempts,
            "acked": self.acked,
            "failed": self.failed,
            "indeterminate": self.indeterminate,
            "acked_without_offset": self.acked_without_offset,
            "partitions": self.partitions,
            "acked_partitions": self.acked_partitions,
            "longest_gap_s": self.longest_gap_s,
            "longest_gap_at": self.longest_gap_at,
            "fault_windows": [dict(window) for window in self.fault_windows],
            "watermark_samples": self.watermark_samples,
            "reads": self.reads,
            "unwitnessed": list(self.unwitnessed),
            "replicas_read": self.replicas_read,
            "replicas_unread": list(self.replicas_unread),
            "leader_changes": self.leader_changes,
            "isr_changes": self.isr_changes,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionSends:
    """The sends of one partition: counts, when the first was made (-1: there is none), and its acks.

    `opened_ns`: when the first was made of those that were open since the last recovery, see `first_open_ns`.
    """

    counts: Mapping[Outcome, int]
    without_offset: int
    first_ns: int
    opened_ns: int
    acks: Times

    @classmethod
    def of(
        cls,
        outcome: Times,
        invoked_ns: Times,
        completed_ns: Times,
        offset: Times,
        *,
        recovered_ns: int = NONE,
    ) -> "PartitionSends":
        """From columns of the table `sends`, of shape (sends of the partition,). `recovered_ns` -1: there is
        no last recovery."""
        ok = outcome == Outcome.OK.value
        return cls(
            counts={each: int((outcome == each.value).sum()) for each in Outcome},
            without_offset=int((ok & (offset == NONE)).sum()),
            first_ns=int(invoked_ns.min()) if len(invoked_ns) else NONE,
            opened_ns=first_open_ns(invoked_ns, completed_ns, recovered_ns),
            acks=np.sort(completed_ns[ok]),
        )


def measure(
    history: Place, context: Context, load_ended_ns: int, controllers: Collection[int] = ()
) -> Exposure:
    """Read the sends of every partition; `load_ended_ns` (-1: unknown) closes the last gap of each.

    `controllers` are the nodes with that role: a fault of them touches every partition. Raises
    MalformedHistory, also for a send that was completed before it was invoked.
    """
    recovered_ns = last_recovery(context.faults).at_ns
    sends = {tp: read_sends(history, tp, recovered_ns) for tp in context.partitions}
    reads = {tp: rows_of(unit_path(history, "reads", *tp)) for tp in context.partitions}
    return exposure(context, sends, reads, load_ended_ns, controllers)


def exposure(
    context: Context,
    sends: Mapping[TopicPartition, PartitionSends],
    reads: Mapping[TopicPartition, int],
    load_ended_ns: int,
    controllers: Collection[int] = (),
) -> Exposure:
    """The same from the sends of every partition, of which `opened_ns` is since the last recovery of the
    context's faults, and how many reads it has."""
    acks = {tp: its.acks for tp, its in sends.items()}
    begun = [its.first_ns for its in sends.values() if its.first_ns != NONE]
    gaps = longest_gaps(acks, load_ended_ns, load_began_ns=min(begun, default=NONE))
    return Exposure(
        acked=sum(its.counts[Outcome.OK] for its in sends.values()),
        failed=sum(its.counts[Outcome.FAIL] for its in sends.values()),
        indeterminate=sum(its.counts[Outcome.INFO] for its in sends.values()),
        acked_without_offset=sum(its.without_offset for its in sends.values()),
        partitions=len(acks),
        acked_partitions=sum(1 for times in acks.values() if len(times)),
        longest_gap_s=gaps[0].length_s if gaps else None,
        longest_gap_at=str(gaps[0].tp) if gaps else "",
        gaps=gaps,
        resumption=resumption(
            last_recovery(context.faults),
            {tp: its.opened_ns for tp, its in sends.items()},
            acks,
            load_ended_ns,
        ),
        fault_windows=_windows(context, acks, controllers),
        watermark_samples=len(context.watermarks),
        reads=sum(reads.values()),
        unwitnessed=_unwitnessed(context, acks, reads),
        replicas_read=_replicas_read(context),
        replicas_unread=tuple(_replicas_unread(context, acks)),
        **_changes(context.metadata),
    )


def read_sends(history: Place, tp: TopicPartition, recovered_ns: int = NONE) -> PartitionSends:
    """Of a file of any size: 8 bytes for each ack, and a row group, are in memory at once. `recovered_ns` as
    in `PartitionSends.of`.

    Raises MalformedHistory, also for a send that was completed before it was invoked.
    """
    path = unit_path(history, "sends", *tp)
    acks: Times = np.empty(rows_of(path), np.int64)
    found: list[PartitionSends] = []
    rows = acked = 0
    for group in read_groups(path, "sends", *tp, columns=COLUMNS):
        _refuse_answers_from_before(path, group, rows)
        columns = (group[name].to_numpy() for name in COLUMNS)
        one = PartitionSends.of(*columns, recovered_ns=recovered_ns)
        acks[acked : acked + len(one.acks)] = one.acks
        found.append(replace(one, acks=one.acks[:0]))
        rows, acked = rows + len(group), acked + len(one.acks)
    acks[:acked].sort()
    return PartitionSends(
        counts={each: sum(one.counts[each] for one in found) for each in Outcome},
        without_offset=sum(one.without_offset for one in found),
        first_ns=_earliest_ns(one.first_ns for one in found),
        opened_ns=_earliest_ns(one.opened_ns for one in found),
        acks=acks[:acked],
    )


def _earliest_ns(known_ns: Iterable[int]) -> int:
    return min((at_ns for at_ns in known_ns if at_ns != NONE), default=NONE)


def _refuse_answers_from_before(path: Place, rows: pa.Table, first: int) -> None:
    """Both times are of one clock that never steps back: an earlier answer was not written down so. `first`
    is the number of the first of the rows."""
    invoked, completed = rows["invoked_ns"], rows["completed_ns"]
    early = pc.and_(pc.not_equal(completed, NONE), pc.less(completed, invoked))
    if pc.any(early, min_count=0).as_py():
        row = pc.index(early, True).as_py()
        before_ns = invoked[row].as_py() - completed[row].as_py()
        raise MalformedHistory(path, f"row {first + row} was completed {before_ns} ns before it was invoked")


def _unwitnessed(
    context: Context, acks: Mapping[TopicPartition, Times], reads: Mapping[TopicPartition, int]
) -> tuple[str, ...]:
    samples = columns_of(context.watermarks, ("topic", "partition", "high_watermark"))
    known = samples["high_watermark"] != NONE
    places = zip(samples["topic"][known].tolist(), samples["partition"][known].tolist(), strict=True)
    sampled = set(places)
    return tuple(str(tp) for tp, times in acks.items() if len(times) and not reads[tp] and tp not in sampled)


def _replicas_read(context: Context) -> int | None:
    if "replicas" not in context.collected:
        return None
    return sum(replica.complete for replica in context.replicas)


def _replicas_unread(context: Context, acks: Mapping[TopicPartition, Times]) -> Iterator[str]:
    if "replicas" not in context.collected:
        return
    found = {(each.tp, each.broker): each for each in context.replicas}
    last = {change.tp: change.replicas for change in context.metadata if change.replicas}
    for tp in sorted(tp for tp in last if len(acks.get(tp, ()))):
        for broker in sorted(last[tp]):
            one = found.get((tp, broker))
            if one is None or not one.complete:
                reason = one.reason if one and one.reason else "nothing of it was kept"
                yield f"{tp} on broker {broker} ({reason})"


def _changes(metadata: Iterable[MetadataChange]) -> dict[str, int]:
    """How often a partition got another leader, and another ISR, after its first state."""
    counts = {"leader_changes": 0, "isr_changes": 0}
    last: dict[TopicPartition, MetadataChange] = {}
    for change in sorted(metadata, key=lambda change: (change.at_ms, change.partition_epoch)):
        before = last.get(change.tp, change)
        counts["leader_changes"] += change.leader_epoch > before.leader_epoch and change.leader != NONE
        counts["isr_changes"] += set(change.isr) != set(before.isr)
        last[change.tp] = change
    return counts


def _windows(
    context: Context, acks: Mapping[TopicPartition, Times], controllers: Collection[int]
) -> tuple[dict[str, Any], ...]:
    replicas, since = replicas_of(context.metadata), beginnings(context.faults)
    return tuple(
        _window(fault, acks, touched(fault, acks, replicas, controllers), since.get(fault.index))
        for fault in context.faults
    )


def _window(
    fault: Fault,
    acks: Mapping[TopicPartition, Times],
    touches: Collection[TopicPartition],
    since_ns: int | None,
) -> dict[str, Any]:
    """Acks between a fault's injection and its end, on all partitions; and those that it put at risk."""
    begin, end = fault.inject_ns, over_ns(fault)
    risk = at_risk(fault, acks, touches, since_ns=since_ns)
    acked = sum(int(np.searchsorted(t, end, "right") - np.searchsorted(t, begin)) for t in acks.values())
    return {
        "fault": fault.name,
        "kind": fault.kind,
        "target": fault.target,
        "nodes": list(fault.nodes),
        "edges": list(fault.edges),
        "proven": fault.proven,
        "recovered": fault.recovered,
        "acked": acked,
        "at_risk": risk.acks,
        "partitions": risk.partitions,
        "partitions_at_risk": risk.partitions_with_acks,
        "evidence": fault.evidence,
    }
