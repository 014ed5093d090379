"""What is known of one partition: all that the fate of its records is reconstructed from.

    epoch starts     where the log of each leader epoch begins: leader-epoch checkpoints of all replicas,
                     the epochs of the final log, the leaders' own log lines and log ends
    high watermarks  the greatest one sampled under each leader epoch, and when
    outages          nodes whose process ended, or who lost the log directory of the replica: uncleanly or
                     not, with or without their unsynced pages, how far their log reached before and after,
                     and until when they were not in sync
    log ends         how far each replica's own log reached, as measured
    log starts       when the log start was seen to have moved, and by whose word; and how far that of each
                     broker's own log has moved whose clock was set

Invariant: a bound is stated only where something was measured; what nobody measured is None, or open.
Evidence: the tables of one file, and the epochs of the final log.
Counterexample to "an epoch without records in the log was never there":
    epoch 6 begins at offset 100, epoch 7 at offset 40: its leader had only 40 records
    Kafka drops the entry of epoch 6 from its cache, for it begins at or behind that of epoch 7
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from checkers.contract.settings import Realised
from checkers.contract.timeline import (
    LEADER_START,
    NEVER_NS,
    SECOND_NS,
    Downtime,
    Election,
    downtimes,
    without_directory,
)
from checkers.history.columnar import columns_of
from checkers.history.log_runs import LogRun
from checkers.history.rows import LOG_DIR_FAILURE, Fault, Proof, ReplicaOffset, TopicPartition
from checkers.history.tables import NONE

BEFORE_LOSS = ("before-power-loss", "before-wipe")
AFTER_LOSS = ("after-power-loss", "after-wipe", "disk-down")
HALTED = 1
"""The exit code with which Kafka ends itself."""
FAR = 1 << 62
"""An offset behind all others."""
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]
WrittenStarts = Mapping[tuple[int, int], Set[int]]
"""Where a broker wrote that its log ended when it began to lead, by broker and leader epoch."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EpochStart:
    """The first offset of an epoch lies in [low, high]."""

    low: int = 0
    high: int = FAR


@dataclass(frozen=True, slots=True, kw_only=True)
class HighWatermark:
    """The greatest high watermark sampled under one leader epoch, and when the samples rose to each value."""

    highest: int
    times: Sequence[int]
    values: Sequence[int]

    def first_above(self, offset: int) -> int:
        """When a sample was first above an offset; -1 if none ever was."""
        place = int(np.searchsorted(self.values, offset, "right"))
        return self.times[place] if place < len(self.times) else NONE


@dataclass(frozen=True, slots=True, kw_only=True)
class Outage:
    """A node's process ended at `since_ns`, at the earliest, ran again at `up_ns`, and was in sync again at
    `until_ns`. Or it went on, and the log directory of its replica was `offline` then (KIP-858).

    `leads_ns` is when it could lead again: a process that starts acts by the metadata log only once it has
    read its own new registration there (KIP-631). `before` is how far its log reached when its power was cut
    or its disk was replaced (`wiped`), `after` how far when its disk was read again; None: not measured.
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
    offline: bool = False

    @property
    def reached(self) -> int | None:
        """How far its log reached when its process ended: a kill leaves it as it was; None: not measured."""
        return self.before if self.data_lost else self.after


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportedStart:
    """Where a broker reported that its own log starts, under a leader epoch that it led or followed; asked
    at `asked_ns`."""

    asked_ns: int
    leader_epoch: int
    log_start: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LogEnds:
    """Each replica's own log start and log end as its broker reported them: arrays of shape (n,), int64, by
    `asked_ns`.

    A broker measures its log end between the question, at that time, and its answer, at `at_ns`.
    """

    at_ns: npt.NDArray[np.int64]
    asked_ns: npt.NDArray[np.int64]
    broker: npt.NDArray[np.int64]
    leader_epoch: npt.NDArray[np.int64]
    log_start: npt.NDArray[np.int64]
    log_end: npt.NDArray[np.int64]

    def last_start(self, broker: int, before_ns: int) -> ReportedStart | None:
        """A broker's last report of its log start that was answered before a time; None if it gave none."""
        its = (self.broker == broker) & (self.at_ns < before_ns) & (self.log_start != NONE)
        own = np.flatnonzero(its)
        if not len(own):
            return None
        asked_ns, epoch, start = (
            int(column[own[-1]]) for column in (self.asked_ns, self.leader_epoch, self.log_start)
        )
        return ReportedStart(asked_ns=asked_ns, leader_epoch=epoch, log_start=start)

    def least(self, broker: int, epochs: range) -> int:
        """The least log end that a broker reported under any of these epochs; FAR if none."""
        under = (epochs.start <= self.leader_epoch) & (self.leader_epoch < epochs.stop)
        own = self.log_end[(self.broker == broker) & under]
        return int(own.min()) if len(own) else FAR

    def last(self, broker: int, epoch: int) -> tuple[int, int] | None:
        """(time, log end) of a broker's last report under an epoch; None if it gave none."""
        return self.last_before(broker, FAR, epoch)

    def last_of_all(self) -> list[tuple[int, int]]:
        """`last` of every broker and epoch."""
        found = [self.last(broker, epoch) for broker, epoch in self._pairs()]
        return [each for each in found if each is not None]

    def least_of_all(self) -> list[int]:
        """`least` of every broker and epoch."""
        return [self.least(broker, range(epoch, epoch + 1)) for broker, epoch in self._pairs()]

    def _pairs(self) -> list[tuple[int, int]]:
        return sorted(set(zip(self.broker.tolist(), self.leader_epoch.tolist(), strict=True)))

    def leads_short(self, broker: int, epoch: int, since_ns: Ints, offset: Ints) -> Bools:
        """Whether a leader's first report under its epoch since a time was of a log that does not reach an
        offset: a leader never cuts its log, so it had not appended there. Shapes (rows,).

        A question asked before that time may have been answered for an earlier one."""
        own = np.flatnonzero((self.broker == broker) & (self.leader_epoch == epoch))
        place = np.searchsorted(self.asked_ns[own], since_ns, "left")
        ends = np.append(self.log_end[own], FAR)
        return np.asarray((since_ns != NONE) & (ends[place] <= offset))

    def last_short(self, leaders: Iterable[tuple[int, int]], offset: int, before_ns: int) -> int:
        """Since when what is at an offset may have been appended: the question to which one of these leaders
        (broker, epoch) last reported, before a time, a log that does not reach it; 0 if none did."""
        found = 0
        for broker, epoch in leaders:
            its = (self.broker == broker) & (self.leader_epoch == epoch)
            its &= (self.at_ns < before_ns) & (self.log_end <= offset)
            found = max(found, int(self.asked_ns[its].max(initial=0)))
        return found

    def last_before(self, broker: int, at_ns: int, epoch: int) -> tuple[int, int] | None:
        """(time of the question, log end) of a broker's last report under an epoch up to a time; None if it
        gave none."""
        its = (self.broker == broker) & (self.leader_epoch == epoch) & (self.at_ns <= at_ns)
        own = np.flatnonzero(its)
        return (int(self.asked_ns[own[-1]]), int(self.log_end[own[-1]])) if len(own) else None


@dataclass(frozen=True, slots=True, kw_only=True)
class LogStartMove:
    """Between `since_ns`, when `before` reported a lower one, and `until_ns` the log start moved up from
    `from_offset` to `log_start`, as `leader` then reported. -1: the final read, which does not say who led;
    or nobody. `before` may have been `leader` itself, of its own log, when another one led."""

    since_ns: int
    until_ns: int
    before: int
    leader: int
    from_offset: int
    log_start: int

    def is_over(self, offset: int) -> bool:
        """Whether the log start moved over an offset."""
        return self.from_offset <= offset < self.log_start


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnStart:
    """Where a broker's own log began: at `highest` at some time, and never above that where it is `certain`.

    That it is where the log was read at the end, from its disk or as the leader's, and nothing can have moved
    the log start back before: an unclean end of its process, which may forget it; a truncation below it; a
    move of the replica. Before the clock was first ahead nothing had moved it up.
    """

    highest: int
    certain: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionEvidence:
    """Everything measured of one partition."""

    tp: TopicPartition
    runs: Sequence[LogRun]
    log_start: int
    log_end: int
    """The end of the final log; FAR where no final read is known."""
    starts: dict[int, EpochStart]
    high_watermarks: dict[int, HighWatermark]
    outages: Sequence[Outage]
    log_start_moves: Sequence[LogStartMove]
    own_starts: Mapping[int, OwnStart]
    """Of the brokers whose clock was set."""
    log_ends: LogEnds = field(repr=False)
    led: Set[tuple[int, int]] = frozenset()
    """Who wrote that it leads, under which epoch."""

    def start_of(self, epoch: int) -> EpochStart:
        """Where an epoch begins, as far as anything shows it."""
        return self.starts.get(epoch, EpochStart())

    def survivors_from(self, offset: int) -> Iterator[LogRun]:
        """The epochs of the final log at or behind an offset."""
        return (run for run in self.runs if run.last >= offset)

    def epoch_at(self, offset: int) -> int:
        """The epoch of the record that is at an offset now; -1 if there is none."""
        return next((run.epoch for run in self.runs if run.first <= offset <= run.last), NONE)

    def offset_marks(self) -> list[int]:
        """Every offset that a fate is compared with."""
        marks = {self.log_start, self.log_end}
        marks.update(mark for run in self.runs for mark in (run.first, run.last + 1))
        marks.update(mark for start in self.starts.values() for mark in (start.low, start.high))
        marks.update(each.highest for each in self.high_watermarks.values())
        marks.update(log_end for _, log_end in self.log_ends.last_of_all())
        marks.update(at for move in self.log_start_moves for at in (move.from_offset, move.log_start))
        marks.update(own.highest for own in self.own_starts.values())
        marks.update(self.log_ends.least_of_all())
        for outage in self.outages:
            marks.update(mark for mark in (outage.before, outage.after) if mark is not None)
        return sorted(marks - {NONE, FAR})


def partition_evidence(realised: Realised, tp: TopicPartition) -> PartitionEvidence:
    """Collect what the run knows of a partition."""
    runs = realised.survivors(tp)
    proof = next((proof for proof in realised.context.proofs if proof.tp == tp), None)
    log_start = 0 if proof is None else proof.log_start
    log_end = FAR if proof is None else max(proof.log_end, proof.high_watermark)
    log_ends, from_disks = _measured(realised.context.replica_offsets, tp)
    outages, written = tuple(_outages(realised, tp, from_disks)), _written_starts(realised, tp)
    return PartitionEvidence(
        tp=tp,
        runs=runs,
        log_start=log_start,
        log_end=log_end,
        starts=_starts(realised, tp, runs, (log_start, log_end), log_ends, outages, written),
        high_watermarks=_high_watermarks(realised, tp),
        outages=outages,
        log_start_moves=tuple(_log_start_moves(realised, tp, proof, log_ends)),
        own_starts={node: _own_start(realised, tp, node, outages) for node in realised.clocks_ahead},
        log_ends=log_ends,
        led=written.keys(),
    )


def _measured(rows: Sequence[ReplicaOffset], tp: TopicPartition) -> tuple[LogEnds, list[ReplicaOffset]]:
    """What brokers reported of a partition, as columns; and what was read from disks, as rows."""
    names = (
        *("topic", "partition", "source"),
        *("at_ns", "asked_ns", "broker", "leader_epoch", "log_start", "log_end"),
    )
    columns = dict(columns_of(rows, names))
    columns["asked_ns"] = np.where(columns["asked_ns"] == NONE, columns["at_ns"], columns["asked_ns"])
    here = (columns["topic"] == tp.topic) & (columns["partition"] == tp.partition)
    live = columns["source"] == "live"
    reported = np.flatnonzero(here & live)
    order = reported[np.argsort(columns["asked_ns"][reported], kind="stable")]
    log_ends = LogEnds(**{name: columns[name][order].astype(np.int64) for name in names[3:]})
    return log_ends, [rows[at] for at in np.flatnonzero(here & ~live).tolist()]


def _starts(
    realised: Realised,
    tp: TopicPartition,
    runs: Sequence[LogRun],
    its_log: tuple[int, int],
    log_ends: LogEnds,
    outages: Sequence[Outage],
    written: WrittenStarts,
) -> dict[int, EpochStart]:
    """Exact where a checkpoint or the log has the epoch, or a line of its leader; else bounded by what its
    leader measured. `its_log`: where the final log starts and ends.

    Where retention may have deleted records, a checkpoint that has an epoch from the log start on shows only
    that the epoch begins there or before: Kafka moves up what it has of what it deletes.
    """
    log_start, log_end = its_log
    noted = [(run.epoch, run.first, log_start) for run in runs]
    for replica in realised.context.replicas:
        if replica.tp == tp:
            epochs = zip(replica.epochs, replica.epoch_starts, strict=False)
            noted += [(epoch, start, replica.log_start) for epoch, start in epochs]
    exact, at_most = dict[int, int](), dict[int, int]()
    for epoch, start, from_offset in noted:
        moved = realised.clocks_ahead and 0 < start <= from_offset
        into = at_most if moved else exact
        into[epoch] = min(start, into.get(epoch, FAR))
    found = {epoch: EpochStart(high=start) for epoch, start in at_most.items()}
    found |= {epoch: EpochStart(low=start, high=start) for epoch, start in exact.items()}
    elections = realised.timeline.elections(tp)
    for election in elections:
        if election.leader_epoch not in exact:
            last = election is elections[-1]
            own = [outage for outage in outages if outage.node == election.leader]
            high = min(log_end if last else FAR, at_most.get(election.leader_epoch, FAR))
            bounds = _bounds(election, log_ends, own, high)
            its = written.get((election.leader, election.leader_epoch), frozenset())
            found[election.leader_epoch] = _by_line(its, bounds)
    return found


def _written_starts(realised: Realised, tp: TopicPartition) -> WrittenStarts:
    found: dict[tuple[int, int], set[int]] = defaultdict(set)
    for line in realised.context.broker_lines:
        if line.kind == LEADER_START and line.tp == tp:
            found[line.node, line.leader_epoch].add(line.offset)
    return found


def _by_line(written: Set[int], bounds: EpochStart) -> EpochStart:
    """Where the leader itself wrote that it starts; a line that contradicts what was measured shows
    nothing."""
    start = next(iter(written)) if len(written) == 1 else NONE
    return EpochStart(low=start, high=start) if bounds.low <= start <= bounds.high else bounds


def _bounds(election: Election, log_ends: LogEnds, outages: Sequence[Outage], high: int) -> EpochStart:
    """A leader begins its epoch at its log end, and neither a leader nor a follower of a leader that stays
    cuts its log: so between what it reported before, under the last epoch, and what it reported after.
    What it reported before it went down bounds nothing: `outages` are its own."""
    before = log_ends.last_before(election.leader, election.at_ns, election.deposed_epoch)
    if before is None or any(before[0] <= outage.last_write_ns <= election.at_ns for outage in outages):
        before = (NONE, 0)
    its_own = range(election.leader_epoch, election.leader_epoch + 1)
    return EpochStart(low=before[1], high=min(high, log_ends.least(election.leader, its_own)))


def _high_watermarks(realised: Realised, tp: TopicPartition) -> dict[int, HighWatermark]:
    names = ("topic", "partition", "leader_epoch", "at_ns", "high_watermark")
    columns = columns_of(realised.context.watermarks, names)
    here = (columns["topic"] == tp.topic) & (columns["partition"] == tp.partition)
    here &= (columns["high_watermark"] != NONE) & (columns["leader_epoch"] != NONE)
    epochs, times, values = (columns[name][here] for name in names[2:])
    found = {}
    for epoch in np.unique(epochs).tolist():
        order = np.argsort(times[epochs == epoch], kind="stable")
        at, value = times[epochs == epoch][order], values[epochs == epoch][order]
        rises = np.flatnonzero(np.diff(np.maximum.accumulate(value), prepend=-1) > 0)
        found[epoch] = HighWatermark(
            highest=int(value.max()), times=at[rises].tolist(), values=value[rises].tolist()
        )
    return found


def _log_start_moves(
    realised: Realised, tp: TopicPartition, proof: Proof | None, log_ends: LogEnds
) -> Iterator[LogStartMove]:
    """By time, from the samples of who led; those of an epoch that was over show nothing."""
    names = ("topic", "partition", "at_ns", "asked_ns", "leader", "leader_epoch", "log_start")
    columns = columns_of(realised.context.watermarks, names)
    here = (columns["topic"] == tp.topic) & (columns["partition"] == tp.partition)
    here &= columns["log_start"] != NONE
    order = np.flatnonzero(here)[np.argsort(columns["at_ns"][here], kind="stable")]
    last, since_ns, by, newest = 0, 0, NONE, NONE
    for at in order.tolist():
        at_ns, asked_ns, leader, epoch, start = (int(columns[name][at]) for name in names[2:])
        if epoch < newest:
            continue
        asked_ns = at_ns if asked_ns == NONE else asked_ns
        began = (leader, epoch) != (by, newest) or start < last
        if began or start > last:
            move = LogStartMove(
                since_ns=since_ns, until_ns=at_ns, before=by, leader=leader, from_offset=last, log_start=start
            )
            if began:
                move = _of_its_own_log(move, epoch, log_ends.last_start(leader, asked_ns))
            if move.from_offset < start:
                yield move
        last, since_ns, by, newest = start, asked_ns, leader, epoch
    if proof is not None and proof.log_start > last:
        until_ns = max(since_ns, proof.at_ns)
        yield LogStartMove(
            since_ns=since_ns,
            until_ns=until_ns,
            before=by,
            leader=NONE,
            from_offset=last,
            log_start=proof.log_start,
        )


def _of_its_own_log(move: LogStartMove, epoch: int, own: ReportedStart | None) -> LogStartMove:
    """The move as the log of who leads under a new epoch has made it. `own` is its last report from before.

    One that had heard of no deletion brings back what others have deleted. So where its own log began lower
    than theirs it moved from there: since that report, if it led by then; else it may have taken over the log
    start of who led before. One that reported nothing, or a higher one, which an unclean end has made it
    forget, may have begun anywhere.
    """
    if own is None or own.log_start > move.log_start:
        return replace(move, before=NONE, from_offset=0) if move.from_offset > 0 else move
    if own.log_start >= min(move.from_offset, move.log_start):
        return move
    since_ns = own.asked_ns if own.leader_epoch == epoch else min(own.asked_ns, move.since_ns)
    return replace(move, since_ns=since_ns, before=move.leader, from_offset=own.log_start)


def _own_start(realised: Realised, tp: TopicPartition, node: int, outages: Sequence[Outage]) -> OwnStart:
    context = realised.context
    at_the_end = [row.log_start for row in context.replicas if (row.tp, row.broker) == (tp, node)]
    last = realised.timeline.at(tp, NEVER_NS)
    if last is not None and last.leader == node:
        at_the_end += [proof.log_start for proof in context.proofs if proof.tp == tp]
    final = max(at_the_end, default=NONE)
    ahead_ns = min((span.since_ns for span in realised.clocks_ahead[node] if span.ahead_ms > 0), default=0)
    moves_back = (
        "broker_lines" not in context.collected
        or any(each.node == node and each.unclean and ahead_ns <= each.last_write_ns for each in outages)
        or any(
            line.kind == "truncated" and (line.node, line.tp) == (node, tp) and line.offset <= final
            for line in context.broker_lines
        )
        or any(change.tp == tp and node not in change.replicas for change in context.metadata)
    )
    highest = max(
        final,
        _highest_log_start(context.watermarks, "leader", tp, node),
        _highest_log_start(context.replica_offsets, "broker", tp, node),
    )
    return OwnStart(highest=highest, certain=final != NONE and not moves_back)


def _highest_log_start(rows: Sequence[Any], broker: str, tp: TopicPartition, node: int) -> int:
    """The highest log start that samples have of a broker; `broker` is the column that names it."""
    columns = columns_of(rows, ("topic", "partition", broker, "log_start"))
    its = (columns["topic"] == tp.topic) & (columns["partition"] == tp.partition) & (columns[broker] == node)
    return int(columns["log_start"][its].max(initial=NONE))


def _outages(realised: Realised, tp: TopicPartition, offsets: Sequence[ReplicaOffset]) -> Iterator[Outage]:
    for fault in realised.context.faults:
        for node in fault.nodes if fault.takes_log_dir else ():
            if fault.concerns(node, tp):
                yield _of_directory(realised, tp, fault, node, offsets)
        for place, node in enumerate(fault.down):
            if not (fault.takes_log_dir and fault.concerns(node, tp)):
                down = Downtime(down_ns=fault.down_ns[place], up_ns=fault.up_ns[place])
                yield _of_fault(realised, tp, fault, node, down, offsets)
    planned = {node for fault in realised.context.faults for node in fault.down}
    for node, times in downtimes(realised.context).items():
        if node not in planned:
            yield from (_unplanned(realised, tp, node, down) for down in times)


def _of_fault(
    realised: Realised,
    tp: TopicPartition,
    fault: Fault,
    node: int,
    down: Downtime,
    offsets: Sequence[ReplicaOffset],
) -> Outage:
    recovered_ns = fault.recovered_ns if fault.recovered_ns != NONE else NEVER_NS
    since_ns = _begin_of_outage(realised, fault, node, down)
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


def _reached(
    offsets: Sequence[ReplicaOffset], node: int, since_ns: int, until_ns: int
) -> tuple[int | None, int | None]:
    """How far a node's log reached before its data were lost in this time, and after that, or when it was
    down."""
    begin, end = since_ns - SECOND_NS, until_ns + SECOND_NS
    measured = [row for row in offsets if row.broker == node and begin <= row.at_ns <= end]
    before = [row.log_end for row in measured if row.source in BEFORE_LOSS]
    after = [row.log_end for row in measured if row.source in AFTER_LOSS]
    return before[-1] if before else None, after[-1] if after else None


def _begin_of_outage(realised: Realised, fault: Fault, node: int, down: Downtime) -> int:
    """Since when a node's process may have ended.

    A fault that restarts its nodes in turn ends none before it has started the one before; others start none
    before all have ended. A process that halted by itself ran until the watch saw its end, one that went on
    without a log directory until the hold was over.
    """
    held = (fault.end_ns,) if fault.takes_log_dir else ()
    earlier = (up_ns for up_ns in fault.up_ns if NONE != up_ns <= down.down_ns)
    halted = (
        event.at_ns - SECOND_NS
        for event in realised.context.node_events
        if (event.node, event.fault, event.event) == (node, fault.name, "exited")
        and event.exit_code == HALTED
    )
    return int(max((fault.inject_ns, *held, *earlier, *halted)))


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
