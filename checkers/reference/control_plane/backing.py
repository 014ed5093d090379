"""When a partition could acknowledge acks=all: spans of time with enough replicas in sync.

A leader acknowledges by the ISR that *it* knows, and appends only while that has min.insync.replicas members
(or all replicas, if there are fewer). It learns of a change later than the controller commits it, a leader
that is cut off much later; until then it needs all of the older ISR (KIP-497), so its acknowledgements keep
the promise. What a leader knew is in the samples: each carries the ISR of the broker that leads.

Invariant: `certain` are spans in which the committed ISR was large enough; outside of `possible` no leader
could know of such an ISR, however the clocks are read within their slack.
Evidence: the states of the partition and its settings in the metadata log, the samples of its leaders, the
clocks.
Counterexample to "the committed ISR decides":
    min.insync.replicas=2; broker 1 leads ISR [1, 2]; 1 and 2 are cut off from the controllers
    2 is fenced at 7 s, ISR [1]; 2 still fetches from 1, which still acknowledges: both have each record
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate

import numpy as np

from checkers.history.columnar import columns_of
from checkers.history.metadata_log.settings import MIN_ISR, Settings
from checkers.history.rows import ConfigChange, Context, MetadataChange, TopicPartition
from checkers.history.tables import NONE
from checkers.reference.control_plane.rule_result import states_of
from checkers.reference.control_plane.wall_clock import WallClock

NEVER_NS = 1 << 62
APPLIED_WITHIN_NS = 1_000_000_000
"""A broker shows a state in its metadata before its replica manager acts by it: some milliseconds later,
unless the machine is starved. So much later an acknowledgement counts as one under the new state."""

Span = tuple[int, int]
"""[begin, end) in ns of the history's clock."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Backing:
    """Spans of one partition, disjoint and ascending."""

    certain: tuple[Span, ...]
    possible: tuple[Span, ...]
    slack_ns: int


@dataclass(frozen=True, slots=True, kw_only=True)
class _Phase:
    """A time in which neither the partition's state nor the setting changed. `enough` None: not known."""

    state: MetadataChange
    enough: bool | None
    since_ns: int


@dataclass(frozen=True, slots=True, kw_only=True)
class _Sample:
    at_ns: int
    leader: int
    leader_epoch: int
    isr: frozenset[int]


def backing(context: Context, clock: WallClock) -> dict[TopicPartition, Backing]:
    """The spans of each partition that the metadata log knows."""
    settings, samples = Settings(context.configs), _samples(context)
    return {
        tp: _spans(list(_phases(tp, rows, settings, clock)), samples.get(tp, ()), clock.slack_ns)
        for tp, rows in states_of(context).items()
    }


def _phases(
    tp: TopicPartition, rows: Sequence[MetadataChange], settings: Settings, clock: WallClock
) -> Iterator[_Phase]:
    changes: list[MetadataChange | ConfigChange] = [*settings.changes(tp.topic, MIN_ISR), *rows]
    state: MetadataChange | None = None
    for change in sorted(changes, key=lambda change: change.log_offset):
        if isinstance(change, MetadataChange):
            state = change
        if state is not None:
            minimum = settings.min_isr(tp.topic, change.log_offset)
            yield _Phase(state=state, enough=_enough(state, minimum), since_ns=clock.at(change.at_ms))


def _enough(state: MetadataChange, minimum: int | None) -> bool | None:
    if state.leader == NONE:
        return False
    return None if minimum is None else len(state.isr) >= min(minimum, len(state.replicas))


def _spans(phases: Sequence[_Phase], samples: Sequence[_Sample], slack_ns: int) -> Backing:
    """A controller's clock may step back: a change was at the earliest when a later one is dated, at the
    latest when an earlier one is."""
    since = [phase.since_ns for phase in phases]
    earliest = [*reversed([*accumulate(reversed(since), min)]), NEVER_NS]
    latest = [*accumulate(since, max), NEVER_NS]
    known_until = _known_until(phases, samples)
    certain = [(latest[at], earliest[at + 1]) for at, phase in enumerate(phases) if phase.enough]
    possible = [
        (earliest[at] - slack_ns, max(latest[at + 1] + slack_ns, known_until[at]))
        for at, phase in enumerate(phases)
        if phase.enough is not False
    ]
    return Backing(certain=_merged(certain), possible=_merged(possible), slack_ns=slack_ns)


def _known_until(phases: Sequence[_Phase], samples: Sequence[_Sample]) -> list[int]:
    """For each phase, when its leader is first shown to know of a later one; NEVER_NS: not shown."""
    until = [NEVER_NS] * len(phases)
    for epoch in {phase.state.leader_epoch for phase in phases}:
        places = [at for at, phase in enumerate(phases) if phase.state.leader_epoch == epoch]
        for at, seen_ns in _learnt(phases, places, samples, epoch):
            until[at] = seen_ns + APPLIED_WITHIN_NS
    return until


def _learnt(
    phases: Sequence[_Phase], places: Sequence[int], samples: Sequence[_Sample], epoch: int
) -> Iterator[Span]:
    """(phase, time): the leader of an epoch has shown a later ISR of it, or one of the ISR leads a later
    epoch and follows no more. The samples are taken to show the earliest phase that fits."""
    waiting = list(places)
    for sample in samples:
        if sample.leader_epoch == epoch:
            fits = [at for at in waiting if frozenset(phases[at].state.isr) == sample.isr]
            passed = [at for at in waiting if fits and at < fits[0]]
        else:
            later = sample.leader_epoch > epoch
            passed = [at for at in waiting if later and sample.leader in phases[at].state.isr]
        yield from ((at, sample.at_ns) for at in passed)
        waiting = [at for at in waiting if at not in passed]


def _merged(spans: Iterable[Span]) -> tuple[Span, ...]:
    merged: list[Span] = []
    for begin, end in sorted(span for span in spans if span[0] < span[1]):
        if merged and begin <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((begin, end))
    return tuple(merged)


def _samples(context: Context) -> Mapping[TopicPartition, Sequence[_Sample]]:
    """What the leaders reported, by time, without those that repeat the one before."""
    names = ("topic", "partition", "at_ns", "leader", "leader_epoch", "isr")
    columns = columns_of(context.watermarks, names)
    order = np.argsort(columns["at_ns"], kind="stable")
    values = (columns[name][order].tolist() for name in names)
    samples: dict[TopicPartition, list[_Sample]] = defaultdict(list)
    last: dict[TopicPartition, tuple[int, int, frozenset[int]]] = {}
    for topic, partition, at_ns, leader, epoch, isr in zip(*values, strict=True):
        tp, shown = TopicPartition(topic, partition), (leader, epoch, frozenset(isr))
        if NONE not in (leader, epoch) and last.get(tp) != shown:
            last[tp] = shown
            samples[tp].append(_Sample(at_ns=at_ns, leader=leader, leader_epoch=epoch, isr=shown[2]))
    return samples
