"""The clauses of the contract: under which realised circumstances a record that was written may be gone.

Each clause checks the run's facts and yields a sentence if they permit the loss:
    unclean election   the topic allows it, and a replica outside the ISR and the ELR was elected
    unclean shutdowns  min.insync.replicas of those who held the record shut down uncleanly before they were
                       in sync again (KIP-966); a flush before each acknowledgement rules it out
    last in sync       without ELR, the only in-sync replica shut down uncleanly: it leads again, emptier
    unreplicated       acks=1: the leader changed after the record was sent
    deposed leader     acks=1: a leader that was cut off, not dead, acknowledged without knowing of it

Invariant: a loss that no clause permits is a violation, whatever faults there were.
Evidence: nodes that shut down uncleanly, with times (faults table); ISR, ELR and elections (metadata log,
else the samples); min.insync.replicas, unclean election, flush.messages and ELR as realised.
Counterexample to "two unclean shutdowns permit it":
    min.insync.replicas=2; the record is acknowledged at 5 s with ISR {1, 2, 3}
    broker 1 is killed at 6 s and in the ISR again at 9 s; broker 2 is killed at 12 s
    one unclean shutdown at a time is fewer than two: a violation
"""

from collections.abc import Iterator
from dataclasses import dataclass

from checkers.anomalies import Anomaly
from checkers.contract.settings import Realised
from checkers.contract.timeline import NEVER_NS, SLACK_NS, Election
from checkers.history.rows import Fault, TopicPartition
from checkers.history.tables import NONE


def truncation(realised: Realised, anomaly: Anomaly) -> str | None:
    """The first clause under which a record below the high watermark may be lost; None: it may not."""
    topic = realised.topic(anomaly.topic)
    clauses: list[Iterator[str]] = []
    if topic.unclean:
        clauses.append(_unclean_elections(realised, anomaly))
    if topic.flush_messages != 1:
        clauses.append(_unclean_shutdowns(realised, anomaly, topic.min_isr))
        if not realised.elr:
            clauses.append(_last_in_sync(realised, anomaly))
    return next((sentence for clause in clauses for sentence in clause), None)


def unreplicated(realised: Realised, anomaly: Anomaly) -> str | None:
    """Under acks=1: why a record may not have been replicated when its leader went."""
    tp, seconds = anomaly.tp, realised.clock.seconds
    for election in realised.timeline.elections(tp):
        if election.at_ns >= anomaly.invoked_ns:
            return (
                f"acks=1: the leader of {tp} changed at {seconds(election.at_ns)} (to broker "
                f"{election.leader}, epoch {election.leader_epoch}), maybe before it was replicated"
            )
    zombie = deposed_leader(realised, anomaly)
    if zombie is None:
        return None
    return (
        f"acks=1: broker {zombie.deposed}, deposed at {seconds(zombie.at_ns)}, "
        "may have acknowledged it without knowing"
    )


def deposed_leader(realised: Realised, anomaly: Anomaly) -> Election | None:
    """The election whose deposed leader may have given the record's acknowledgement."""
    if anomaly.completed_ns == NONE:
        return None
    return realised.timeline.zombie_at(anomaly.tp, anomaly.completed_ns)


def written_ns(anomaly: Anomaly) -> int:
    """When the record was there at the latest (acknowledged, or given to a reader), whichever came first; if
    neither is known, when it was there at the earliest (sent); -1 if that is not known either."""
    there = [known for known in (anomaly.completed_ns, anomaly.seen_ns) if known != NONE]
    return min(there, default=anomaly.invoked_ns)


def _unclean_elections(realised: Realised, anomaly: Anomaly) -> Iterator[str]:
    """It was written before the election, or by the deposed leader that did not know of it."""
    for election in realised.timeline.elections(anomaly.tp):
        until_ns = max(election.at_ns, election.deposed_until_ns) + SLACK_NS
        if election.unclean and written_ns(anomaly) <= until_ns:
            at = realised.clock.seconds(election.at_ns)
            yield f"unclean election of broker {election.leader} at {at}"


def _unclean_shutdowns(realised: Realised, anomaly: Anomaly, min_isr: int) -> Iterator[str]:
    written = written_ns(anomaly)
    state = realised.timeline.at(anomaly.tp, written) if written != NONE else None
    outages = [
        outage
        for outage in _outages(realised, anomaly.tp)
        if written <= outage.last_write_ns and (state is None or outage.node in state.isr)
    ]
    for latest in sorted(outages, key=lambda outage: outage.since_ns):
        moment = latest.since_ns
        down = sorted({outage.node for outage in outages if outage.since_ns <= moment < outage.until_ns})
        if len(down) >= min_isr:
            several = "s" * (len(down) > 1)
            yield (
                f"{len(down)} unclean shutdown{several} ≥ min.insync.replicas {min_isr} before the ISR "
                f"recovered: broker{several} {', '.join(map(str, down))} "
                f"by {realised.clock.seconds(moment)}"
            )


def _last_in_sync(realised: Realised, anomaly: Anomaly) -> Iterator[str]:
    for outage in _outages(realised, anomaly.tp):
        state = realised.timeline.at(anomaly.tp, outage.since_ns)
        if state and state.isr == {outage.node} and written_ns(anomaly) <= outage.last_write_ns:
            yield (
                f"ELR off: the last in-sync replica, broker {outage.node}, shut down uncleanly "
                f"at {realised.clock.seconds(outage.since_ns)}"
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Outage:
    """A node shut down uncleanly at `since_ns` and was in sync again at `until_ns` (for ever out, if never).

    What was written up to `last_write_ns` may have been written by it: an injection takes some time, and its
    effect may only show when the node is back.
    """

    node: int
    since_ns: int
    until_ns: int
    last_write_ns: int


def _outages(realised: Realised, tp: TopicPartition) -> Iterator[_Outage]:
    for fault in realised.context.faults:
        for node in fault.unclean:
            until_ns = _back_in_sync(realised, tp, node, fault)
            down_ns = min(max(fault.inject_ns, fault.effect_ns), until_ns)
            yield _Outage(
                node=node, since_ns=fault.inject_ns, until_ns=until_ns, last_write_ns=down_ns + SLACK_NS
            )


def _back_in_sync(realised: Realised, tp: TopicPartition, node: int, fault: Fault) -> int:
    """A node that never left the ISR in the timeline is back when its fault has recovered."""
    rejoined = realised.timeline.rejoined(tp, node, fault.inject_ns)
    if rejoined is not None:
        return rejoined
    return fault.recovered_ns if fault.recovered_ns != NONE else NEVER_NS
