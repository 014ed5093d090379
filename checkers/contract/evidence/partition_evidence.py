"""What is known of one partition: all that the fate of its records is reconstructed from.

    epoch starts     where the log of each leader epoch begins (epoch_starts.py)
    high watermarks  the greatest one sampled under each leader epoch, and when
    outages          nodes whose process ended, or who lost the log directory of the replica (outages.py)
    log ends         how far each replica's own log reached, as measured (log_ends.py)
    log starts       when the log start was seen to have moved, and by whose word (log_starts.py)
    fetched_from     where followers began to fetch, or cut, by their own lines (fetched_from.py)

Invariant: a bound is stated only where something was measured; what nobody measured is None, or open.
Evidence: the tables of one file, and the epochs of the final log.
Counterexample to "the samples of an epoch bound its high watermark":
    the last sample under epoch 5 is of 3.0 s, and its leader is killed at 3.2 s
    what it acknowledged in between may have been below a high watermark that nobody saw
"""

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field

import numpy as np

from checkers.contract.evidence.epoch_starts import EpochStart, starts_of, written_starts
from checkers.contract.evidence.fetched_from import FetchedFrom, fetched_from
from checkers.contract.evidence.log_ends import FAR, LogEnds, measured
from checkers.contract.evidence.log_starts import LogStartMove, OwnStart, log_start_moves, own_start
from checkers.contract.evidence.outages import Outage, outages_of
from checkers.contract.realised.settings import Realised
from checkers.history.columnar import columns_of
from checkers.history.records.log_runs import LogRun
from checkers.history.rows import TopicPartition
from checkers.history.tables import NONE


@dataclass(frozen=True, slots=True, kw_only=True)
class HighWatermark:
    """The greatest high watermark sampled under one leader epoch, and when the samples rose to each value;
    `asked_ns`: when the last of them was asked for, -1: not known."""

    highest: int
    asked_ns: int
    times: Sequence[int]
    values: Sequence[int]

    def first_above(self, offset: int) -> int:
        """When a sample was first above an offset; -1 if none ever was."""
        place = int(np.searchsorted(self.values, offset, "right"))
        return self.times[place] if place < len(self.times) else NONE


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
    in_vain: Set[int] = frozenset()
    """The epochs whose leader was down, or starting, all the time: the controllers learn of that later."""
    fetched_from: FetchedFrom

    def start_of(self, epoch: int) -> EpochStart:
        """Where an epoch begins, as far as anything shows it."""
        return self.starts.get(epoch, EpochStart())

    def survivors_from(self, offset: int) -> Iterator[LogRun]:
        """The epochs of the final log at or behind an offset."""
        return (run for run in self.runs if run.last >= offset)

    def epoch_at(self, offset: int) -> int:
        """The epoch of the record that is at an offset now; -1 if there is none."""
        return next((run.epoch for run in self.runs if run.first <= offset <= run.last), NONE)

    def fetched_since(self, node: int, offset: int, epochs: range) -> bool:
        """Whether a broker has fetched what it has at an offset under one of these epochs, or later."""
        return any(self.fetched_from.get((node, epoch), FAR) <= offset for epoch in epochs)

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
        marks.update(self.fetched_from.values())
        for outage in self.outages:
            ends = (outage.before, outage.after, outage.loaded)
            marks.update(mark for mark in ends if mark is not None)
        return sorted(marks - {NONE, FAR})


def partition_evidence(realised: Realised, tp: TopicPartition) -> PartitionEvidence:
    """Collect what the run knows of a partition."""
    runs = realised.survivors(tp)
    proof = next((proof for proof in realised.context.proofs if proof.tp == tp), None)
    log_start = 0 if proof is None else proof.log_start
    log_end = FAR if proof is None else max(proof.log_end, proof.high_watermark)
    log_ends, from_disks = measured(realised.context.replica_offsets, tp)
    outages, written = tuple(outages_of(realised, tp, from_disks)), written_starts(realised, tp)
    return PartitionEvidence(
        tp=tp,
        runs=runs,
        log_start=log_start,
        log_end=log_end,
        starts=starts_of(realised, tp, runs, (log_start, log_end), log_ends, outages, written),
        high_watermarks=_high_watermarks(realised, tp),
        outages=outages,
        log_start_moves=tuple(log_start_moves(realised, tp, proof, log_ends)),
        own_starts={node: own_start(realised, tp, node, outages) for node in realised.clocks_ahead},
        log_ends=log_ends,
        led=written.keys(),
        fetched_from=fetched_from(realised.context, tp),
        in_vain=frozenset(_in_vain(realised, tp, outages, written.keys())),
    )


def _in_vain(
    realised: Realised, tp: TopicPartition, outages: Sequence[Outage], led: Set[tuple[int, int]]
) -> Iterator[int]:
    """When a process ended is known only to have been after something: one that wrote that it leads has
    led."""
    for election in realised.timeline.elections(tp):
        ended_ns = realised.timeline.ended_ns(tp, election.leader_epoch)
        was_down = any(
            outage.node == election.leader
            and outage.since_ns <= election.at_ns
            and ended_ns <= outage.leads_ns
            for outage in outages
        )
        if was_down and (election.leader, election.leader_epoch) not in led:
            yield election.leader_epoch


def _high_watermarks(realised: Realised, tp: TopicPartition) -> dict[int, HighWatermark]:
    names = ("topic", "partition", "leader_epoch", "at_ns", "high_watermark", "asked_ns")
    columns = columns_of(realised.context.watermarks, names)
    here = (columns["topic"] == tp.topic) & (columns["partition"] == tp.partition)
    here &= (columns["high_watermark"] != NONE) & (columns["leader_epoch"] != NONE)
    epochs, times, values, asked = (columns[name][here] for name in names[2:])
    found = {}
    for epoch in np.unique(epochs).tolist():
        order = np.argsort(times[epochs == epoch], kind="stable")
        at, value = times[epochs == epoch][order], values[epochs == epoch][order]
        rises = np.flatnonzero(np.diff(np.maximum.accumulate(value), prepend=-1) > 0)
        found[epoch] = HighWatermark(
            highest=int(value.max()),
            asked_ns=int(asked[epochs == epoch].max()),
            times=at[rises].tolist(),
            values=value[rises].tolist(),
        )
    return found
