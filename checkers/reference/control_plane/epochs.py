"""Epochs: each record of the metadata log is one step of the partition epoch, each election one of the
leader's.

Invariant: the partition epoch rises by one with every record; the leader epoch stays, or rises by one, and
rises when the leader changes. An epoch that a broker led under, or has in its log, is one of those, under the
same leader.
Evidence: consecutive states in the metadata log; what leaders reported (watermarks), and wrote when they
began to lead (broker lines); leader-epoch checkpoints of the replicas.
Counterexample:
    the metadata log has leader epochs 0 (broker 1) and 1 (broker 2)
    a sample of orders-0 names leader 3 under epoch 1
    two brokers led under one epoch, or one of them was never elected: epoch-step, of broker 3

A leader epoch may rise without another leader: after no leader, when a reassignment removes a replica, and
when the ISR shrinks (before metadata version 3.6, KAFKA-15021). What is older than the log is not decided.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

from checkers.anomalies import Anomaly
from checkers.history.columnar import columns_of
from checkers.history.rows import LEADER_START, Context, MetadataChange, TopicPartition
from checkers.history.tables import NONE
from checkers.properties import Property
from checkers.reference.control_plane.rule_result import (
    NOT_COLLECTED,
    RuleResult,
    collected,
    is_creation,
    of_state,
    states_of,
)

Leaders = Mapping[TopicPartition, Mapping[int, frozenset[int]]]
"""By partition and leader epoch: who led, -1 for nobody."""


def epoch_step(context: Context) -> RuleResult:
    """Each state that no legal step leads to, and each epoch that a broker knows and the controllers do not.

    Examined are the states of partitions.
    """
    if not collected(context):
        return NOT_COLLECTED
    states = states_of(context)
    leaders = _leaders(states)
    anomalies = [
        *(anomaly for rows in states.values() for anomaly in _steps(rows)),
        *_led_under(context, leaders),
        *_on_disk(context, leaders),
    ]
    return RuleResult(anomalies=anomalies, examined=len(context.metadata))


def _steps(rows: Sequence[MetadataChange]) -> Iterator[Anomaly]:
    for before, row in pairwise(rows):
        if not is_creation(row) and (wrong := _wrong_step(before, row)):
            yield of_state(Property.EPOCH_STEP, row, row.leader, wrong)


def _wrong_step(before: MetadataChange, row: MetadataChange) -> str:
    if row.partition_epoch != before.partition_epoch + 1:
        return f"partition epoch {row.partition_epoch} follows {before.partition_epoch}"
    if row.leader_epoch - before.leader_epoch not in (0, 1):
        return f"leader epoch {row.leader_epoch} follows {before.leader_epoch}"
    if row.leader != before.leader and row.leader_epoch == before.leader_epoch:
        return f"broker {row.leader} leads after {before.leader} under the same leader epoch"
    return ""


def _leaders(states: Mapping[TopicPartition, Sequence[MetadataChange]]) -> Leaders:
    leaders: dict[TopicPartition, dict[int, frozenset[int]]] = defaultdict(dict)
    for tp, rows in states.items():
        for row in rows:
            known = leaders[tp].get(row.leader_epoch, frozenset())
            leaders[tp][row.leader_epoch] = known | {row.leader}
    return leaders


def _led_under(context: Context, leaders: Leaders) -> Iterator[Anomaly]:
    """What leaders reported of themselves, or wrote, each (partition, leader, epoch) once.

    The brokers are stopped after the metadata log was read: what they wrote of later epochs is of that.
    """
    columns = columns_of(context.watermarks, ("topic", "partition", "leader", "leader_epoch"))
    reported = set(zip(*(columns[name].tolist() for name in columns), strict=True))
    newest = {tp: max(known) for tp, known in leaders.items()}
    wrote = {
        (line.topic, line.partition, line.node, line.leader_epoch)
        for line in context.broker_lines
        if line.kind == LEADER_START and line.leader_epoch <= newest.get(line.tp, NONE)
    }
    for topic, partition, leader, epoch in sorted(reported | wrote):
        tp = TopicPartition(topic, partition)
        known = leaders.get(tp, {})
        if NONE in (epoch, leader) or not known or epoch < min(known):
            continue
        if leader not in known.get(epoch, ()):
            led = f"the metadata log has {_led(known, epoch)}"
            yield _of_epoch(tp, leader, epoch, f"broker {leader} led under leader epoch {epoch}, {led}")


def _on_disk(context: Context, leaders: Leaders) -> Iterator[Anomaly]:
    """The leader epochs in the checkpoints of the replicas: under each, somebody led.

    The brokers are stopped after the metadata log was read: an epoch that is later than all of it, and in
    which the replica has no record, is of the elections that this brings.
    """
    for replica in context.replicas:
        known = leaders.get(replica.tp, {})
        for epoch, start in zip(replica.epochs, replica.epoch_starts, strict=True):
            if known and epoch > max(known) and start >= replica.log_end:
                continue
            if known and epoch >= min(known) and not known.get(epoch, frozenset()) - {NONE}:
                led = f"the metadata log has {_led(known, epoch)}"
                note = f"broker {replica.broker} has leader epoch {epoch} on disk, {led}"
                yield _of_epoch(replica.tp, replica.broker, epoch, note)


def _led(known: Mapping[int, frozenset[int]], epoch: int) -> str:
    led = [str(node) for node in sorted(known.get(epoch, ())) if node != NONE]
    if led:
        return f"broker {', '.join(led)} there"
    return "no leader there" if epoch in known else f"no such epoch (up to {max(known)})"


def _of_epoch(tp: TopicPartition, broker: int, epoch: int, note: str) -> Anomaly:
    return Anomaly(
        property=Property.EPOCH_STEP,
        topic=tp.topic,
        partition=tp.partition,
        offset=NONE,
        producer=broker,
        sequence=epoch,
        note=note,
    )
