"""Replicas compared with what was read and with each other, by arrays; memory is that of their batches.

The final log passes by in batches and is not kept: each replica sums up the digests of what it spans.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import numpy.typing as npt

from checkers.history.records.digest import MODULUS
from checkers.history.tables import NONE
from spark_verify.kernels.replicas.log import BatchLog, ReplicaLog, Runs, runs
from spark_verify.partition_task import Bools, Columns, Ints

LACKS, OTHER_RECORDS, OTHER_BATCH, AGAIN = range(4)
"""What is wrong where a replica diverges; of flaws that begin at one offset the first of these is told."""
_MASK = np.uint64(MODULUS - 1)


class AgainstRead:
    """Lays the final log over one replica's batches, a part at a time."""

    def __init__(self, log: ReplicaLog, log_start: int) -> None:
        self.log = log
        self._log_start = log_start
        self._sums = np.zeros(len(log.batches.rising), np.uint64)
        self._lacking: list[Ints] = []

    def add(self, offset: Ints, mixed: npt.NDArray[np.uint64]) -> None:
        """The next k records: their offsets, ascending, and what `mix` gave for them; both of shape (k,)."""
        if not len(offset):
            return
        base, last = self.log.batches.rising_base, self.log.batches.rising_last
        low = int(np.searchsorted(last, offset[0]))
        high = max(low, int(np.searchsorted(base, offset[-1], "right")))
        first = np.searchsorted(offset, base[low:high])
        end = np.searchsorted(offset, last[low:high], "right")
        total = np.zeros(len(offset) + 1, np.uint64)
        np.cumsum(mixed, out=total[1:])
        self._sums[low:high] += total[end] - total[first]
        if int((end - first).sum()) < len(offset):
            edges = np.zeros(len(offset) + 1, np.int64)
            np.add.at(edges, first, 1)
            np.add.at(edges, end, -1)
            held = np.cumsum(edges[:-1]) > 0
            decided = (offset >= self._log_start) & (offset < self.log.limit)
            self._lacking.append(offset[~held & decided])

    def comparable(self) -> Bools:
        """Which batches (shape (n,)) lie where something is decided, and say what they hold."""
        batches = self.log.batches
        comparable: Bools = (batches.control | (batches.digest != NONE)) & self._decided()
        return comparable

    def _decided(self) -> Bools:
        batches = self.log.batches
        return (batches.base >= self._log_start) & (batches.last < self.log.limit)

    def flaws(self) -> "Flaws":
        """One for each offset that it lacks, for each batch with other records, and for each out of place."""
        batches = self.log.batches
        lacking = np.concatenate([np.empty(0, np.int64), *self._lacking])
        wanted = np.where(batches.control, 0, batches.digest)[batches.rising]
        sums = (self._sums & _MASK).view(np.int64)
        others = batches.rising[(sums != wanted) & self.comparable()[batches.rising]]
        again = np.flatnonzero(~batches.in_place & self._decided())
        return Flaws.joined(
            [
                Flaws.of(lacking, lacking, LACKS),
                Flaws.of(batches.base[others], batches.last[others], OTHER_RECORDS),
                Flaws.of(batches.base[again], batches.last[again], AGAIN),
            ]
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Flaws:
    """k spans of offsets in which a replica is wrong, each array of shape (k,), int64."""

    first: Ints
    last: Ints
    kind: Ints

    @classmethod
    def of(cls, first: Ints, last: Ints, kind: int) -> "Flaws":
        """Spans of one kind."""
        return cls(first=first, last=last, kind=np.full(len(first), kind, np.int64))

    @classmethod
    def joined(cls, parts: Sequence["Flaws"]) -> "Flaws":
        """The spans of all parts."""
        return cls(
            first=np.concatenate([part.first for part in parts]),
            last=np.concatenate([part.last for part in parts]),
            kind=np.concatenate([part.kind for part in parts]),
        )

    def __len__(self) -> int:
        return len(self.first)


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """Where two logs do not hold the same batch: d base offsets. Arrays of shape (d,), int64.

    `one` and `other` are rows of the two logs, -1 where no batch begins there; `last` is the last offset of
    either batch.
    """

    base: Ints
    last: Ints
    one: Ints
    other: Ints

    def __len__(self) -> int:
        return len(self.base)


def difference(one: BatchLog, other: BatchLog) -> Difference:
    """Compare two logs from the offset on at which both have begun."""
    if not (len(one.rising) and len(other.rising)):
        nothing = np.empty(0, np.int64)
        return Difference(base=nothing, last=nothing, one=nothing, other=nothing)
    begin = max(one.rising_base[0], other.rising_base[0])
    rows = [log.rising[np.searchsorted(log.rising_base, begin) :] for log in (one, other)]
    bases = [log.base[its] for log, its in zip((one, other), rows, strict=True)]
    base = bases[0] if np.array_equal(bases[0], bases[1]) else np.union1d(bases[0], bases[1])
    mine, theirs = (_rows_at(base, *pair) for pair in zip(bases, rows, strict=True))
    apart = np.flatnonzero((mine < 0) | (theirs < 0) | ~_same(one, other, mine, theirs))
    mine, theirs = mine[apart], theirs[apart]
    last = np.maximum(
        np.where(mine >= 0, one.last[mine], NONE), np.where(theirs >= 0, other.last[theirs], NONE)
    )
    return Difference(base=base[apart], last=last, one=mine, other=theirs)


def _rows_at(wanted: Ints, bases: Ints, rows: Ints) -> Ints:
    """The row of the batch at each wanted base offset, -1 if there is none; shape (wanted,)."""
    if not len(rows):
        return np.full(len(wanted), -1)
    place = np.minimum(np.searchsorted(bases, wanted), len(bases) - 1)
    return np.where(bases[place] == wanted, rows[place], -1)


def _same(one: BatchLog, other: BatchLog, mine: Ints, theirs: Ints) -> Bools:
    """Whether the batches of two rows are copies of each other; garbage where a row is -1."""
    found = np.ones(len(mine), bool)
    for name in (
        *("last_offset_delta", "leader_epoch", "crc"),
        *("producer_id", "producer_epoch", "base_sequence"),
    ):
        found &= getattr(one, name)[mine] == getattr(other, name)[theirs]
    return found


class Compared:
    """The judged replicas of a partition, in the order of how well they fit, and where they differ."""

    def __init__(self, against: Sequence[AgainstRead]) -> None:
        """`against` has had the whole final log, and is by broker."""
        self._misfits = [each.flaws() for each in against]
        self._logs = [each.log for each in against]
        self._found = {
            (a, b): difference(self._logs[a].batches, self._logs[b].batches)
            for a, b in combinations(range(len(against)), 2)
        }
        apart = [
            sum(len(self._between(a, b)) for b in range(len(against)) if b != a) for a in range(len(against))
        ]
        self._ranked = sorted(
            range(len(against)), key=lambda at: (len(self._misfits[at]), apart[at], self._logs[at].broker)
        )

    def _between(self, a: int, b: int) -> Difference:
        return self._found[min(a, b), max(a, b)]

    def divergence(self, log_start: int) -> Iterator[Runs]:
        """For each replica where it is not what was read, or not what the one that fits best holds.

        Evidence: kind, yardstick.
        """
        for at, log in enumerate(self._logs):
            best = self._ranked[0]
            flaws = self._misfits[at]
            if at != best:
                flaws = Flaws.joined([flaws, self._unlike(at, best, log_start)])
            yardstick = np.full(len(flaws), self._logs[best].broker)
            evidence = {"kind": flaws.kind, "yardstick": yardstick}
            yield runs(log.broker, flaws.first, flaws.last, flaws.kind, evidence)

    def _unlike(self, at: int, best: int, log_start: int) -> Flaws:
        found, limit = self._between(at, best), min(self._logs[at].limit, self._logs[best].limit)
        decided = (found.base >= log_start) & (found.last < limit)
        return Flaws.of(found.base[decided], found.last[decided], OTHER_BATCH)

    def log_matching(self) -> Iterator[Runs]:
        """For each replica where it differs from one that fits better, below a place that both share.

        Evidence: other (its broker), offset and epoch of that place.
        """
        for at, partners in self._partners():
            parts = [(best, *self._below_the_shared(at, best)) for best in partners]
            flaws = [flaw for _, flaw, _, _ in parts]
            evidence = {
                name: np.concatenate([np.full(len(part[1]), part[place]) for part in parts])
                for name, place in (("offset", 2), ("epoch", 3))
            }
            evidence["other"] = self._brokers(partners, flaws)
            yield _runs(self._logs[at], flaws, evidence)

    def _below_the_shared(self, at: int, best: int) -> tuple[Flaws, int, int]:
        """The differences up to the last batch end that both have under one epoch; that end and epoch."""
        found, one, other = self._between(at, best), self._logs[at].batches, self._logs[best].batches
        if not len(found):
            return Flaws.of(found.base, found.last, 0), NONE, NONE
        place = _rows_at(one.rising_base, other.rising_base, other.rising)
        shares = (
            (place >= 0)
            & (one.rising_last == other.last[place])
            & (one.leader_epoch[one.rising] == other.leader_epoch[place])
        )
        last_shared = np.flatnonzero(shares)[-1:]
        upto = int(one.rising_base[last_shared].max(initial=NONE))
        kept = found.base <= upto
        end = int(one.rising_last[last_shared].max(initial=NONE))
        epoch = int(one.leader_epoch[one.rising[last_shared]].max(initial=NONE))
        return Flaws.of(found.base[kept], found.last[kept], 0), end, epoch

    def one_leader(self) -> Iterator[Runs]:
        """For each replica and leader epoch, where whole batches differ from those of one that fits better.

        Evidence: other (its broker), epoch.
        """
        for at, partners in self._partners():
            parts = [self._of_one_epoch(at, best) for best in partners]
            flaws = Flaws.joined(parts)
            others = self._brokers(partners, parts)
            for epoch in np.unique(flaws.kind).tolist():
                its = flaws.kind == epoch
                evidence = {"other": others[its], "epoch": flaws.kind[its]}
                yield runs(
                    self._logs[at].broker, flaws.first[its], flaws.last[its], flaws.kind[its], evidence
                )

    def _of_one_epoch(self, at: int, best: int) -> Flaws:
        """Differences between whole batches of one epoch, which is the kind."""
        found, low, high = self._between(at, best), min(at, best), max(at, best)
        one, other = self._logs[low].batches, self._logs[high].batches
        both = (found.one >= 0) & (found.other >= 0)
        mine, theirs = found.one[both], found.other[both]
        epoch = one.leader_epoch[mine]
        wanted = (epoch == other.leader_epoch[theirs]) & one.crc_ok[mine] & other.crc_ok[theirs]
        return Flaws(
            first=found.base[both][wanted], last=found.last[both][wanted], kind=epoch[wanted].astype(np.int64)
        )

    def _partners(self) -> Iterator[tuple[int, list[int]]]:
        """Each replica but the best, with those that fit better."""
        for rank in range(1, len(self._ranked)):
            yield self._ranked[rank], self._ranked[:rank]

    def _brokers(self, partners: Sequence[int], parts: Sequence[Flaws]) -> Ints:
        """The partner's broker for each flaw of each part, in order."""
        pairs = zip(partners, parts, strict=True)
        return np.concatenate([np.full(len(part), self._logs[best].broker) for best, part in pairs])


def _runs(log: ReplicaLog, parts: Sequence[Flaws], evidence: Columns) -> Runs:
    flaws = Flaws.joined(parts)
    return runs(log.broker, flaws.first, flaws.last, flaws.kind, evidence)
