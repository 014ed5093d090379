"""Whether a partition is settled: every broker reports the same of it, and every replica is in sync."""

import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from checkers.history.rows import TopicPartition
from compose.kafka.brokers import Brokers
from workloads.observe.leaders import BrokerReport, LeaderState, state_of
from workloads.observe.replica_offsets import ReplicaState


@dataclass(frozen=True, slots=True, kw_only=True)
class Survey:
    """All brokers' answers of one moment.

    `settled` has the state of each partition that every broker knows alike, with one leader that leads and
    every replica in sync; `unsettled` has the reason for each other one; `newest` has the state that the
    leader of the greatest epoch reports, settled or not, of each partition that any leader reports.
    `replicas` are all replicas that answered; `at_ns` is when the last answer had come.
    """

    at_ns: int
    settled: Mapping[TopicPartition, LeaderState] = field(default_factory=dict)
    unsettled: Mapping[TopicPartition, str] = field(default_factory=dict)
    newest: Mapping[TopicPartition, LeaderState] = field(default_factory=dict)
    replicas: tuple[ReplicaState, ...] = ()


def survey(brokers: Brokers, partitions: Collection[TopicPartition]) -> Survey:
    """Ask every broker now. A silent one unsettles every partition: it may know of a newer leader."""
    answers = brokers.ask_all(state_of(partitions))
    reports, silent = tuple(answers.given.values()), "; ".join(answers.silent.values())
    led: dict[TopicPartition, list[LeaderState]] = {tp: [] for tp in partitions}
    for state in (state for report in reports for state in report.led):
        led[state.tp].append(state)
    reasons = {tp: silent or unsettled(tp, reports, led[tp]) for tp in partitions}
    newest = {tp: max(states, key=lambda s: s.leader_epoch) for tp, states in led.items() if states}
    return Survey(
        at_ns=time.monotonic_ns(),
        settled={tp: newest[tp] for tp, reason in reasons.items() if not reason},
        unsettled={tp: reason for tp, reason in reasons.items() if reason},
        newest=newest,
        replicas=tuple(replica for report in reports for replica in report.replicas),
    )


def unsettled(tp: TopicPartition, reports: Sequence[BrokerReport], states: Sequence[LeaderState]) -> str:
    """Why the brokers' answers do not settle `tp`; "" if they do. `states`: those that leaders report."""
    views = {
        (known.leader, known.leader_epoch, known.replicas, frozenset(known.isr)) if known else None
        for known in (report.known.get(tp) for report in reports)
    }
    if None in views:
        return "a broker does not know the partition"
    if len(views) > 1:
        listed = sorted(f"leader {v[0]} in epoch {v[1]} with {sorted(v[3])} in sync" for v in views if v)
        return f"brokers disagree: {' / '.join(listed)}"
    if len(states) != 1:
        return f"{len(states)} brokers lead it"
    (state,) = states
    if set(state.isr) != set(state.replicas):
        return f"in sync are {sorted(state.isr)} of replicas {sorted(state.replicas)}"
    return ""
