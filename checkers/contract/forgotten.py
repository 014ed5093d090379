"""Whether the controller had forgotten whom it had kept eligible, as Kafka does when settings change.

With ELR, who leaves the ISR when fewer than min.insync.replicas are left stays eligible. Another
min.insync.replicas empties the ELR by a record of its own, right behind that of the setting, and while ELR was
off nobody was kept. From then on those alone have what was committed who are in sync then, or come in later.

Invariant: "forgotten" only where all of those shut down uncleanly, and were not in sync again.
Evidence: the configs table and the states of a partition, in the order of the metadata log.
Counterexample to "one unclean shutdown is fewer than both values":
    min.insync.replicas is 2, leader 1 is alone in sync, 2 and 3 are eligible; it becomes 3: nobody is any more
    leader 1 loses its power, and is elected as the last known leader: nobody else may be
"""

from collections.abc import Collection, Iterator
from itertools import pairwise

from checkers.contract.settings import Realised
from checkers.contract.timeline import Election
from checkers.history.metadata_log.settings import MIN_ISR
from checkers.history.rows import TopicPartition


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
