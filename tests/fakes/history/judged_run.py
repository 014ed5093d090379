"""What a run really was, in few words: settings, faults, elections and samples of one partition, orders-0.

Times are seconds of the run; the history's clock reads 100 s at its start, the wall clock 5,000 s.
"""

import numpy as np

from checkers.anomalies import Anomaly
from checkers.contract.realised.downtimes import SECOND_NS
from checkers.contract.realised.settings import ProducerPromise, Realised
from checkers.contract.realised.terms import TopicPromise
from checkers.contract.realised.timeline import Clock
from checkers.history.metadata_log.settings import ELR_FEATURE, MIN_ISR
from checkers.history.records.log_runs import BatchProducers, LogRun
from checkers.history.rows import (
    BrokerLine,
    BrokerState,
    ClientEvent,
    ClockPair,
    ConfigChange,
    Context,
    Fault,
    MetadataChange,
    NodeEvent,
    Proof,
    Replica,
    ReplicaOffset,
    Watermark,
)
from checkers.history.tables import OPTIONAL
from checkers.properties import Property

CLOCK = Clock(monotonic_ns=100 * SECOND_NS, wall_ns=5_000 * SECOND_NS)


def ns(second) -> int:
    """A second of the run as the history has it; None and -1 are "none"."""
    return -1 if second is None or second == -1 else CLOCK.monotonic_ns + int(second * SECOND_NS)


def led(second, leader, epoch, isr, elr=(), last_known=()) -> MetadataChange:
    """A change in the metadata log of orders-0."""
    return MetadataChange(
        at_ms=(CLOCK.wall_ns + int(second * SECOND_NS)) // 1_000_000,
        topic="orders",
        partition=0,
        leader=leader,
        leader_epoch=epoch,
        partition_epoch=int(second * 10),
        replicas=(1, 2, 3),
        isr=isr,
        elr=elr,
        last_known_elr=last_known,
    )


def begins_to(role, second, node, epoch) -> BrokerLine:
    """A broker wrote that it begins to "lead" or to "follow" under an epoch."""
    at_ms = (CLOCK.wall_ns + int(second * SECOND_NS)) // 1_000_000
    kind = {"lead": "leader-start", "follow": "follower-start"}[role]
    return BrokerLine(at_ms=at_ms, topic="orders", partition=0, node=node, kind=kind, leader_epoch=epoch)


def names_release(second, node, release) -> BrokerLine:
    """A node wrote which Kafka release it is."""
    at_ms = (CLOCK.wall_ns + int(second * SECOND_NS)) // 1_000_000
    line = f"INFO Kafka version: {release} (org.apache.kafka.common.utils.AppInfoParser)"
    return BrokerLine(at_ms=at_ms, topic="", partition=-1, node=node, kind="version", line=line)


def registered(second, node, broker_epoch=0) -> BrokerState:
    """A process of a broker registered with the controllers."""
    at_ms = (CLOCK.wall_ns + int(second * SECOND_NS)) // 1_000_000
    return BrokerState(at_ms=at_ms, log_offset=broker_epoch, node=node, broker_epoch=broker_epoch)


def down(second, *nodes, recovered=-1, kind="kill", ended=None) -> Fault:
    """A fault after which these nodes had shut down uncleanly (or cleanly, if it is a stop), at `ended`."""
    return Fault(
        index=0,
        name=f"{kind}-{nodes[0]}" if nodes else kind,
        kind=kind,
        target="leader",
        nodes=nodes,
        inject_ns=ns(second),
        effect_ns=ns(second + 0.1),
        heal_ns=ns(recovered),
        recovered_ns=ns(recovered),
        down=nodes,
        down_ns=(ns(second if ended is None else ended),) * len(nodes),
        up_ns=(ns(recovered),) * len(nodes),
        data_lost=nodes if kind in ("power-loss", "disk-wipe") else (),
        unclean=() if kind == "stop" else nodes,
    )


def lost_directory(
    second, *nodes, restarted, recovered=-1, partition=0, kind="log-dir-failure", proven=True
) -> Fault:
    """Brokers lose the log directory of their replica of a partition, half a second before that is proven,
    and are restarted within a second."""
    return Fault(
        index=0,
        name=f"{kind}-{nodes[0]}",
        kind=kind,
        target="leader",
        nodes=nodes,
        inject_ns=ns(second),
        begin_ns=ns(second + 0.1),
        effect_ns=ns(second + 0.5) if proven else -1,
        end_ns=ns(restarted - 0.2),
        heal_ns=ns(restarted + 1),
        recovered_ns=ns(recovered),
        proven=proven,
        down=nodes,
        down_ns=(ns(restarted),) * len(nodes),
        up_ns=(ns(restarted + 1),) * len(nodes),
        data_lost=nodes if kind == "log-dir-failure" else (),
        unclean=nodes,
        replicas=tuple(f"{node}/orders-{partition}" for node in nodes),
    )


def cut(second, healed=-1, edges=("2->1", "3->1")) -> Fault:
    """A partition of the network: nobody shuts down."""
    return Fault(
        index=0,
        name="cut",
        kind="partition",
        target="followers -> leader",
        edges=edges,
        inject_ns=ns(second),
        heal_ns=ns(healed),
        recovered_ns=ns(healed),
    )


def sampled(second, high_watermark, leader=1, epoch=5, isr=(1, 2, 3)) -> Watermark:
    """One sample of orders-0."""
    return Watermark(
        topic="orders",
        partition=0,
        at_ns=ns(second),
        leader=leader,
        leader_epoch=epoch,
        isr=isr,
        high_watermark=high_watermark,
    )


def log_end(second, broker, end, *, epoch=5, source="live") -> ReplicaOffset:
    """How far the log of one replica of orders-0 reached."""
    return ReplicaOffset(
        topic="orders",
        partition=0,
        at_ns=ns(second),
        broker=broker,
        leader_epoch=epoch if source == "live" else -1,
        log_start=0,
        log_end=end,
        source=source,
    )


def power_cut(second, node, *, before, after, mounted) -> tuple[ReplicaOffset, ReplicaOffset]:
    """The log ends of a node whose power was cut: as it was paused, and when its disk was mounted again."""
    return (
        log_end(second, node, before, source="before-power-loss"),
        log_end(mounted, node, after, source="after-power-loss"),
    )


def wiped(second, node, *, before, mounted) -> tuple[ReplicaOffset, ReplicaOffset]:
    """The log ends of a node whose disk was replaced by an empty one."""
    return (
        log_end(second, node, before, source="before-wipe"),
        log_end(mounted, node, 0, source="after-wipe"),
    )


def checkpoint(broker, *epochs) -> Replica:
    """The leader-epoch checkpoint of one replica of orders-0: (epoch, first offset), ..."""
    return Replica(
        topic="orders",
        partition=0,
        broker=broker,
        epochs=tuple(epoch for epoch, _ in epochs),
        epoch_starts=tuple(start for _, start in epochs),
    )


def proof(high_watermark, log_start=0) -> Proof:
    """How the final read of orders-0 ended."""
    return Proof(
        topic="orders",
        partition=0,
        log_start=log_start,
        high_watermark=high_watermark,
        log_end=high_watermark,
        complete=True,
    )


def changed(second, value, offset=50, *, key=MIN_ISR, kind="topic", name="orders") -> ConfigChange:
    """A record of the metadata log that changes a setting; None removes it."""
    return ConfigChange(
        at_ms=(CLOCK.wall_ns + int(second * 1e9)) // 1_000_000,
        log_offset=offset,
        kind=kind,
        name=name,
        key=key,
        value=value or "",
        removed=value is None,
    )


def feature(second, level, offset=50) -> ConfigChange:
    """The level of ELR after a record of the metadata log."""
    return changed(second, level, offset, key="", kind="feature", name=ELR_FEATURE)


def lost(
    wanted="acked-loss",
    offset=7,
    sent=2.0,
    acked=3.0,
    producer=0,
    sequence=1,
    note="",
    partition=0,
    seen=None,
    last=-1,
) -> Anomaly:
    """An anomaly of a record of orders-0, sent, acknowledged and read at these seconds (None: never)."""
    return Anomaly(
        property=Property(wanted),
        topic="orders",
        partition=partition,
        offset=offset,
        last_offset=last,
        producer=producer,
        sequence=sequence,
        invoked_ns=ns(sent),
        completed_ns=ns(acked),
        seen_ns=ns(seen),
        note=note,
    )


def world(
    *events,
    acks="all",
    idempotence=None,
    min_isr=2,
    unclean=False,
    flush=0,
    elr=True,
    collected=frozenset(OPTIONAL),
    batches=None,
) -> Realised:
    """A run as it really was; `events` are rows of its tables, and the LogRuns of its final log.

    `batches` are (base offset, producer id, producer epoch) of orders-0.
    """
    idempotence = acks == "all" if idempotence is None else idempotence
    columns = BatchProducers(*np.array(batches, np.int64).T) if batches else None

    def rows(kind) -> list:
        return [event for event in events if isinstance(event, kind)]

    return Realised(
        producers={0: ProducerPromise(acks=acks, idempotence=idempotence)},
        topics={"orders": TopicPromise(min_isr=min_isr, unclean=unclean, flush_messages=flush)},
        elr=elr,
        clock=CLOCK,
        context=Context(
            collected=collected,
            metadata=rows(MetadataChange),
            brokers=rows(BrokerState),
            configs=rows(ConfigChange),
            faults=rows(Fault),
            watermarks=rows(Watermark),
            proofs=rows(Proof),
            replicas=rows(Replica),
            replica_offsets=rows(ReplicaOffset),
            broker_lines=rows(BrokerLine),
            client_events=rows(ClientEvent),
            node_events=rows(NodeEvent),
            clocks=rows(ClockPair),
        ),
        survivors=lambda _: sorted(rows(LogRun), key=lambda run: run.first),
        batches=lambda _: columns,
    )


QUIET = (led(0, 1, 5, (1, 2, 3)),)
LEADER_KILLED = (
    led(0, 1, 5, (1, 2, 3)),
    sampled(2.2, 3),
    sampled(2.8, 5),
    down(4, 1, recovered=12),
    led(7, 2, 6, (2, 3)),
    led(12, 2, 6, (1, 2, 3)),
    LogRun(5, 0, 4),
    LogRun(6, 5, 9000),
)
"""Broker 1 led epoch 5 and was killed at 4 s; broker 2 begins epoch 6 at offset 5."""
ALL_POWERED_OFF = (
    led(0, 1, 5, (1, 2, 3)),
    down(4, 1, 2, 3, kind="power-loss", recovered=15),
    led(8, -1, 6, (1,)),
    led(10, 1, 7, (1,)),
    led(14, 1, 7, (1, 2, 3)),
)
ALL_CUT = (
    *ALL_POWERED_OFF,
    *(row for node in (1, 2, 3) for row in power_cut(4, node, before=30, after=2, mounted=9)),
    LogRun(5, 0, 1),
    LogRun(7, 2, 50),
)
"""All lost their pages at 4 s: of 30 records on each disk, 2 stayed; broker 1 leads again from 10 s on."""
