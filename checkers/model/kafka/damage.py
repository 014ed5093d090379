"""Planted bugs of a broker's log: what a broken one loses, moves or forgets when it appends or loads."""

from typing import TYPE_CHECKING

from checkers.model.bugs import Bug
from checkers.model.kafka.log import Batch

if TYPE_CHECKING:
    from checkers.model.kafka.broker import Broker
    from checkers.model.kafka.cluster import Cluster
    from checkers.model.kafka.replica import Replica

JUMPS, SWAPS = 0.06, 0.5
"""How often a leader that may do so does, for each batch."""
FEWEST_BATCHES = 4


def append_wrongly(cluster: "Cluster", replica: "Replica", batch: Batch) -> None:
    """What a broken leader does beside appending a batch."""
    log = replica.log
    if Bug.LOG_START_JUMPS in cluster.bugs and replica.high_watermark > 8 and cluster.rng.random() < JUMPS:
        if cluster.sets_clocks:
            replica.delete_old()  # what is too old by its clock it may delete at any time, and rightly
        inside = [
            one.base_offset for one in log.batches if log.start < one.base_offset < replica.high_watermark
        ]
        if inside:
            cluster.act(Bug.LOG_START_JUMPS)
            log.remove_before(inside[len(inside) // 2])
    if Bug.SWAPPED_BATCHES in cluster.bugs and len(log.batches) > 1 and cluster.rng.random() < SWAPS:
        before = log.batches[-2]
        if len(before.records) == len(batch.records) and before.leader_epoch == batch.leader_epoch:
            cluster.act(Bug.SWAPPED_BATCHES)
            _swap(before, batch)


def before_its_clock_changes(cluster: "Cluster", broker: "Broker") -> None:
    """A broken broker deletes what is too old by its clock before that is set back. A correct one may have
    done so until then, and nobody could tell that from a log start that jumps a moment later."""
    if Bug.LOG_START_JUMPS in cluster.bugs:
        broker.delete_old()


def _swap(first: Batch, second: Batch) -> None:
    """Let two batches change places; whoever has them has them so. What was written first stays so."""
    for name in ("records", "producer_id", "producer_epoch", "base_sequence", "crc"):
        of_first = getattr(first, name)
        setattr(first, name, getattr(second, name))
        setattr(second, name, of_first)
    second.appended_s = first.appended_s


def load_wrongly(cluster: "Cluster", replica: "Replica", *, unclean: bool) -> None:
    """What a broken broker does to a log when it loads it."""
    log = replica.log
    if Bug.HOLE_IN_LOG in cluster.bugs and unclean and len(log.batches) >= FEWEST_BATCHES:
        cluster.act(Bug.HOLE_IN_LOG)
        place = len(log.batches) // 2
        del log.batches[place], log.ends[place]
    if Bug.OFFSETS_REUSED_AFTER_RESTART in cluster.bugs and len(log.batches) >= FEWEST_BATCHES:
        cluster.act(Bug.OFFSETS_REUSED_AFTER_RESTART)
        for batch in log.truncate(log.ends[-3]):
            cluster.known.broken[id(batch), replica.broker.number] = Bug.OFFSETS_REUSED_AFTER_RESTART
