"""Readers and the high watermark: nobody is given what is not below it.

Invariant: whatever was given to a reader before a leader was asked for its high watermark lies below what the
leader answers. It need not be the leader that gave it: what an older one exposed was replicated, and a new
one hides its high watermark until that has passed the start of its epoch (KIP-207).
Evidence: the reads, by the time at which the reader had them; the samples, by the time at which they were
asked; the metadata log, for when a later epoch began. A leader that was deposed answers what it knew: its
sample says nothing of reads after that.
Counterexample to "it stayed, so it was rightly given":
    a reader is given offset 41 at 5.0 s; broker 1, which leads at that time, is asked at 5.2 s: 40
    offset 41 was not below the high watermark at 5.0 s: early-read, though the log keeps it for ever

What an earlier sample had exposed was read rightly: that its high watermark fell since is hw-monotone. A
permitted loss lowers the high watermark, too: then reads and samples are of one event.
"""

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import NamedTuple

from checkers.anomalies import Anomaly
from checkers.history.columnar import columns_of
from checkers.history.rows import Context, MetadataChange, Read, TopicPartition, Watermark
from checkers.history.tables import NONE
from checkers.properties import Property
from checkers.reference.control_plane.rule_result import NOT_COLLECTED, RuleResult, collected, states_of
from checkers.reference.control_plane.wall_clock import WallClock, wall_clock

NEVER_NS = 1 << 62


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class ReadLimit:
    """What one sample says of reads: those before `before_ns` lie below `exposed`, its own high watermark or
    one that was answered before, under its epoch or an older one."""

    before_ns: int
    answered_ns: int
    leader_epoch: int
    high_watermark: int
    exposed: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadLimits:
    """What all samples say of reads: of each partition of the metadata log, by time."""

    of: Mapping[TopicPartition, Sequence[ReadLimit]]
    samples: int
    """How many say when they were asked for, of any partition."""

    def counted(self, proven: Iterable[TopicPartition]) -> tuple[int, int]:
        """How many were examined, and how many are undecided; `proven`: the decided partitions."""
        examined = sum(len(self.of.get(tp, ())) for tp in proven)
        return examined, self.samples - examined


def read_limits(context: Context) -> ReadLimits | None:
    """None: not decided, for lack of evidence."""
    clock = wall_clock(context.clocks)
    if clock is None or context.unplaced or not collected(context, "clocks"):
        return None
    samples = _samples(context.watermarks)
    states = states_of(context)
    return ReadLimits(
        of={tp: _limits(its, states[tp], clock) for tp, its in samples.items() if tp in states},
        samples=sum(sample.asked_ns != NONE for its in samples.values() for sample in its),
    )


class _Sample(NamedTuple):
    """The columns of a Watermark that are needed here: a night has a million, too many to make whole rows."""

    at_ns: int
    asked_ns: int
    leader_epoch: int
    high_watermark: int


def _samples(watermarks: Sequence[Watermark]) -> Mapping[TopicPartition, list[_Sample]]:
    """Those of each partition in which a leader told both its epoch and its high watermark."""
    samples: dict[TopicPartition, list[_Sample]] = defaultdict(list)
    names = ("topic", "partition", *_Sample._fields)
    columns = [column.tolist() for column in columns_of(watermarks, names).values()]
    for topic, partition, *sample in zip(*columns, strict=True):
        told = _Sample(*sample)
        if NONE not in (told.leader_epoch, told.high_watermark):
            samples[TopicPartition(topic, partition)].append(told)
    return samples


def _limits(
    samples: Sequence[_Sample], states: Sequence[MetadataChange], clock: WallClock
) -> list[ReadLimit]:
    ends_ns = _ends_ns({each.leader_epoch for each in samples}, states, clock)
    exposed = _Exposed()
    limits = []
    for sample in sorted(samples, key=attrgetter("at_ns")):
        epoch, value = sample.leader_epoch, sample.high_watermark
        exposed.add(epoch, value)
        if sample.asked_ns != NONE:
            limits.append(
                ReadLimit(
                    before_ns=min(sample.asked_ns, ends_ns[epoch]),
                    answered_ns=sample.at_ns,
                    leader_epoch=epoch,
                    high_watermark=value,
                    exposed=exposed.up_to(epoch),
                )
            )
    return sorted(limits)


class _Exposed:
    """The greatest high watermark of the samples so far, up to each epoch: mostly, that is the latest."""

    def __init__(self) -> None:
        self._epochs: list[int] = []
        self._highest: list[int] = []

    def add(self, epoch: int, high_watermark: int) -> None:
        at = bisect_left(self._epochs, epoch)
        if at == len(self._epochs) or self._epochs[at] != epoch:
            self._epochs.insert(at, epoch)
            self._highest.insert(at, self._highest[at - 1] if at else NONE)
        while at < len(self._highest) and self._highest[at] < high_watermark:
            self._highest[at] = high_watermark
            at += 1

    def up_to(self, epoch: int) -> int:
        return self._highest[bisect_right(self._epochs, epoch) - 1]


def _ends_ns(
    epochs: Collection[int], states: Iterable[MetadataChange], clock: WallClock
) -> Mapping[int, int]:
    """By epoch, the earliest time at which a later one may have begun."""
    begins = sorted((row.leader_epoch, clock.at(row.at_ms)) for row in states)
    ends_ns, earliest_ns = {}, NEVER_NS
    for epoch in sorted(epochs, reverse=True):
        while begins and begins[-1][0] > epoch:
            earliest_ns = min(earliest_ns, begins.pop()[1])
        ends_ns[epoch] = earliest_ns - clock.slack_ns
    return ends_ns


def early_read(context: Context, reads: Iterable[Read], proven: Collection[TopicPartition]) -> RuleResult:
    """Each run of samples under one epoch that reads before them had passed. Subset: whole.

    `reads` are those of the decided partitions, `proven`.
    """
    limits = read_limits(context)
    if limits is None:
        return NOT_COLLECTED
    by_partition: dict[TopicPartition, list[Read]] = defaultdict(list)
    for read in reads:
        by_partition[read.tp].append(read)
    anomalies = [
        early(tp, *passed)
        for tp, its in sorted(by_partition.items())
        for passed in _passed(limits.of.get(tp, ()), its)
    ]
    examined, undecided = limits.counted(proven)
    return RuleResult(anomalies=anomalies, examined=examined, undecided=undecided)


class TopRead(NamedTuple):
    """The first read of the greatest offset that was read so far; each -1: nothing was read."""

    offset: int = NONE
    read_ns: int = NONE
    leader_epoch: int = NONE
    """Of its batch; -1 also where that is not known."""


def _passed(limits: Sequence[ReadLimit], reads: Iterable[Read]) -> Iterator[tuple[ReadLimit, TopRead]]:
    """The first limit of each run, with the top of what was read before it."""
    waiting = sorted(reads, key=attrgetter("read_ns"), reverse=True)
    was_passed: dict[int, bool] = {}
    top = TopRead()
    for limit in limits:
        while waiting and waiting[-1].read_ns < limit.before_ns:
            read = waiting.pop()
            if read.offset > top.offset:
                top = TopRead(read.offset, read.read_ns, read.leader_epoch)
        is_passed = limit.exposed <= top.offset
        if is_passed and not was_passed.get(limit.leader_epoch, False):
            yield limit, top
        was_passed[limit.leader_epoch] = is_passed


def early(tp: TopicPartition, limit: ReadLimit, top: TopRead) -> Anomaly:
    """The anomaly of offsets from `limit.exposed` to that of `top`: all of them were in the log that gave it
    out, under its epoch or one before."""
    return Anomaly(
        property=Property.EARLY_READ,
        topic=tp.topic,
        partition=tp.partition,
        offset=limit.exposed,
        last_offset=top.offset,
        producer=NONE,
        sequence=NONE,
        completed_ns=limit.answered_ns,
        seen_ns=top.read_ns,
        under_epoch=top.leader_epoch,
        note=(
            f"a reader had offset {top.offset} when the leader of epoch {limit.leader_epoch} was asked, "
            f"and it answered {limit.high_watermark}"
        ),
    )
