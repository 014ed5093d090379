"""Who was eligible where settings or replicas changed: whom the controller had forgotten, who was taken away,
and who never had the record.

With ELR, who leaves the ISR when fewer than min.insync.replicas are left stays eligible. Another value
empties the ELR by a record of its own, right behind that of the setting, and while ELR was off nobody was
kept: from then on those alone have what was committed who are in sync then, or come in later. A reassignment
takes away replicas that are in sync, and leaves it to those who are, or are eligible. And a leader that has
not learnt yet of a larger value commits what it alone has, while who left it stays eligible.

Invariant: "forgotten" only where all of those who were left shut down uncleanly, and were not in sync again.
Evidence: the configs table and the states of a partition, in the order of the metadata log.
Counterexample to "one unclean shutdown is fewer than both values":
    min.insync.replicas is 2, leader 1 is alone in sync, 2 and 3 are eligible; it becomes 3: nobody is now
    leader 1 loses its power, and is elected as the last known leader: nobody else may be
Counterexample to "whoever is eligible has what was acknowledged":
    min.insync.replicas becomes 2; leader 1 goes by 1 for another second, in which 2 leaves the ISR
    1 acknowledges a record that only it has, and is killed: 2 is elected from the ELR, and never had it
"""

from collections.abc import Collection, Iterator
from itertools import pairwise

from checkers.contract.fates.lost_record import LostRecord
from checkers.contract.realised.downtimes import NEVER_NS
from checkers.contract.realised.settings import Realised
from checkers.contract.realised.terms import TopicPromise, between
from checkers.contract.realised.timeline import Election
from checkers.history.metadata_log.settings import MIN_ISR
from checkers.history.rows import TopicPartition
from checkers.history.tables import NONE


def forgotten_by_change(
    tp: TopicPartition, election: Election, lost: Collection[int], realised: Realised
) -> bool:
    """Whether another min.insync.replicas has left nobody eligible but `lost`."""
    return any(
        realised.timeline.in_sync_from(tp, offset, election) <= set(lost) for offset in _emptied(tp, realised)
    )


def unkept_without_elr(
    tp: TopicPartition, election: Election, lost: Collection[int], realised: Realised
) -> bool:
    """Whether ELR was turned on when nobody was left in sync but `lost`."""
    spans = realised.terms.elr(tp.topic)
    turned_on = (
        span.log_offset for before, span in pairwise(spans) if span.value is True and before.value is False
    )
    return any(realised.timeline.in_sync_from(tp, offset, election) <= set(lost) for offset in turned_on)


def left_by_reassignment(
    tp: TopicPartition, election: Election, lost: Collection[int], realised: Realised
) -> bool:
    """Whether a reassignment has taken replicas away that were in sync or eligible, and has left nobody who
    is either but `lost`."""
    states = realised.timeline.states(tp)
    for before, state in pairwise(states):
        if before.isr | before.elr <= state.replicas or NONE in (state.log_offset, election.log_offset):
            continue
        since = [each for each in states if state.log_offset <= each.log_offset < election.log_offset]
        if since and all(each.isr | each.elr <= set(lost) for each in since):
            return True
    return False


def may_be_by_older_value(
    record: LostRecord, election: Election, topic: TopicPromise, realised: Realised
) -> bool:
    """Whether the record may have been committed without an eligible replica that was elected later: by fewer
    than the controller wanted, of a leader that had not learnt of that yet."""
    if election.kind != "ELR":
        return False
    states, slack_ns = realised.timeline.states(record.tp), realised.timeline.slack_ns
    values = realised.terms.min_isr(record.tp.topic, topic)
    # An acknowledgement of acks=all alone says when it was committed at the latest.
    begin_ns, end_ns = record.since_ns, record.written_ns if record.acks == "all" else election.at_ns
    ends = (*(state.since_ns for state in states[1:]), NEVER_NS)
    for state, until_ns in zip(states, ends, strict=True):
        since_ns, until_ns = max(begin_ns, state.since_ns), min(end_ns, until_ns)
        if since_ns > until_ns + slack_ns or election.leader in state.isr:
            continue
        known = [value for value in between(values, since_ns, until_ns, slack_ns) if value is not None]
        if known and min(known) <= len(state.isr) < max(known):
            return True
    return False


def _emptied(tp: TopicPartition, realised: Realised) -> Iterator[int]:
    """The offsets of the records that emptied the partition's ELR for another min.insync.replicas."""
    set_at = [
        row.log_offset
        for row in realised.context.configs
        if row.key == MIN_ISR and ((row.kind, row.name) == ("topic", tp.topic) or row.kind == "cluster")
    ]
    for before, state in pairwise(realised.timeline.states(tp)):
        emptied = (before.elr or before.last_known_elr) and not (state.elr or state.last_known_elr)
        same = (before.isr, before.leader_epoch) == (state.isr, state.leader_epoch)
        if emptied and same and any(before.log_offset < offset < state.log_offset for offset in set_at):
            yield state.log_offset
