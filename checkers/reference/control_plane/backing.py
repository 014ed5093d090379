"""When a partition could acknowledge acks=all: spans of time with enough replicas in sync.

A leader acknowledges by the ISR that *it* knows, and appends only while that has min.insync.replicas members
(or all replicas, if there are fewer). It learns of a change later than the controller commits it, a leader
that is cut off much later; until then it needs all of the older ISR (KIP-497), so its acknowledgements keep
the promise. What a leader knew is in the samples: each carries the ISR of the broker that leads. A setting is
in none; but a fault that changes one has asked every broker, and who knows it knows all states of before.

Invariant: `certain` are spans in which the committed ISR was large enough; outside of `possible` no leader
could know of such an ISR, however the clocks are read within their slack. What is possible beyond `near` only
lacks a sign that the leader knew of the newer state or setting, and any that it did not.
Evidence: the states of the partition and its settings in the metadata log, the samples of its leaders, the
faults that changed settings, the clocks.
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
from checkers.history.operations.changed_settings import known_by_all_ns
from checkers.history.rows import ConfigChange, Context, Fault, MetadataChange, TopicPartition
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
    near: tuple[Span, ...]
    slack_ns: int


@dataclass(frozen=True, slots=True, kw_only=True)
class _Phase:
    """A time in which neither the partition's state nor the setting changed. `enough` None: not known."""

    state: MetadataChange
    enough: bool | None
    since_ns: int
    known_ns: int
    """When every broker had learnt of the setting that changed then; NEVER_NS: not shown, or none changed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Sample:
    """What a leader reported, several times perhaps, in [at_ns, until_ns]."""

    at_ns: int
    until_ns: int
    leader: int
    leader_epoch: int
    isr: frozenset[int]


def backing(context: Context, clock: WallClock) -> dict[TopicPartition, Backing]:
    """The spans of each partition that the metadata log knows."""
    settings, samples = Settings(context.configs), _samples(context)
    return {
        tp: _spans(
            list(_phases(tp, rows, settings, context.faults, clock)), samples.get(tp, ()), clock.slack_ns
        )
        for tp, rows in states_of(context).items()
    }


def _phases(
    tp: TopicPartition,
    rows: Sequence[MetadataChange],
    settings: Settings,
    faults: Sequence[Fault],
    clock: WallClock,
) -> Iterator[_Phase]:
    changes: list[MetadataChange | ConfigChange] = [*settings.changes(tp.topic, MIN_ISR), *rows]
    state: MetadataChange | None = None
    for change in sorted(changes, key=lambda change: change.log_offset):
        if isinstance(change, MetadataChange):
            state = change
        if state is not None:
            minimum, known_ns = settings.min_isr(tp.topic, change.log_offset), None
            if isinstance(change, ConfigChange) and change.key == MIN_ISR:
                known_ns = known_by_all_ns(tp.topic, change, faults, clock)
            yield _Phase(
                state=state,
                enough=_enough(state, minimum),
                since_ns=clock.at(change.at_ms),
                known_ns=NEVER_NS if known_ns is None else known_ns,
            )


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
    possible, near = [], []
    for at, phase in enumerate(phases):
        if phase.enough is False:
            continue
        begin, end = earliest[at] - slack_ns, latest[at + 1] + slack_ns
        shown = known_until[at] < NEVER_NS or phase.enough is None
        until = known_until[at] if shown else _shown_until(at, phases, samples)
        possible.append((begin, max(end, known_until[at])))
        near.append((begin, max(end, until)))
    return Backing(
        certain=_merged(certain), possible=_merged(possible), near=_merged(near), slack_ns=slack_ns
    )


def _shown_until(at: int, phases: Sequence[_Phase], samples: Sequence[_Sample]) -> int:
    """Until when its leader is shown to have known of no later ISR than that of a phase; NONE: never. Under a
    setting that wants more, the same ISR shows nothing."""
    state, ends = phases[at].state, [NONE]
    for later in phases[at + 1 :]:
        same = later.state.leader_epoch == state.leader_epoch and set(later.state.isr) == set(state.isr)
        if same and later.enough is False:
            return NONE
    for sample in samples:
        if sample.leader_epoch == state.leader_epoch and sample.isr == frozenset(state.isr):
            ends.append(sample.until_ns + APPLIED_WITHIN_NS)
    return max(ends)


def _known_until(phases: Sequence[_Phase], samples: Sequence[_Sample]) -> list[int]:
    """For each phase, when its leader is first shown to know of a later one, or every broker of a later
    setting; NEVER_NS: not shown."""
    until = [NEVER_NS] * len(phases)
    for epoch in {phase.state.leader_epoch for phase in phases}:
        places = [at for at, phase in enumerate(phases) if phase.state.leader_epoch == epoch]
        for at, seen_ns in _learnt(phases, places, samples, epoch):
            until[at] = seen_ns + APPLIED_WITHIN_NS
    by_setting = [*reversed([*accumulate(reversed([phase.known_ns for phase in phases]), min)]), NEVER_NS]
    return [min(each) for each in zip(until, by_setting[1:], strict=True)]


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
    """What the leaders reported, by time; those that repeat the one before are one with it."""
    names = ("topic", "partition", "at_ns", "leader", "leader_epoch", "isr")
    columns = columns_of(context.watermarks, names)
    order = np.argsort(columns["at_ns"], kind="stable")
    values = (columns[name][order].tolist() for name in names)
    begins: dict[TopicPartition, list[tuple[int, int, int, frozenset[int]]]] = defaultdict(list)
    ends: dict[TopicPartition, list[int]] = defaultdict(list)
    last: dict[TopicPartition, tuple[int, int, frozenset[int]]] = {}
    for topic, partition, at_ns, leader, epoch, isr in zip(*values, strict=True):
        tp, shown = TopicPartition(topic, partition), (leader, epoch, frozenset(isr))
        if NONE in (leader, epoch):
            continue
        if last.get(tp) == shown:
            ends[tp][-1] = at_ns
            continue
        last[tp] = shown
        ends[tp].append(at_ns)
        begins[tp].append((at_ns, *shown))
    return {
        tp: [
            _Sample(at_ns=at_ns, until_ns=until_ns, leader=leader, leader_epoch=epoch, isr=isr)
            for (at_ns, leader, epoch, isr), until_ns in zip(its, ends[tp], strict=True)
        ]
        for tp, its in begins.items()
    }
