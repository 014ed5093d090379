"""Who led a partition, and who was in sync, at any time of a run: the metadata log on the run's own clock.

A leader is elected cleanly from the in-sync replicas or, with KIP-966, from the eligible ones (ELR), or as
the last known leader of a partition that has neither. A deposed leader that was cut off rather than dead may
go on acknowledging (acks <= 1) until it learns of its successor, or its process ends; in an epoch before its
last one, if it was elected again without knowing. A partition that the metadata log does not name is known
from the watermark samples, more coarsely. A broker that has lost a log directory leads nothing of what lay
there (KIP-858), though its process goes on.

Invariant: at any time a partition has the state after its last change; before that, its first state.
Evidence: the metadata log (wall clock of the controller, mapped to the run's clock by the readings of both),
else the samples with the highest leader epoch so far; when nodes ended (faults and node events).
Counterexample to "the new leader ends the acks of the old one":
    broker 1 leads and is cut off from brokers 2 and 3; broker 2 is elected at 7 s
    broker 1 runs on: an acks=1 record that it acknowledged at 8 s was never replicated, and will be truncated
"""

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Literal

import numpy as np

from checkers.contract.realised.downtimes import (
    NEVER_NS,
    SECOND_NS,
    Downtime,
    downtimes,
    ended_after_ns,
    without_directory,
)
from checkers.history.columnar import changes, columns_of
from checkers.history.rows import (
    FOLLOWER_START,
    LEADER_START,
    BrokerState,
    ClockPair,
    Context,
    TopicPartition,
    Watermark,
)
from checkers.history.tables import NONE

SLACK_NS = SECOND_NS
"""How far the wall clock of the metadata log may be from the run's clock where nobody measured it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Clock:
    """The run's clock against the wall clock. `monotonic_ns, wall_ns` were read when the run began: second 0
    of every sentence. `pairs`, by time, are the readings since."""

    monotonic_ns: int
    wall_ns: int
    pairs: tuple[ClockPair, ...] = ()

    def at(self, wall_ms: int) -> int:
        """A wall-clock time as monotonic nanoseconds, by the reading of both clocks that is nearest to it."""
        wall_ns = wall_ms * 1_000_000
        after = bisect_left(self.pairs, wall_ns, key=lambda pair: pair.wall_ns)
        near = self.pairs[max(0, after - 1) : after + 1]
        if not near:
            return wall_ns - self.wall_ns + self.monotonic_ns
        nearest = min(near, key=lambda pair: abs(pair.wall_ns - wall_ns))
        return wall_ns - nearest.wall_ns + nearest.at_ns

    @property
    def slack_ns(self) -> int:
        """How far a mapped time may be off: steps of the wall clock between readings, and their error."""
        if not self.pairs:
            return SLACK_NS
        shifts = [pair.wall_ns - pair.at_ns for pair in self.pairs]
        steps = [abs(late - early) for early, late in pairwise(shifts)]
        return max(steps, default=0) + max(pair.error_ns for pair in self.pairs) + 2_000_000

    def seconds(self, at_ns: int) -> str:
        """A monotonic time for people, in seconds from the run's start."""
        return f"{(at_ns - self.monotonic_ns) / SECOND_NS:.2f} s"


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """The state of a partition from a time on. `exact`: as the metadata log has it; else from the samples.

    `registered` are the brokers that registered in the same append of the metadata log.
    """

    since_ns: int
    leader: int
    leader_epoch: int
    isr: frozenset[int]
    elr: frozenset[int] = frozenset()
    last_known_elr: frozenset[int] = frozenset()
    registered: frozenset[int] = frozenset()
    replicas: frozenset[int] = frozenset()
    recovering: bool = False
    exact: bool = True
    log_offset: int = NONE
    """Of the record in the metadata log; -1: from the samples, or not recorded."""


ElectionKind = Literal["clean", "ELR", "last known ELR", "unclean", "not known"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Election:
    """A leader took over under a new epoch.

    `deposed` led before, under `deposed_epoch` (-1: there was no leader yet), and may have gone on
    acknowledging under it until `deposed_until_ns` (-1: it was down before); it may be the same broker, which
    has not learnt of its new epoch yet. `isr` and `elr` are those that the controller elected from.
    """

    at_ns: int
    leader: int
    leader_epoch: int
    deposed: int
    deposed_epoch: int = NONE
    kind: ElectionKind
    isr: frozenset[int] = frozenset()
    elr: frozenset[int] = frozenset()
    deposed_until_ns: int = NONE
    log_offset: int = NONE
    """Of the record in the metadata log; -1: not recorded."""

    @property
    def unclean(self) -> bool:
        """Whether the leader was neither in sync nor eligible."""
        return self.kind == "unclean"


@dataclass(frozen=True, slots=True, kw_only=True)
class Leadership:
    """A broker that may have appended under an epoch.

    `deposed_by`: it had a successor by then; `usurped`: the metadata log gave the epoch to another.
    """

    leader: int
    epoch: int
    deposed_by: Election | None = None
    usurped: bool = False


class Timeline:
    """States and elections by partition; a partition without metadata and samples has none."""

    def __init__(self, context: Context, clock: Clock) -> None:
        self.clock, self.slack_ns = clock, clock.slack_ns
        self._states = _from_samples(context.watermarks) | _from_metadata(context, clock)
        self._usurpers = _usurpers(context, self._states)
        self._registered = _registrations(context.brokers, clock)
        away = {
            node: [replace(each, up_ns=self.registered_ns(node, each.up_ns)) for each in times]
            for node, times in downtimes(context).items()
        }
        lost, begun = _lost_directories(context, self._states), _begun(context, clock)
        self._elections = {
            tp: _elections(of, _with_lost(away, lost.get(tp, ())), begun.get(tp, ()))
            for tp, of in self._states.items()
        }
        self._may_be_down = self._with_earliest_ends(context, away)
        lines = (line for line in context.broker_lines if line.kind == LEADER_START)
        self._wrote = {(line.tp, line.node, line.leader_epoch) for line in lines}

    def states(self, tp: TopicPartition) -> Sequence[State]:
        """All states of a partition, by time."""
        return self._states.get(tp, ())

    def at(self, tp: TopicPartition, at_ns: int) -> State | None:
        """The state at a time; the first one for any time before it."""
        states = self.states(tp)
        found = bisect_right(states, at_ns, key=lambda state: state.since_ns)
        return states[max(0, found - 1)] if states else None

    def elections(self, tp: TopicPartition) -> Sequence[Election]:
        """Every change of leadership after the partition's first leader, by time."""
        return self._elections.get(tp, ())

    def began_ns(self, tp: TopicPartition, epoch: int) -> int:
        """When a leader epoch began; NONE if nobody knows of it."""
        its = (state.since_ns for state in self.states(tp) if state.leader_epoch == epoch)
        return next(its, NONE)

    def ended_ns(self, tp: TopicPartition, epoch: int) -> int:
        """When a leader epoch ended: another leader, or none, under a later one; NEVER_NS if it did not."""
        later = (state.since_ns for state in self.states(tp) if state.leader_epoch > epoch)
        return next(later, NEVER_NS)

    def out_of_sync(self, tp: TopicPartition, node: int, since_ns: int, until_ns: int) -> bool:
        """Whether a node was out of the in-sync replicas at any time in [since_ns, until_ns]."""
        return any(node not in state.isr for state in self._during(tp, since_ns, until_ns))

    def last_enough_ns(self, tp: TopicPartition, at_ns: int, least: int) -> int:
        """The last time until `at_ns` at which so many replicas were in sync; NONE if they never were."""
        states = self.states(tp)
        ends = (*(state.since_ns - 1 for state in states[1:]), at_ns)
        enough = (
            min(at_ns, end)
            for state, end in zip(states, ends, strict=True)
            if state.since_ns <= at_ns and len(state.isr) >= least
        )
        return max(enough, default=NONE)

    def in_sync(self, tp: TopicPartition, node: int, since_ns: int, until_ns: int) -> bool:
        """Whether a node was in sync at a time, or at any time from then until a later one."""
        return any(node in state.isr for state in self._during(tp, since_ns, until_ns))

    def eligible(self, tp: TopicPartition, node: int, since_ns: int, until_ns: int) -> bool:
        """Whether a node was in the ELR at a time, or at any time from then until a later one."""
        return any(node in state.elr for state in self._during(tp, since_ns, until_ns))

    def _during(self, tp: TopicPartition, since_ns: int, until_ns: int) -> Iterator[State]:
        """The state at a time, and those after it until a later one."""
        first = self.at(tp, since_ns)
        during = (state for state in self.states(tp) if since_ns < state.since_ns <= until_ns)
        return (state for state in (first, *during) if state)

    def isrs(self, tp: TopicPartition, epoch: int) -> Sequence[frozenset[int]]:
        """Who was in sync under a leader epoch, by time."""
        return [state.isr for state in self.states(tp) if state.leader_epoch == epoch]

    def in_sync_from(self, tp: TopicPartition, log_offset: int, until: Election) -> frozenset[int]:
        """All who were in sync after a record of the metadata log, or came in between it and an election; all
        that ever were, if either is not recorded."""
        states = self.states(tp)
        later = [state.isr for state in states if log_offset < state.log_offset < until.log_offset]
        first = [state.isr for state in states if state.log_offset <= log_offset][-1:]
        if NONE in (log_offset, until.log_offset) or log_offset >= until.log_offset:
            first, later = [], [state.isr for state in states]
        return frozenset[int]().union(*first, *later)

    def rejoined(self, tp: TopicPartition, node: int, after_ns: int, back_ns: int) -> int | None:
        """When a node that was out of the in-sync replicas at or after a time came back; None if never.

        It could from `back_ns` on: before, and while it is down again, the controllers may take it for alive,
        and elect it from the ELR.
        """
        at = self.at(tp, after_ns)
        out = at is not None and node not in at.isr
        for state in self.states(tp):
            if state.since_ns >= after_ns:
                is_back = out and node in state.isr and state.since_ns >= back_ns
                if is_back and not self._leads_in_vain(tp, state, node):
                    return state.since_ns
                out = out or node not in state.isr
        return None

    def let_in(self, tp: TopicPartition, node: int, since_ns: int, until_ns: int, back_ns: int) -> bool:
        """Whether another leader took a node into the in-sync replicas in (since_ns, until_ns), and after
        `back_ns`: by then it had all that was below the high watermark."""
        before = self.at(tp, since_ns)
        for state in self.states(tp):
            if state.since_ns >= until_ns:
                return False
            if state.since_ns > since_ns:
                enters = before is not None and node in state.isr and node not in before.isr
                if enters and state.leader not in (NONE, node) and state.since_ns >= back_ns:
                    return True
                before = state
        return False

    def _leads_in_vain(self, tp: TopicPartition, state: State, node: int) -> bool:
        """Whether the node is elected, and is down as long as that holds: the controllers have not missed it
        yet. One that wrote that it leads has led."""
        if state.leader != node or (tp, node, state.leader_epoch) in self._wrote:
            return False
        ended_ns = self.ended_ns(tp, state.leader_epoch)
        return any(
            each.down_ns <= state.since_ns and ended_ns <= each.up_ns
            for each in self._may_be_down.get(node, ())
        )

    def _with_earliest_ends(
        self, context: Context, away: Mapping[int, Sequence[Downtime]]
    ) -> Mapping[int, Sequence[Downtime]]:
        """`away`, and since when each process that a fault has ended may have been gone."""
        found = {node: list(its) for node, its in away.items()}
        for fault in context.faults:
            for place, node in enumerate(fault.down):
                down = Downtime(down_ns=fault.down_ns[place], up_ns=fault.up_ns[place])
                up_ns = self.registered_ns(node, down.up_ns) if down.up_ns != NONE else NEVER_NS
                since_ns = ended_after_ns(context, fault, node, down)
                found.setdefault(node, []).append(Downtime(down_ns=since_ns, up_ns=up_ns))
        return found

    def registered_ns(self, node: int, up_ns: int) -> int:
        """When a node whose process was started at `up_ns` had registered; `up_ns` if nothing shows it."""
        later = (at_ns for at_ns in self._registered.get(node, ()) if at_ns >= up_ns - self.slack_ns)
        return max(up_ns, next(later, up_ns))

    def leaders(self, tp: TopicPartition, since_ns: int, until_ns: int) -> tuple[Leadership, ...]:
        """Who may have appended in [since_ns, until_ns], widened by the slack: leaders, deposed ones that did
        not know of it, and whoever answered as leader of an epoch that is another's."""
        begin, end = since_ns - self.slack_ns, until_ns + self.slack_ns
        first = self.at(tp, begin)
        during = (state for state in self.states(tp) if begin < state.since_ns <= end)
        led = [
            Leadership(leader=s.leader, epoch=s.leader_epoch)
            for s in (first, *during)
            if s is not None and s.leader != NONE
        ]
        unaware = [its for each in self.elections(tp) for its in self._unaware(tp, each, begin, end)]
        epochs = {each.epoch for each in led}
        usurped = [each for each in self._usurpers.get(tp, ()) if each.epoch in epochs]
        return tuple(dict.fromkeys([*led, *unaware, *usurped]))

    def _unaware(self, tp: TopicPartition, election: Election, begin: int, end: int) -> Iterator[Leadership]:
        """As what the one that had led before an election may have appended in a time, not knowing that its
        epoch was over: while nobody led, or it did itself under the next epoch, and after another was
        elected."""
        if election.deposed_until_ns == NONE or election.deposed_until_ns <= begin:
            return
        its = Leadership(leader=election.deposed, epoch=election.deposed_epoch)
        others = (each for each in self.elections(tp) if each.leader != its.leader)
        successor = next((each for each in others if each.leader_epoch >= election.leader_epoch), None)
        if self.ended_ns(tp, its.epoch) <= end and (successor is None or begin < successor.at_ns):
            yield its
        if successor is not None and successor.at_ns <= end:
            yield replace(its, deposed_by=successor)


def was_moved(context: Context, tp: TopicPartition, node: int) -> bool:
    """Whether a node ever had no replica of a partition: one that comes back begins with an empty log."""
    return any(change.tp == tp and node not in change.replicas for change in context.metadata)


def _lost_directories(
    context: Context, partitions: Iterable[TopicPartition]
) -> Mapping[TopicPartition, Sequence[tuple[int, Downtime]]]:
    """When replicas could not be served because their log directory was seen to be offline, by partition,
    each with its node."""
    found: dict[TopicPartition, list[tuple[int, Downtime]]] = defaultdict(list)
    for fault in context.faults:
        for node in fault.nodes if fault.takes_log_dir and fault.effect_ns != NONE else ():
            lost = without_directory(context, fault, node)
            for tp in (tp for tp in partitions if fault.concerns(node, tp)):
                found[tp].append((node, lost))
    return found


def _with_lost(
    away: Mapping[int, Sequence[Downtime]], lost: Sequence[tuple[int, Downtime]]
) -> Mapping[int, Sequence[Downtime]]:
    """`away`, and what one partition has lost."""
    if not lost:
        return away
    nodes = away.keys() | {node for node, _ in lost}
    return {
        node: sorted([*away.get(node, ()), *(each for lost_by, each in lost if lost_by == node)])
        for node in nodes
    }


def _usurpers(
    context: Context, states: Mapping[TopicPartition, Sequence[State]]
) -> Mapping[TopicPartition, Sequence[Leadership]]:
    """Who answered, or wrote into its own log, as the leader of an epoch that the metadata log gave to
    another."""
    found: dict[TopicPartition, dict[Leadership, None]] = defaultdict(dict)
    elected = {(tp, state.leader, state.leader_epoch) for tp, its in states.items() for state in its}
    samples = context.watermarks
    changed = changes(samples, "at_ns", ("topic", "partition", "leader"), ("leader_epoch",)).tolist()
    claims = [(each.tp, each.leader, each.leader_epoch) for each in (samples[at] for at in changed)]
    claims += [
        (line.tp, line.node, line.leader_epoch)
        for line in context.broker_lines
        if line.kind == LEADER_START and line.tp in states
    ]
    for tp, leader, epoch in claims:
        if NONE not in (leader, epoch) and (tp, leader, epoch) not in elected:
            found[tp][Leadership(leader=leader, epoch=epoch, usurped=True)] = None
    return {tp: tuple(each) for tp, each in found.items()}


def _from_metadata(context: Context, clock: Clock) -> dict[TopicPartition, list[State]]:
    states: dict[TopicPartition, list[State]] = defaultdict(list)
    registered: dict[int, set[int]] = defaultdict(set)
    for broker in _new_processes(context.brokers):
        registered[broker.at_ms].add(broker.node)
    for row in sorted(context.metadata, key=lambda row: (row.log_offset, row.at_ms, row.partition_epoch)):
        known = states[row.tp]
        # The order is the log's: its clock may step back.
        since_ns = max(clock.at(row.at_ms), known[-1].since_ns if known else 0)
        known.append(
            State(
                since_ns=since_ns,
                leader=row.leader,
                leader_epoch=row.leader_epoch,
                isr=frozenset(row.isr),
                elr=frozenset(row.elr),
                last_known_elr=frozenset(row.last_known_elr),
                registered=frozenset(registered.get(row.at_ms, ())),
                replicas=frozenset(row.replicas),
                recovering=row.recovering,
                log_offset=row.log_offset,
            )
        )
    return states


def _registrations(brokers: Iterable[BrokerState], clock: Clock) -> Mapping[int, Sequence[int]]:
    """When each node registered."""
    found: dict[int, list[int]] = defaultdict(list)
    for row in _new_processes(brokers):
        found[row.node].append(clock.at(row.at_ms))
    return found


def _new_processes(brokers: Iterable[BrokerState]) -> Iterator[BrokerState]:
    """The registrations among the changes of brokers: a new broker epoch for each process of a node."""
    epochs: dict[int, int] = {}
    for row in sorted(brokers, key=lambda row: row.log_offset):
        if row.registered and epochs.get(row.node) != row.broker_epoch:
            epochs[row.node] = row.broker_epoch
            yield row


def _from_samples(samples: Sequence[Watermark]) -> dict[TopicPartition, list[State]]:
    """The changes between samples; samples of a deposed leader (a lower epoch) are left out."""
    states: dict[TopicPartition, list[State]] = defaultdict(list)
    order = np.argsort(columns_of(samples, ("at_ns",))["at_ns"], kind="stable")
    for sample in (samples[int(at)] for at in _changes(samples, order)):
        known, isr = states[sample.tp], frozenset(sample.isr)
        last = (known[-1].leader_epoch, known[-1].isr) if known else (NONE, isr)
        if sample.leader_epoch > last[0] or (sample.leader_epoch == last[0] != NONE and isr != last[1]):
            state = State(
                since_ns=sample.at_ns,
                leader=sample.leader,
                leader_epoch=sample.leader_epoch,
                isr=isr,
                exact=False,
            )
            known.append(state)
    return {tp: known for tp, known in states.items() if known}


def _changes(
    samples: Sequence[Watermark], order: np.ndarray[tuple[int], np.dtype[np.int64]]
) -> Iterable[int]:
    """Places of the samples that differ from the one before of their partition, in `order`."""
    names = ("topic", "partition", "leader", "leader_epoch", "isr")
    columns = columns_of(samples, names)
    last: dict[tuple[str, int], tuple[object, ...]] = {}
    for at in order.tolist():
        key = (columns["topic"][at], int(columns["partition"][at]))
        value = (columns["leader"][at], columns["leader_epoch"][at], tuple(columns["isr"][at]))
        if last.get(key) != value:
            last[key] = value
            yield at


@dataclass(frozen=True, slots=True, kw_only=True)
class Begun:
    """A node wrote that it leads or follows under an epoch."""

    at_ns: int
    node: int
    leader_epoch: int


def _begun(context: Context, clock: Clock) -> Mapping[TopicPartition, Sequence[Begun]]:
    """By partition, in the order of the nodes' logs; without what nobody can date."""
    found: dict[TopicPartition, list[Begun]] = defaultdict(list)
    for line in context.broker_lines:
        if line.kind in (LEADER_START, FOLLOWER_START) and NONE not in (line.at_ms, line.leader_epoch):
            at_ns = clock.at(line.at_ms)
            found[line.tp].append(Begun(at_ns=at_ns, node=line.node, leader_epoch=line.leader_epoch))
    return found


def _elections(
    states: Sequence[State], away: Mapping[int, Sequence[Downtime]], begun: Sequence[Begun]
) -> list[Election]:
    """`away`: when no process of a node could act for one that led before, from its end until the next one
    had registered. `begun`: the roles that nodes wrote of."""
    found, led = [], states[0]
    for before, state in pairwise(states):
        if state.leader != NONE and state.leader_epoch > before.leader_epoch:
            election = Election(
                at_ns=state.since_ns,
                leader=state.leader,
                leader_epoch=state.leader_epoch,
                deposed=led.leader,
                deposed_epoch=led.leader_epoch,
                kind=_kind(before, state),
                isr=before.isr,
                elr=before.elr,
                deposed_until_ns=_deposed_until(led.leader, state, states, away.get(led.leader, ()), begun),
                log_offset=state.log_offset,
            )
            found.append(election)
            led = state
    return found


def _kind(before: State, now: State) -> ElectionKind:
    """A broker that shut down uncleanly leaves the ELR by its new registration, and the last known leader may
    be elected in the same append. The record that ends a reassignment takes the former leader off the
    replicas, and may elect one that has just come into the ISR."""
    if not before.exact:
        return "not known"
    ends_reassignment = before.leader in before.replicas - now.replicas and not now.recovering
    if now.leader in before.isr or (ends_reassignment and now.leader in now.isr):
        return "clean"
    if now.leader in before.elr:
        return "ELR"
    if before.last_known_elr == {now.leader} and not (before.isr | before.elr) - now.registered:
        return "last known ELR"
    return "unclean"


def _deposed_until(
    node: int, now: State, states: Sequence[State], away: Sequence[Downtime], begun: Sequence[Begun]
) -> int:
    """Until its process ends, or until it has learnt of the new leader: by its own word, or if it wrote
    nothing, when it is in sync. By its own word first: one that stays in sync, as where leaders move as
    planned, learns of it some time after the election; so does one that is elected again. A process that was
    started anew leads nothing of what the one before had led."""
    if node == NONE or any(each.down_ns <= now.since_ns < each.up_ns for each in away):
        return NONE
    learnt = (
        max(each.at_ns, now.since_ns)
        for each in begun
        if each.node == node and each.leader_epoch >= now.leader_epoch
    )
    back = (state.since_ns for state in states if state.since_ns >= now.since_ns and node in state.isr)
    died = (each.down_ns for each in away if each.down_ns >= now.since_ns)
    return min(min(learnt, default=next(back, NEVER_NS)), next(died, NEVER_NS))
