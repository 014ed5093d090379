"""Outages of one partition's replicas: since when a node's process, or the log directory of its replica, was
gone, until when, how far its log reached before and after, and until when it was not in sync.

Invariant: a log end before or after an outage is one that was read from the disk, or None.
Evidence: the faults, what ended nodes without the harness, log ends read from disks, the metadata log.
Counterexample to "a broker that was killed runs again when it was started":
    broker 2 is started at 12 s, and reads its own new registration in the metadata log at 13 s
    until then it acts by none of the elections that it reads there: it leads nothing
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from checkers.contract.realised.downtimes import (
    NEVER_NS,
    SECOND_NS,
    Downtime,
    ended_after_ns,
    unplanned_ends,
    without_directory,
)
from checkers.contract.realised.settings import Realised
from checkers.history.rows import LOG_DIR_FAILURE, Fault, ReplicaOffset, TopicPartition
from checkers.history.tables import NONE

BEFORE_LOSS = ("before-power-loss", "before-wipe")
LOADED = "loaded"
"""A line of a node's log: how far the log reaches that it has loaded."""
AFTER_LOSS = ("after-power-loss", "after-wipe", "disk-down")


@dataclass(frozen=True, slots=True, kw_only=True)
class Outage:
    """A node's process ended at `since_ns`, at the earliest, ran again at `up_ns`, and was in sync again at
    `until_ns`. Or it went on, and the log directory of its replica was `offline` then (KIP-858).

    `leads_ns` is when it could lead again: a process that starts acts by the metadata log only once it has
    read its own new registration there (KIP-631). `before` is how far its log reached when its power was cut
    or its disk was replaced (`wiped`), `after` how far when its disk was read again, `loaded` how far the log
    reached that its next process found there, by its own word; None: not measured.
    """

    node: int
    since_ns: int
    last_write_ns: int
    up_ns: int
    leads_ns: int
    until_ns: int
    unclean: bool
    data_lost: bool
    wiped: bool
    before: int | None
    after: int | None
    fault: str
    loaded: int | None = None
    offline: bool = False

    @property
    def reached(self) -> int | None:
        """How far its log reached when its process ended: a kill leaves it as it was; None: not measured."""
        return self.before if self.data_lost else self.after


def outages_of(realised: Realised, tp: TopicPartition, offsets: Sequence[ReplicaOffset]) -> Iterator[Outage]:
    """Every outage of one partition's replicas; `offsets` are its log ends that were read from disks."""
    yield from _with_loaded(realised, tp, _outages(realised, tp, offsets))


def _outages(realised: Realised, tp: TopicPartition, offsets: Sequence[ReplicaOffset]) -> Iterator[Outage]:
    for fault in realised.context.faults:
        for node in fault.nodes if fault.takes_log_dir else ():
            if fault.concerns(node, tp):
                yield _of_directory(realised, tp, fault, node, offsets)
        for place, node in enumerate(fault.down):
            if not (fault.takes_log_dir and fault.concerns(node, tp)):
                down = Downtime(down_ns=fault.down_ns[place], up_ns=fault.up_ns[place])
                yield _of_fault(realised, tp, fault, node, down, offsets)
    for node, down in unplanned_ends(realised.context):
        yield _unplanned(realised, tp, node, down)


def _of_fault(
    realised: Realised,
    tp: TopicPartition,
    fault: Fault,
    node: int,
    down: Downtime,
    offsets: Sequence[ReplicaOffset],
) -> Outage:
    recovered_ns = fault.recovered_ns if fault.recovered_ns != NONE else NEVER_NS
    since_ns = ended_after_ns(realised.context, fault, node, down)
    up_ns = down.up_ns if down.up_ns != NONE else fault.heal_ns
    runs_ns = up_ns if up_ns != NONE else NEVER_NS
    until_ns = _in_sync_again(realised, tp, node, since_ns, recovered_ns, down.up_ns)
    last_write_ns = min(max(since_ns, down.down_ns), until_ns)
    before, after = _reached(offsets, node, since_ns, up_ns if up_ns != NONE else recovered_ns)
    return Outage(
        node=node,
        since_ns=since_ns,
        last_write_ns=last_write_ns + realised.timeline.slack_ns,
        up_ns=runs_ns,
        leads_ns=realised.timeline.registered_ns(node, runs_ns),
        until_ns=until_ns,
        unclean=node in fault.unclean,
        data_lost=node in fault.data_lost and fault.concerns(node, tp),
        wiped=node in fault.wiped and fault.concerns(node, tp),
        before=before,
        after=after,
        fault=fault.name,
    )


def _of_directory(
    realised: Realised, tp: TopicPartition, fault: Fault, node: int, offsets: Sequence[ReplicaOffset]
) -> Outage:
    """The replica lay in a log directory that its broker lost. To the controllers it is as gone as with an
    unclean shutdown, from then on until the broker has started anew. What was unsynced in a directory that
    failed is gone; how far the log reached then nobody has measured, for the broker went on writing until
    then."""
    lost = without_directory(realised.context, fault, node)
    recovered_ns = fault.recovered_ns if fault.recovered_ns != NONE else NEVER_NS
    until_ns = _in_sync_again(realised, tp, node, fault.inject_ns, recovered_ns, lost.up_ns)
    _, after = _reached(offsets, node, fault.inject_ns, min(lost.up_ns, recovered_ns))
    return Outage(
        node=node,
        since_ns=fault.inject_ns,
        last_write_ns=min(lost.down_ns, until_ns) + realised.timeline.slack_ns,
        up_ns=lost.up_ns,
        leads_ns=realised.timeline.registered_ns(node, lost.up_ns),
        until_ns=until_ns,
        unclean=True,
        data_lost=fault.kind == LOG_DIR_FAILURE,
        wiped=False,
        before=None,
        after=after,
        fault=fault.name,
        offline=True,
    )


def _with_loaded(realised: Realised, tp: TopicPartition, found: Iterable[Outage]) -> Iterator[Outage]:
    """The outages, each with what its next process wrote first of the log that it loaded."""
    lines = [
        (realised.clock.at(line.at_ms), line.node, line.offset)
        for line in realised.context.broker_lines
        if (line.kind, line.tp) == (LOADED, tp) and NONE not in (line.at_ms, line.offset)
    ]
    for outage in found:
        since_ns = outage.up_ns - realised.timeline.slack_ns
        later = (each for each in lines if each[1] == outage.node and each[0] >= since_ns)
        first = min(later, default=None)
        yield outage if first is None else replace(outage, loaded=first[2])


def _reached(
    offsets: Sequence[ReplicaOffset], node: int, since_ns: int, until_ns: int
) -> tuple[int | None, int | None]:
    """How far a node's log reached before its data were lost at the begin of this time, and after that, or
    when it was down."""
    begin, end = since_ns - SECOND_NS, until_ns + SECOND_NS
    measured = [row for row in offsets if row.broker == node and begin <= row.at_ns <= end]
    before = [row for row in measured if row.source in BEFORE_LOSS]
    after = [row.log_end for row in measured if row.source in AFTER_LOSS]
    # What is measured some time later was before another loss.
    at_begin = min(before, key=lambda row: abs(row.at_ns - since_ns)).log_end if before else None
    return at_begin, after[-1] if after else None


def _unplanned(realised: Realised, tp: TopicPartition, node: int, down: Downtime) -> Outage:
    """A process that ended without the harness: the machine kept its pages."""
    return Outage(
        node=node,
        since_ns=down.down_ns,
        last_write_ns=down.down_ns + realised.timeline.slack_ns,
        up_ns=down.up_ns,
        leads_ns=realised.timeline.registered_ns(node, down.up_ns),
        until_ns=_in_sync_again(realised, tp, node, down.down_ns, down.up_ns, down.up_ns),
        unclean=True,
        data_lost=False,
        wiped=False,
        before=None,
        after=None,
        fault="",
    )


def _in_sync_again(
    realised: Realised, tp: TopicPartition, node: int, since_ns: int, recovered_ns: int, up_ns: int
) -> int:
    """A node that never left the ISR is in sync again when its fault has recovered; one that did, not before
    the process has registered that was started at `up_ns`, where that is known."""
    timeline = realised.timeline
    if recovered_ns != NEVER_NS and not timeline.out_of_sync(tp, node, since_ns, recovered_ns):
        return recovered_ns
    is_known = NONE < up_ns < NEVER_NS
    back_ns = timeline.registered_ns(node, up_ns) - timeline.slack_ns if is_known else since_ns
    rejoined = timeline.rejoined(tp, node, since_ns, back_ns)
    return NEVER_NS if rejoined is None else rejoined
