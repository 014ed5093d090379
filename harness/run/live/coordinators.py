"""Who coordinated the transactional ids of a load, from the metadata log.

An id belongs to one partition of Kafka's transaction log, whose leader is its coordinator.
"""

from collections.abc import Collection, Iterable, Sequence

from checkers.history.rows import Coordinator, MetadataChange
from compose.kafka.coordinators import TRANSACTION_LOG, coordinating_partition


def coordinators_of(ids: Collection[str], metadata: Iterable[MetadataChange]) -> Sequence[Coordinator]:
    """The states of the partitions of these transactional ids, in the order of the metadata log."""
    rows = [row for row in metadata if row.topic == TRANSACTION_LOG]
    count = len({row.partition for row in rows})
    wanted = {coordinating_partition(each, count) for each in ids} if count else set()
    return tuple(
        Coordinator(
            at_ms=row.at_ms,
            log_offset=row.log_offset,
            partition=row.partition,
            leader=row.leader,
            leader_epoch=row.leader_epoch,
            isr=row.isr,
            controller=row.controller,
        )
        for row in rows
        if row.partition in wanted
    )
