"""Rows of the control plane in few words, for tests that spell out a metadata log and what must be found in
it.

One topic, `orders`, with three replicas. Without `ms` a record is an append of its own; records of one append
have the same `ms`. The wall clock reads 1,000 s when the history's clock reads 0.
"""

from checkers.history.rows import (
    BrokerLine,
    BrokerState,
    ClockPair,
    ConfigChange,
    Fault,
    History,
    LogRecord,
    MetadataChange,
    NodeEvent,
    Producer,
    Proof,
    Read,
    Replica,
    ReplicaOffset,
    Send,
    TopicPartition,
    Watermark,
)
from checkers.history.tables import NONE, OPTIONAL, Outcome

TOPIC = "orders"
SECOND = 1_000_000_000
WALL_MS = 1_000_000
ALL = Producer(producer=0, acks="all", idempotence=True)


def state(offset, leader, epochs, isr, *, ms=None, replicas=(1, 2, 3), on=0, **more) -> MetadataChange:
    """A partition's state after the record at `offset`; `epochs`: of the leader, of the partition."""
    return MetadataChange(
        at_ms=WALL_MS + (offset if ms is None else ms),
        log_offset=offset,
        topic=TOPIC,
        partition=on,
        leader=leader,
        leader_epoch=epochs[0],
        partition_epoch=epochs[1],
        replicas=replicas,
        isr=tuple(isr),
        **more,
    )


def broker(offset, node, *, fenced=False, stopping=False, registered=True, ms=None, epoch=1) -> BrokerState:
    """A broker's registration after the record at `offset`."""
    return BrokerState(
        at_ms=WALL_MS + (offset if ms is None else ms),
        log_offset=offset,
        node=node,
        broker_epoch=epoch,
        registered=registered,
        fenced=fenced,
        in_controlled_shutdown=stopping,
    )


def up(*nodes) -> list[BrokerState]:
    """Brokers that were unfenced before all else."""
    return [broker(0, node) for node in nodes]


def setting(key, value, offset=-1, *, kind="topic", name=TOPIC, removed=False) -> ConfigChange:
    """One setting after the record at `offset`; from the start, by default."""
    return ConfigChange(
        at_ms=WALL_MS + offset, log_offset=offset, kind=kind, name=name, key=key, value=value, removed=removed
    )


def strict(unclean="false", min_isr="2") -> list[ConfigChange]:
    """min.insync.replicas and unclean.leader.election.enable of the topic."""
    return [setting("min.insync.replicas", min_isr), setting("unclean.leader.election.enable", unclean)]


def clocks(end_s=60, *, error_ns=0) -> list[ClockPair]:
    """Readings every second, of two clocks that run together."""
    return [
        ClockPair(
            at_ns=at * SECOND,
            wall_ns=(1_000 + at) * SECOND,
            engine_ns=(1_000 + at) * SECOND,
            error_ns=error_ns,
        )
        for at in range(end_s)
    ]


def acked(sequence, invoked_s, done_s, *, producer=0, on=0) -> Send:
    """An acknowledged send; times in seconds."""
    return Send(
        topic=TOPIC,
        partition=on,
        producer=producer,
        sequence=sequence,
        checksum=0,
        invoked_ns=round(invoked_s * SECOND),
        completed_ns=round(done_s * SECOND),
        outcome=Outcome.OK,
        offset=sequence,
    )


def given(offset, read_s, *, on=0, reader=0, epoch=NONE) -> Read:
    """A record that a reader was given at a time: that of `acked(offset, …)`."""
    return Read(
        topic=TOPIC,
        partition=on,
        producer=0,
        sequence=offset,
        checksum=0,
        offset=offset,
        reader=reader,
        generation=0,
        leader_epoch=epoch,
        read_ns=round(read_s * SECOND),
    )


def report(at_s, leader, epoch, isr=(1, 2, 3), *, high_watermark=-1, on=0, asked_s=None) -> Watermark:
    """What a leader reported at a time; without `asked_s` nobody knows when it was asked."""
    return Watermark(
        at_ns=round(at_s * SECOND),
        asked_ns=-1 if asked_s is None else round(asked_s * SECOND),
        topic=TOPIC,
        partition=on,
        leader=leader,
        leader_epoch=epoch,
        isr=tuple(isr),
        high_watermark=high_watermark,
    )


def history(*rows, missing=()) -> History:
    """The rows in their tables; `missing`: tables that were not collected."""
    flat = [each for row in rows for each in (row if isinstance(row, list) else [row])]

    def of(kind):
        return [row for row in flat if isinstance(row, kind)]

    return History(
        partitions=(TopicPartition(TOPIC, 0),),
        collected=frozenset(OPTIONAL) - set(missing),
        metadata=of(MetadataChange),
        brokers=of(BrokerState),
        configs=of(ConfigChange),
        faults=of(Fault),
        producers=of(Producer),
        clocks=of(ClockPair),
        watermarks=of(Watermark),
        replicas=of(Replica),
        sends=of(Send),
        reads=of(Read),
        final_log=of(LogRecord),
        proofs=of(Proof),
        broker_lines=of(BrokerLine),
        node_events=of(NodeEvent),
        replica_offsets=of(ReplicaOffset),
    )


def named(result) -> list[tuple[int, int]]:
    """(broker, leader epoch) of each anomaly that a rule of the control plane found."""
    return [(anomaly.producer, anomaly.sequence) for anomaly in result.anomalies]
