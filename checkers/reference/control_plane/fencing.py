"""Fencing: a broker that may not lead is in no ISR.

Invariant: a broker that is fenced, in controlled shutdown or not registered is in no ISR (KIP-841).
Evidence: the registrations and the states of partitions in the metadata log.
Counterexample:
    ISR [1, 2]; the record at offset 90 fences broker 2
    no record before it takes 2 out of the ISR: fenced-out, of broker 2

The controller takes a broker out of the ISR by records of the same append: before the record that fences it,
after the record that begins its controlled shutdown. Without ELR, the last in-sync replica stays in the ISR
of a partition that has no leader: an empty ISR would forget who has the data. Source:
`ReplicationControlManager.generateLeaderAndIsrUpdates` and `PartitionChangeBuilder.build` in Kafka.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from operator import attrgetter

from checkers.anomalies import Anomaly
from checkers.history.rows import BrokerState, Context, MetadataChange
from checkers.history.tables import NONE
from checkers.properties import Property
from checkers.reference.control_plane.rule_result import (
    NOT_COLLECTED,
    RuleResult,
    brokers_in_words,
    collected,
    of_state,
    states_of,
)

NEVER = 1 << 62
STOPPING = "in controlled shutdown"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Barred:
    """From one record on, up to another, a broker may be in no ISR. Offsets are those of the metadata log."""

    since: int
    since_ms: int
    until: int
    why: str


def fenced_out(context: Context) -> RuleResult:
    """Each state of a partition whose ISR keeps a barred broker.

    Undecided: a state with a broker in its ISR of which the log has no registration.
    """
    if not collected(context, "brokers"):
        return NOT_COLLECTED
    barred = _barred(context.brokers)
    anomalies = [anomaly for rows in states_of(context).values() for anomaly in _kept(rows, barred)]
    undecided = sum(not barred.keys() >= set(row.isr) for row in context.metadata)
    return RuleResult(anomalies=anomalies, examined=len(context.metadata) - undecided, undecided=undecided)


def _barred(brokers: Sequence[BrokerState]) -> dict[int, list[_Barred]]:
    """For each broker that ever registered, when it was barred."""
    states: dict[int, list[BrokerState]] = defaultdict(list)
    for state in sorted(brokers, key=attrgetter("log_offset")):
        states[state.node].append(state)
    return {node: list(_spans(rows)) for node, rows in states.items()}


def _spans(rows: Sequence[BrokerState]) -> Iterator[_Barred]:
    began: BrokerState | None = None
    for row in rows:
        if _why(row):
            began = began or row
        elif began:
            yield _span(began, row.log_offset)
            began = None
    if began:
        yield _span(began, NEVER)


def _span(began: BrokerState, until: int) -> _Barred:
    return _Barred(since=began.log_offset, since_ms=began.at_ms, until=until, why=_why(began))


def _why(state: BrokerState) -> str:
    if not state.registered:
        return "unregistered"
    if state.fenced:
        return "fenced"
    return STOPPING if state.in_controlled_shutdown else ""


def _kept(rows: Sequence[MetadataChange], barred: Mapping[int, Sequence[_Barred]]) -> Iterator[Anomaly]:
    for row, after in zip_longest(rows, rows[1:]):
        if row.leader == NONE and len(row.isr) == 1:
            continue  # the last in-sync replica of an offline partition
        for broker in sorted(row.isr):
            for span in barred.get(broker, ()):
                if _keeps(row, after, span):
                    note = f"broker {broker} is {span.why} since metadata offset {span.since}"
                    isr = f"and in the ISR {brokers_in_words(row.isr)}"
                    yield of_state(Property.FENCED_OUT, row, broker, f"{note}, {isr}")
                    break


def _keeps(row: MetadataChange, after: MetadataChange | None, span: _Barred) -> bool:
    """Whether state and span are in force at once, but for what the append that begins a shutdown ends."""
    begin, end = max(row.log_offset, span.since), min(after.log_offset if after else NEVER, span.until)
    leaves = (
        span.why == STOPPING
        and row.log_offset < span.since
        and after is not None
        and after.at_ms == span.since_ms
    )
    return begin < end and not leaves
