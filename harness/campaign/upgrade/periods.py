"""A run's availability and the churn of its ISRs before, during and after a roll, counted from its history.

Each wait for an acknowledgement, each change of an ISR and each election counts for the period in which it
begins, so the counts add up to those of the run.
Evidence: the sends with their times; the metadata log; when the processes of leaders had ended.
Counterexample to "the roll has cost nothing, as each broker was back within 5 s":
    broker 1 is stopped; orders-0 gets its next acknowledgement 9 s later, from broker 2: unavailable for 9 s
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from checkers.contract.realised.downtimes import SECOND_NS, downtimes
from checkers.contract.realised.timeline import Election, Timeline
from checkers.history.rows import Context, TopicPartition
from checkers.history.tables import NONE
from checkers.verdict.exposure.gaps import Times
from checkers.verdict.metrics.metric import in_seconds
from faults.kinds.admin.features.finalize import FinalizeStep
from faults.kinds.process.rolling_upgrade import RollingUpgradeStep
from harness.campaign.upgrade.record import PeriodName, PeriodRow

ROLLS = (RollingUpgradeStep.kind, FinalizeStep.kind)
LONG_NS = SECOND_NS
"""A partition that acknowledges nothing for longer than this is unavailable for that time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Period:
    """From `from_ns` to before `to_ns`."""

    name: PeriodName
    from_ns: int
    to_ns: int

    def has(self, at_ns: int) -> bool:
        """Whether it holds a time."""
        return self.from_ns <= at_ns < self.to_ns


def periods(
    context: Context, acks: Mapping[TopicPartition, Times], timeline: Timeline, load_ended_ns: int
) -> tuple[PeriodRow, ...]:
    """Those that the run has, by time; none of a run without acknowledgements.

    `acks` are the times of the acknowledgements of each partition, ascending, of shape (acks,).
    """
    known = [times for times in acks.values() if len(times)]
    if not known:
        return ()
    began_ns = min(int(times[0]) for times in known)
    ended_ns = max(load_ended_ns, *(int(times[-1]) for times in known))
    waits = {tp: _waits(times, began_ns, ended_ns) for tp, times in acks.items()}
    found = []
    for period in _spans(context, began_ns, ended_ns + 1):
        row = {
            "period": period.name,
            "seconds": in_seconds(period.to_ns - period.from_ns),
            "acked": sum(_within(times, period) for times in known),
            **_of_availability(period, waits),
            **_of_partitions(period, context, timeline),
        }
        found.append(PeriodRow.model_validate(row))
    return tuple(found)


def _spans(context: Context, began_ns: int, ended_ns: int) -> Iterator[Period]:
    """One before the first roll; one until the last one has recovered; one after it. None that is empty."""
    rolls = [fault for fault in context.faults if fault.kind in ROLLS and fault.inject_ns != NONE]
    first_ns = min((fault.inject_ns for fault in rolls), default=ended_ns)
    over = (fault.recovered_ns if fault.recovered_ns != NONE else ended_ns for fault in rolls)
    last_ns = max(over, default=ended_ns)
    bounds = (began_ns, *(min(max(at_ns, began_ns), ended_ns) for at_ns in (first_ns, last_ns)), ended_ns)
    names: tuple[PeriodName, ...] = ("before", "during", "after")
    for name, (from_ns, to_ns) in zip(names, pairwise(bounds), strict=True):
        if from_ns < to_ns:
            yield Period(name=name, from_ns=from_ns, to_ns=to_ns)


def _waits(times: Times, began_ns: int, ended_ns: int) -> tuple[Times, Times]:
    """When each wait for an acknowledgement began, and how long it was; of all the load without any."""
    bounds = np.append(times if len(times) else np.array([began_ns], np.int64), np.int64(ended_ns))
    return bounds[:-1], np.diff(bounds)


def _within(times: Times, period: Period) -> int:
    return int(np.searchsorted(times, period.to_ns) - np.searchsorted(times, period.from_ns))


def _of_availability(
    period: Period, waits: Mapping[TopicPartition, tuple[Times, Times]]
) -> dict[str, object]:
    longest_ns, where = -1, ""
    unavailable: dict[str, float] = {}
    for tp, (begins, lengths) in waits.items():
        its = lengths[np.searchsorted(begins, period.from_ns) : np.searchsorted(begins, period.to_ns)]
        if not len(its):
            continue
        if int(its.max()) > longest_ns:
            longest_ns, where = int(its.max()), str(tp)
        if length_ns := int(its[its > LONG_NS].sum()):
            unavailable[str(tp)] = in_seconds(length_ns)
    if longest_ns < 0:
        return {}
    return {
        "longest_gap_s": in_seconds(longest_ns),
        "longest_gap_at": where,
        "unavailable_s": unavailable,
    }


def _of_partitions(period: Period, context: Context, timeline: Timeline) -> dict[str, object]:
    """Nothing, if the metadata log is silent about one of them: it might be the one that counts."""
    every = context.partitions
    if not all(any(state.exact for state in timeline.states(tp)) for tp in every):
        return {}
    shrinks = expands = 0
    for tp in every:
        for before, now in pairwise(timeline.states(tp)):
            if period.has(now.since_ns):
                shrinks += bool(before.isr - now.isr)
                expands += bool(now.isr - before.isr)
    elections = [(tp, each) for tp in every for each in timeline.elections(tp) if period.has(each.at_ns)]
    return {
        "isr_shrinks": shrinks,
        "isr_shrinks_per_minute": round(shrinks * 60 * SECOND_NS / (period.to_ns - period.from_ns), 1),
        "isr_expands": expands,
        "elections": len(elections),
        **_timed(elections, context, timeline),
    }


def _timed(
    elections: Sequence[tuple[TopicPartition, Election]], context: Context, timeline: Timeline
) -> dict[str, object]:
    """How long partitions were without a leader whose process had ended."""
    down = downtimes(context)
    took: list[tuple[int, str]] = []
    for tp, election in elections:
        ended = [
            each.down_ns
            for each in down.get(election.deposed, ())
            if each.down_ns
            <= election.at_ns
            <= timeline.registered_ns(election.deposed, each.up_ns) + timeline.slack_ns
        ]
        if ended:
            took.append((election.at_ns - ended[-1], str(tp)))
    if not took:
        return {"after_an_end": 0}
    longest_ns, where = max(took)
    return {
        "after_an_end": len(took),
        "mean_election_s": in_seconds(sum(length_ns for length_ns, _ in took) // len(took)),
        "longest_election_s": in_seconds(longest_ns),
        "longest_election_at": where,
    }
