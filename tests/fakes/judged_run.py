"""What a run really was, in few words: settings, faults, elections and samples of one partition, orders-0.

Times are seconds of the run; the history's clock reads 100 s at its start, the wall clock 5,000 s.
"""

from checkers.anomalies import Anomaly
from checkers.contract.settings import ProducerPromise, Realised, TopicPromise
from checkers.contract.timeline import SECOND_NS, Clock
from checkers.history.rows import Context, Fault, MetadataChange, Proof, Watermark
from checkers.properties import Property

CLOCK = Clock(monotonic_ns=100 * SECOND_NS, wall_ns=5_000 * SECOND_NS)


def ns(second) -> int:
    """A second of the run as the history has it; None and -1 are "none"."""
    return -1 if second is None or second == -1 else CLOCK.monotonic_ns + int(second * SECOND_NS)


def led(second, leader, epoch, isr, elr=()) -> MetadataChange:
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
    )


def down(second, *nodes, recovered=-1, kind="kill") -> Fault:
    """A fault after which these nodes had shut down uncleanly (or cleanly, if it is a stop)."""
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
        down_ns=(ns(second),) * len(nodes),
        up_ns=(ns(recovered),) * len(nodes),
        unclean=() if kind == "stop" else nodes,
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
) -> Anomaly:
    """An anomaly of a record of orders-0, sent, acknowledged and read at these seconds (None: never)."""
    return Anomaly(
        property=Property(wanted),
        topic="orders",
        partition=partition,
        offset=offset,
        producer=producer,
        sequence=sequence,
        invoked_ns=ns(sent),
        completed_ns=ns(acked),
        seen_ns=ns(seen),
        note=note,
    )


def world(*events, acks="all", idempotence=None, min_isr=2, unclean=False, flush=0, elr=True) -> Realised:
    """A run as it really was; `events` are metadata changes, faults, samples and proofs."""
    idempotence = acks == "all" if idempotence is None else idempotence
    return Realised(
        producers={0: ProducerPromise(acks=acks, idempotence=idempotence)},
        topics={"orders": TopicPromise(min_isr=min_isr, unclean=unclean, flush_messages=flush)},
        elr=elr,
        clock=CLOCK,
        context=Context(
            metadata=[event for event in events if isinstance(event, MetadataChange)],
            faults=[event for event in events if isinstance(event, Fault)],
            watermarks=[event for event in events if isinstance(event, Watermark)],
            proofs=[event for event in events if isinstance(event, Proof)],
        ),
    )


QUIET = (led(0, 1, 5, (1, 2, 3)),)
LEADER_KILLED = (
    led(0, 1, 5, (1, 2, 3)),
    down(4, 1, recovered=12),
    led(7, 2, 6, (2, 3)),
    led(12, 2, 6, (1, 2, 3)),
)
ALL_POWERED_OFF = (
    led(0, 1, 5, (1, 2, 3)),
    down(4, 1, 2, 3, kind="power-loss", recovered=15),
    led(8, -1, 6, (1,)),
    led(10, 1, 7, (1,)),
    led(14, 1, 7, (1, 2, 3)),
)
