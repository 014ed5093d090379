"""Who led a partition, and who was in sync, at any time of a run: the metadata log on the run's own clock.

A leader is elected *cleanly* from the in-sync replicas or, with KIP-966, from the eligible ones (ELR). A
deposed leader that was cut off rather than dead may go on acknowledging (acks <= 1) until it learns of its
successor. A partition that the metadata log does not name is known from the watermark samples, more coarsely.

Invariant: at any time a partition has the state after its last change; before that, its first state.
Evidence: the metadata log (wall clock of the controller, mapped to the run's clock by one reading of both),
else the samples with the highest leader epoch so far; the faults (who was down, and acknowledged nothing).
Counterexample to "the new leader ends the acks of the old one":
    broker 1 leads and is cut off from brokers 2 and 3; broker 2 is elected at 7 s
    broker 1 runs on: an acks=1 record that it acknowledged at 8 s was never replicated, and will be truncated
"""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from checkers.history.rows import Context, Fault, MetadataChange, TopicPartition, Watermark
from checkers.history.tables import NONE

SECOND_NS = 1_000_000_000
SLACK_NS = SECOND_NS
"""How late a client may learn what had happened before: a delivery report waits in the client's own queue."""
NEVER_NS = 1 << 62


@dataclass(frozen=True, slots=True, kw_only=True)
class Clock:
    """One reading of both clocks, taken when the run began: second 0 of every sentence."""

    monotonic_ns: int
    wall_ns: int

    def at(self, wall_ms: int) -> int:
        """A wall-clock time as monotonic nanoseconds."""
        return wall_ms * 1_000_000 - self.wall_ns + self.monotonic_ns

    def seconds(self, at_ns: int) -> str:
        """A monotonic time for people, in seconds from the run's start."""
        return f"{(at_ns - self.monotonic_ns) / SECOND_NS:.2f} s"


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """The state of a partition from a time on, as the metadata log has it."""

    since_ns: int
    leader: int
    leader_epoch: int
    isr: frozenset[int]
    elr: frozenset[int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Election:
    """A leader took over under a new epoch. `deposed` led before (-1: there was no leader yet)."""

    at_ns: int
    leader: int
    leader_epoch: int
    deposed: int
    unclean: bool
    deposed_until_ns: int = NONE
    """Until when the deposed leader may have gone on acknowledging; -1: it was down, or leads again."""


class Timeline:
    """States and elections by partition; a partition without metadata and samples has none."""

    def __init__(self, context: Context, clock: Clock) -> None:
        self._states = _from_samples(context.watermarks) | _from_metadata(context.metadata, clock)
        self._elections = {tp: _elections(of, context.faults) for tp, of in self._states.items()}

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

    def rejoined(self, tp: TopicPartition, node: int, after_ns: int) -> int | None:
        """When a node that was out of the in-sync replicas at or after a time came back; None if never."""
        at = self.at(tp, after_ns)
        out = at is not None and node not in at.isr
        for state in self.states(tp):
            if state.since_ns >= after_ns:
                if out and node in state.isr:
                    return state.since_ns
                out = out or node not in state.isr
        return None

    def zombie_at(self, tp: TopicPartition, at_ns: int) -> Election | None:
        """The election after which its deposed leader may still have been acknowledging at a time."""
        for election in self.elections(tp):
            until_ns = election.deposed_until_ns
            if until_ns != NONE and election.at_ns <= at_ns < until_ns + SLACK_NS:
                return election
        return None


def _from_metadata(changes: Iterable[MetadataChange], clock: Clock) -> dict[TopicPartition, list[State]]:
    states: dict[TopicPartition, list[State]] = defaultdict(list)
    for row in sorted(changes, key=lambda row: (row.at_ms, row.partition_epoch)):
        state = State(
            since_ns=clock.at(row.at_ms),
            leader=row.leader,
            leader_epoch=row.leader_epoch,
            isr=frozenset(row.isr),
            elr=frozenset(row.elr),
        )
        states[row.tp].append(state)
    return states


def _from_samples(samples: Iterable[Watermark]) -> dict[TopicPartition, list[State]]:
    """The changes between samples; samples of a deposed leader (a lower epoch) are left out."""
    states: dict[TopicPartition, list[State]] = defaultdict(list)
    for sample in sorted(samples, key=lambda sample: sample.at_ns):
        known, isr = states[sample.tp], frozenset(sample.isr)
        last = (known[-1].leader_epoch, known[-1].isr) if known else (NONE, isr)
        if sample.leader_epoch > last[0] or (sample.leader_epoch == last[0] != NONE and isr != last[1]):
            state = State(
                since_ns=sample.at_ns,
                leader=sample.leader,
                leader_epoch=sample.leader_epoch,
                isr=isr,
                elr=frozenset(),
            )
            known.append(state)
    return {tp: known for tp, known in states.items() if known}


def _elections(states: Sequence[State], faults: Sequence[Fault]) -> list[Election]:
    found, led = [], states[0]
    for before, state in pairwise(states):
        if state.leader != NONE and state.leader_epoch > before.leader_epoch:
            election = Election(
                at_ns=state.since_ns,
                leader=state.leader,
                leader_epoch=state.leader_epoch,
                deposed=led.leader,
                unclean=state.leader not in before.isr | before.elr,
                deposed_until_ns=_deposed_until(led, state, states, faults),
            )
            found.append(election)
            led = state
    return found


def _deposed_until(led: State, now: State, states: Sequence[State], faults: Sequence[Fault]) -> int:
    """A dead leader acknowledges nothing; one that is in sync again has learnt of the new one."""
    node = led.leader
    down = any(node in fault.down for fault in faults if led.since_ns <= fault.inject_ns <= now.since_ns)
    if down or node in (NONE, now.leader):
        return NONE
    back = (state.since_ns for state in states if state.since_ns >= now.since_ns and node in state.isr)
    return next(back, NEVER_NS)
