"""Traps of a topic: replicas that do not add up, elections that forget, records that Kafka deletes."""

from collections.abc import Iterator

from checkers.promises.configuration import COUNTS_AT_MOST_ALL, Configuration
from checkers.promises.traps.trap import (
    BROKERS,
    OF_BROKERS,
    OF_TOPIC,
    Change,
    Find,
    Trap,
    counted,
    enough_brokers,
    milliseconds,
)

DAY_S = 86_400.0
ONE_COPY = ("isr-of-one", "disk-loss")
NO_WRITES = ("below-min-isr",)
DAYS_MS = 604_800_000
"""Kafka's own retention.ms: a week."""
MIN_ISR = (*OF_TOPIC, "min.insync.replicas")
FLUSH_CHECK = (*OF_BROKERS, "log.flush.scheduler.interval.ms")
ACKS_ALL: Change = {("producer", "acks"): "all"}


def _three_replicas(its: Configuration) -> Change:
    """With fewer no min.insync.replicas gives both: copies, and writes while one is away."""
    return {("topic", "replication"): 3, MIN_ISR: 2, **enough_brokers(its, 3)}


def _one_replica(its: Configuration) -> Iterator[Trap]:
    if its.topic.replication == 1:
        yield Trap(
            id="one-replica",
            sentence="there is one replica: while its broker is away nothing is written or read, and what "
            "its disk loses is lost",
            change={("topic", "replication"): 3, **enough_brokers(its, 3)},
            shown_by=ONE_COPY,
        )


def _two_replicas(its: Configuration) -> Iterator[Trap]:
    if its.topic.replication == 2 and its.waits_for_all:
        lost = "one copy is enough to acknowledge"
        if its.min_isr > 1:
            never = its.beyond_needed < 0
            lost = "no write is ever taken" if never else "every write stops with one broker"
        yield Trap(
            id="two-replicas",
            sentence="two replicas give durability or availability, never both: with "
            f"min.insync.replicas={its.topic.min_isr} {lost}",
            change=_three_replicas(its),
            shown_by=NO_WRITES if its.min_isr > 1 else ONE_COPY,
        )


def _min_isr(its: Configuration) -> Iterator[Trap]:
    few = its.topic.replication < 3
    change = _three_replicas(its) if few else {MIN_ISR: its.topic.replication - 1}
    if its.topic.min_isr > its.topic.replication:
        yield _above_all(its, change)
    elif its.waits_for_all and its.min_isr == its.topic.replication and its.topic.replication > 2:
        yield Trap(
            id="min-isr-of-all",
            sentence=f"min.insync.replicas={its.min_isr} of {its.topic.replication} replicas: the restart of "
            "any one broker stops every write",
            change=change,
            shown_by=NO_WRITES,
        )
    elif its.waits_for_all and its.min_isr == 1 and its.topic.replication > 1:
        yield Trap(
            id="min-isr-of-one",
            sentence="acks=all waits for the replicas that are in sync, and with min.insync.replicas=1 the "
            "leader alone is enough: acknowledged records may have one copy",
            change=change,
            shown_by=ONE_COPY,
        )


def _above_all(its: Configuration, change: Change) -> Trap:
    counts = its.cluster.release >= COUNTS_AT_MOST_ALL
    effect = (
        "it counts as all of them, so one broker away stops every write"
        if counts
        else "no write is ever taken"
    )
    return Trap(
        id="min-isr-above-replication",
        sentence=f"min.insync.replicas={its.topic.min_isr} is more than the "
        f"{counted(its.topic.replication, 'replica')}: with acks=all {effect}",
        change=change,
        shown_by=NO_WRITES,
    )


def _no_spare_broker(its: Configuration) -> Iterator[Trap]:
    if 1 < its.cluster.brokers == its.topic.replication:
        yield Trap(
            id="no-spare-broker",
            sentence=f"{its.cluster.brokers} brokers for {its.topic.replication} replicas: a broker that "
            "stays away cannot be replaced, and the topic stays short of a replica",
            change={BROKERS: its.topic.replication + 1},
        )


def _unclean(its: Configuration) -> Iterator[Trap]:
    off = {(*OF_TOPIC, "unclean.leader.election.enable"): False}
    if its.stale_may_lead:
        yield Trap(
            id="unclean-election",
            sentence="unclean.leader.election.enable=true: a replica that is behind may lead, and what it "
            "lacks is lost whatever acks and min.insync.replicas promise",
            change=off,
            shown_by=("unclean-election",),
        )
    elif its.topic.unclean and not its.reads_unclean:
        yield Trap(
            id="unclean-without-effect",
            sentence="unclean.leader.election.enable=true has no effect in this release: before Kafka 3.9 "
            "controllers elect a replica that is behind only when a person asks for it",
            change=off,
        )


def _flush(its: Configuration) -> Iterator[Trap]:
    if its.topic.flush_messages == 1 and not its.acknowledged_by_all:
        waits = "nobody waits for it" if its.producer.acks == "0" else "a follower's copy is not waited for"
        yield Trap(
            id="flush-without-acks-all",
            sentence="flush.messages=1 costs a flush for each append, and with "
            f"acks={its.producer.acks} {waits}",
            change=ACKS_ALL,
            shown_by=("unreplicated-tail", "nothing-promised"),
        )
    if its.topic.flush_s is not None and its.cluster.flush_check_s is None and not its.flushed:
        yield Trap(
            id="flush-ms-without-scheduler",
            sentence=f"flush.ms={milliseconds(its.topic.flush_s)} flushes nothing: brokers look for it every "
            "log.flush.scheduler.interval.ms, which is never by default",
            change={FLUSH_CHECK: max(1, milliseconds(min(its.topic.flush_s, DAY_S)))},
            shown_by=("power-of-all", "isr-of-one"),
        )


# What Kafka deletes


def _retention(its: Configuration) -> Iterator[Trap]:
    kept_s = its.topic.retention_s
    if kept_s is not None and kept_s < DAY_S:
        late = kept_s > 0 and its.takes_what_is_too_old
        yield Trap(
            id="retention-against-clocks",
            sentence=_deleted_by_clocks(its, kept_s),
            change={(*OF_TOPIC, "retention.ms"): DAYS_MS},
            beyond="against producers' clocks alone message.timestamp.type: LogAppendTime" * late,
        )
    if kept_s and its.takes_what_is_too_old and its.topic.oldest_stamp_s is not None:
        yield Trap(
            id="timestamps-older-than-retention",
            sentence="message.timestamp.before.max.ms lets in records that are older than retention.ms: "
            "they are acknowledged, and deleted",
            change={(*OF_TOPIC, "message.timestamp.before.max.ms"): milliseconds(kept_s) // 2},
        )


def _deleted_by_clocks(its: Configuration, kept_s: float) -> str:
    """Each broker deletes by its own clock what it has, also what it follows."""
    if kept_s == 0:
        return "retention.ms=0 keeps nothing: brokers delete what was acknowledged when they look at it"
    ahead = "a broker that is so far ahead deletes what it leads, or will lead"
    if its.takes_what_is_too_old:
        return (
            f"retention.ms of {kept_s:g} s is counted from the producer's clock to the broker's: a producer "
            f"that is so far behind has its records deleted as soon as they are acknowledged, and {ahead}"
        )
    since = "that of the leader before it" if its.topic.stamped_by_broker else "the producer's"
    return f"retention.ms of {kept_s:g} s is counted to a broker's clock from {since}: {ahead}"


def _deleted_by_size(its: Configuration) -> Iterator[Trap]:
    if its.topic.retention_bytes is not None:
        yield Trap(
            id="retention-by-size",
            sentence=f"retention.bytes={its.topic.retention_bytes} of each partition: a burst deletes "
            "records that no consumer has read, however young",
            change={(*OF_TOPIC, "retention.bytes"): -1},
        )
    if its.topic.compacted:
        yield Trap(
            id="compacted",
            sentence="cleanup.policy has compact: of records with one key only the last is kept, and a "
            "record without a key is refused",
            change={(*OF_TOPIC, "cleanup.policy"): "delete"},
        )


EVERY: tuple[Find, ...] = (
    _one_replica,
    _two_replicas,
    _min_isr,
    _no_spare_broker,
    _unclean,
    _flush,
    _retention,
    _deleted_by_size,
)
