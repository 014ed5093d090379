"""Traps of brokers and controllers: who may lead, how soon one is missed, and where replicas stand."""

from collections import Counter
from collections.abc import Iterator
from math import ceil

from checkers.promises.configuration import ELR_EXISTS, Configuration
from checkers.promises.traps.trap import Find, Trap, milliseconds

HEARTBEATS_OF_A_SESSION = 3
ALL_AT_ONCE = ("power-of-all",)


def _elr(its: Configuration) -> Iterator[Trap]:
    if its.cluster.elr or its.min_isr < 2 or its.topic.unclean:
        return
    has = its.cluster.release >= ELR_EXISTS
    why = "are off" if has else "do not exist in this release"
    loss = "disk lost" if its.flushed else "power loss"
    yield Trap(
        id="no-eligible-leader-replicas",
        sentence=f"eligible leader replicas {why}: one {loss} of the last in-sync replica loses what "
        f"min.insync.replicas={its.topic.min_isr} seems to keep",
        change="cluster: elr: true" if has else "cluster: kafka: 4.1 or newer",
        shown_by=("disk-loss",) if its.flushed else ("last-replica-standing",),
    )


def _sessions(its: Configuration) -> Iterator[Trap]:
    cluster = its.cluster
    if cluster.session_s < HEARTBEATS_OF_A_SESSION * cluster.heartbeat_s:
        yield Trap(
            id="session-of-few-heartbeats",
            sentence=f"broker.session.timeout.ms of {cluster.session_s:g} s is less than "
            f"{HEARTBEATS_OF_A_SESSION} heartbeats of {cluster.heartbeat_s:g} s: one late heartbeat fences "
            "a healthy broker",
            change="cluster: broker_config: broker.session.timeout.ms: "
            f"{milliseconds(HEARTBEATS_OF_A_SESSION * cluster.heartbeat_s)}",
        )
    if its.topic.replication > 1 and cluster.lag_max_s < cluster.session_s:
        yield Trap(
            id="lag-below-session",
            sentence=f"replica.lag.time.max.ms of {cluster.lag_max_s:g} s is less than "
            f"broker.session.timeout.ms of {cluster.session_s:g} s: a slow leader is alone in the ISR "
            "before the controllers miss it, and if it dies then, nobody may lead",
            change="cluster: broker_config: replica.lag.time.max.ms: "
            f"{milliseconds(max(30.0, 2 * cluster.session_s))}",
            shown_by=("offline",),
        )
    if its.topic.replication > 1 and cluster.lag_max_s <= cluster.fetch_wait_s:
        yield Trap(
            id="lag-below-fetch-wait",
            sentence=f"a follower waits up to {cluster.fetch_wait_s:g} s (replica.fetch.wait.max.ms) for "
            f"records, and has left the ISR after {cluster.lag_max_s:g} s: it goes in and out of it",
            change="cluster: broker_config: replica.lag.time.max.ms: "
            f"{milliseconds(max(30.0, 10 * cluster.fetch_wait_s))}",
        )


def _controllers(its: Configuration) -> Iterator[Trap]:
    number = its.cluster.controllers
    if number < 3 or number % 2 == 0:
        away = (number - 1) // 2
        spare = "none" if away == 0 else f"{away}, as {number - 1} do"
        yield Trap(
            id="controllers-without-majority",
            sentence=f"{number} controllers can spare {spare}: without a majority no leader is elected and "
            "no ISR changes",
            change=f"cluster: controllers: {max(3, number + 1)}",
        )


def _racks(its: Configuration) -> Iterator[Trap]:
    racks, brokers = its.cluster.racks, its.cluster.brokers
    if its.cluster.replicas_in_one_rack:
        yield Trap(
            id="replicas-in-one-rack",
            sentence=f"{its.cluster.replicas_in_one_rack} partitions have all their replicas in one rack: "
            "its power or its switch takes them all",
            change="topic: reassign its replicas over the racks",
            shown_by=ALL_AT_ONCE,
        )
    if racks and len(racks) < brokers:
        yield Trap(
            id="racks-of-some",
            sentence=f"{brokers - len(racks)} of {brokers} brokers have no broker.rack: Kafka takes them for "
            "one more rack, wherever they stand",
            change="cluster: broker.rack on every broker",
        )
    elif not racks and brokers > 1 and its.topic.replication > 1:
        yield Trap(
            id="no-racks",
            sentence="no broker has a broker.rack: replicas may share a rack, its switch and its power",
            change="cluster: racks: the rack of each broker",
            shown_by=ALL_AT_ONCE,
        )
    elif racks and len(set(racks.values())) < min(its.topic.replication, 2):
        yield Trap(
            id="one-rack",
            sentence="all brokers stand in one rack: its power loss is the power loss of all replicas",
            change="cluster: racks: two or more",
            shown_by=ALL_AT_ONCE,
        )
    elif its.beyond_needed > 0 and _most_in_a_rack(its) > its.beyond_needed:
        yield _few_racks(its)


def _few_racks(its: Configuration) -> Trap:
    replicas, most = its.topic.replication, _most_in_a_rack(its)
    enough = ceil(replicas / its.beyond_needed)
    left = "1 is left" if replicas - most == 1 else f"{replicas - most} are left"
    return Trap(
        id="few-racks",
        sentence=f"one rack has {most} of the {replicas} replicas of a partition: without it {left}, and a "
        f"write needs {its.needed}",
        change=f"cluster: racks: {enough} or more, with as many brokers in each",
        shown_by=("below-min-isr",),
    )


def _most_in_a_rack(its: Configuration) -> int:
    """How many replicas of a partition a rack gets at most: each rack one in turn, while it has brokers."""
    sizes = Counter(its.cluster.racks.values()).values()
    counts = range(1, its.topic.replication + 1)
    most = (count for count in counts if sum(min(size, count) for size in sizes) >= its.topic.replication)
    return next(most, its.topic.replication)


def _other_topics(its: Configuration) -> Iterator[Trap]:
    cluster, wanted = its.cluster, its.topic.replication
    if cluster.creates_topics and (cluster.default_replication or 1) < wanted:
        yield Trap(
            id="topics-made-by-a-write",
            sentence="auto.create.topics.enable makes a topic that a producer misspells, or writes to too "
            f"early, with {cluster.default_replication or 1} replicas instead of {wanted}",
            change="cluster: broker_config: auto.create.topics.enable: false",
        )
    if cluster.offsets_replication is not None and cluster.offsets_replication < wanted:
        yield Trap(
            id="offsets-with-fewer-replicas",
            sentence=f"the groups' offsets have {cluster.offsets_replication} replicas and the topic "
            f"{wanted}: what is kept here is read again, or skipped, when those are lost",
            change=f"cluster: broker_config: offsets.topic.replication.factor: {wanted}",
        )
    if cluster.transactions_min_isr is not None and cluster.transactions_min_isr < min(2, its.min_isr):
        yield Trap(
            id="transactions-with-one-copy",
            sentence="transaction.state.log.min.isr=1: a committed transaction may be known to one broker "
            "only",
            change="cluster: broker_config: transaction.state.log.min.isr: 2",
        )


EVERY: tuple[Find, ...] = (_elr, _sessions, _controllers, _racks, _other_topics)
