"""Traps of brokers and controllers: who may lead, how soon one is missed, and where replicas stand."""

from collections import Counter
from collections.abc import Iterator
from math import ceil

from checkers.promises.configuration import ELR_EXISTS, MOST_IN_FLIGHT_OF_IDEMPOTENCE, Configuration
from checkers.promises.traps.trap import (
    IN_FLIGHT,
    LARGEST_INT,
    OF_BROKERS,
    OF_CONTROLLERS,
    Change,
    Find,
    Place,
    Trap,
    counted,
    enough_brokers,
    milliseconds,
)

HEARTBEATS_OF_A_SESSION = 3
SESSION: Place = (*OF_CONTROLLERS, "broker.session.timeout.ms")
HEARTBEAT: Place = (*OF_BROKERS, "broker.heartbeat.interval.ms")
LAG: Place = (*OF_BROKERS, "replica.lag.time.max.ms")
ELR: Place = ("cluster", "elr")
FORMATTED: Place = ("cluster", "formatted")
KAFKA: Place = ("cluster", "kafka")
WITH_ELR = "4.1.0"
"""The first release whose new clusters have eligible leader replicas on."""
BY_AN_UPGRADE = (
    "a cluster that exists has to finalize metadata.version, and eligible.leader.replicas.version at 1"
)
ALL_AT_ONCE = ("power-of-all",)


def _elr(its: Configuration) -> Iterator[Trap]:
    """Where a write waits for two or more, and nobody else leads after them."""
    kept = its.waits_for_all and its.min_isr > 1 and its.beyond_needed >= 0
    if its.cluster.elr or not kept or its.stale_may_lead:
        return
    loss = "disk lost" if its.flushed else "power loss"
    yield Trap(
        id="no-eligible-leader-replicas",
        sentence=f"eligible leader replicas {_why_no_elr(its)}: one {loss} of the last in-sync replica loses "
        f"what min.insync.replicas={its.topic.min_isr} seems to keep",
        change=_with_elr(its),
        beyond=BY_AN_UPGRADE * (not _has_elr(its)),
        shown_by=("disk-loss",) if its.flushed else ("last-replica-standing",),
    )


def _has_elr(its: Configuration) -> bool:
    return (its.cluster.formatted or its.cluster.release) >= ELR_EXISTS


def _why_no_elr(its: Configuration) -> str:
    if _has_elr(its):
        return "are off"
    if its.cluster.release < ELR_EXISTS:
        return "do not exist in this release"
    return "do not exist with the metadata.version of this cluster"


def _with_elr(its: Configuration) -> Change:
    if _has_elr(its):
        return {ELR: True}
    formatted: Change = {} if its.cluster.formatted is None else {FORMATTED: None}
    if its.cluster.release >= ELR_EXISTS:
        return {**formatted, ELR: True}
    return {KAFKA: WITH_ELR, **formatted, ELR: True, **_of_newer_producers(its)}


def _of_newer_producers(its: Configuration) -> Change:
    """What producers of Kafka 4 do not start with any more."""
    producer, most = its.producer, MOST_IN_FLIGHT_OF_IDEMPOTENCE
    return {IN_FLIGHT: most} if producer.asked_idempotence is None and producer.max_in_flight > most else {}


def _sessions(its: Configuration) -> Iterator[Trap]:
    cluster = its.cluster
    if cluster.session_s < HEARTBEATS_OF_A_SESSION * cluster.heartbeat_s:
        yield Trap(
            id="session-of-few-heartbeats",
            sentence=f"broker.session.timeout.ms of {cluster.session_s:g} s is less than "
            f"{HEARTBEATS_OF_A_SESSION} heartbeats of {cluster.heartbeat_s:g} s: one late heartbeat fences "
            "a healthy broker",
            change=_longer_session(its),
        )
    another_leads = its.stale_may_lead or (cluster.elr and its.min_isr > 1)
    if its.topic.replication > 1 and not another_leads and cluster.lag_max_s < cluster.session_s:
        yield Trap(
            id="lag-below-session",
            sentence=f"replica.lag.time.max.ms of {cluster.lag_max_s:g} s is less than "
            f"broker.session.timeout.ms of {cluster.session_s:g} s: a slow leader is alone in the ISR "
            "before the controllers miss it, and if it dies then, nobody may lead",
            change={LAG: milliseconds(max(30.0, 2 * cluster.session_s))},
        )
    if its.topic.replication > 1 and cluster.lag_max_s == cluster.fetch_wait_s:
        yield Trap(
            id="lag-below-fetch-wait",
            sentence=f"a follower waits up to {cluster.fetch_wait_s:g} s (replica.fetch.wait.max.ms) for "
            f"records, and has left the ISR after {cluster.lag_max_s:g} s: it goes in and out of it",
            change={LAG: milliseconds(max(30.0, 10 * cluster.fetch_wait_s))},
        )


def _longer_session(its: Configuration) -> Change:
    """Of enough heartbeats; where there is none that long, as Kafka's own."""
    wanted_ms = milliseconds(HEARTBEATS_OF_A_SESSION * its.cluster.heartbeat_s)
    return {SESSION: wanted_ms} if wanted_ms <= LARGEST_INT else {SESSION: 9_000, HEARTBEAT: 2_000}


def _controllers(its: Configuration) -> Iterator[Trap]:
    number = its.cluster.controllers
    if number < 3 or number % 2 == 0:
        away = (number - 1) // 2
        wanted = 3 if number < 4 else number - 1
        spare = "none" if away == 0 else f"{away}, as {number - 1} do"
        all_of_them = counted(number, "controller")
        yield Trap(
            id="controllers-without-majority",
            sentence=f"{all_of_them} can spare {spare}: without a majority no leader is elected and no ISR "
            "changes",
            change={
                ("cluster", "controllers"): wanted,
                **(enough_brokers(its, wanted) if its.cluster.combined else {}),
            },
        )


def _racks(its: Configuration) -> Iterator[Trap]:
    racks, brokers = its.cluster.racks, its.cluster.brokers
    if its.cluster.replicas_in_one_rack:
        yield Trap(
            id="replicas-in-one-rack",
            sentence=f"{_in_one_rack(its)} replicas in one rack: its power or its switch takes them all",
            change={},
            beyond="reassign the topic's replicas over the racks",
            shown_by=ALL_AT_ONCE,
        )
    without = brokers - len(racks) - its.cluster.unknown_racks
    if racks and without:
        yield Trap(
            id="racks-of-some",
            sentence=f"{without} of {brokers} brokers {'has' if without == 1 else 'have'} no broker.rack: "
            "Kafka takes them for one more rack, wherever they stand",
            change={},
            beyond="cluster: racks: the rack of every broker",
        )
    elif without == brokers > 1 and its.topic.replication > 1:
        yield Trap(
            id="no-racks",
            sentence="no broker has a broker.rack: replicas may share a rack, its switch and its power",
            change={},
            beyond="cluster: racks: the rack of every broker",
            shown_by=ALL_AT_ONCE,
        )
    elif racks and len(set(racks.values())) < min(its.topic.replication, 2):
        yield Trap(
            id="one-rack",
            sentence=f"all brokers{_whose_rack_is_known(its)} stand in one rack: its power loss is the power "
            "loss of all replicas",
            change={},
            beyond="cluster: racks: two or more",
            shown_by=ALL_AT_ONCE,
        )
    elif racks and its.beyond_needed > 0 and _most_in_a_rack(its) > its.beyond_needed:
        yield _few_racks(its)


def _few_racks(its: Configuration) -> Trap:
    replicas, most = its.topic.replication, _most_in_a_rack(its)
    enough = ceil(replicas / its.beyond_needed)
    left = "1 is left" if replicas - most == 1 else f"{replicas - most} are left"
    return Trap(
        id="few-racks",
        sentence=f"one rack has {most} of the {replicas} replicas of a partition{_unless_apart(its)}: "
        f"without it {left}, and a write needs {its.needed}",
        change={},
        beyond=f"cluster: racks: {enough} or more, with as many brokers in each",
        shown_by=("below-min-isr",),
    )


def _in_one_rack(its: Configuration) -> str:
    number = its.cluster.replicas_in_one_rack
    return f"{counted(number, 'partition')} {'has all its' if number == 1 else 'have all their'}"


def _whose_rack_is_known(its: Configuration) -> str:
    return " whose rack is known" * (its.cluster.unknown_racks > 0)


def _unless_apart(its: Configuration) -> str:
    """A rack that is not known is taken for one of those that are."""
    return ", if no broker whose rack is not known has one of its own" * (its.cluster.unknown_racks > 0)


def _most_in_a_rack(its: Configuration) -> int:
    """How many replicas of a partition a rack gets at most: each rack one in turn, while it has brokers."""
    sizes, replicas = Counter(its.cluster.racks.values()).values(), its.topic.replication
    for most in range(1, replicas):
        known = sum(min(size, most) for size in sizes)
        if known + min(its.cluster.unknown_racks, len(sizes) * most - known) >= replicas:
            return most
    return replicas


def _other_topics(its: Configuration) -> Iterator[Trap]:
    cluster, wanted = its.cluster, its.topic.replication
    if cluster.creates_topics and (cluster.default_replication or 1) < wanted:
        yield Trap(
            id="topics-made-by-a-write",
            sentence="auto.create.topics.enable makes a topic that a producer misspells, or writes to too "
            f"early, with {counted(cluster.default_replication or 1, 'replica')} instead of {wanted}",
            change={(*OF_BROKERS, "auto.create.topics.enable"): False},
        )
    if cluster.offsets_replication is not None and cluster.offsets_replication < wanted:
        few = counted(cluster.offsets_replication, "replica")
        yield Trap(
            id="offsets-with-fewer-replicas",
            sentence=f"the groups' offsets have {few} and the topic {wanted}: what is kept here is read "
            "again, or skipped, when those are lost",
            change={(*OF_BROKERS, "offsets.topic.replication.factor"): wanted},
        )
    if cluster.transactions_min_isr is not None and cluster.transactions_min_isr < min(2, its.min_isr):
        yield Trap(
            id="transactions-with-one-copy",
            sentence="transaction.state.log.min.isr=1: a committed transaction may be known to one broker "
            "only",
            change={(*OF_BROKERS, "transaction.state.log.min.isr"): 2},
        )


EVERY: tuple[Find, ...] = (_elr, _sessions, _controllers, _racks, _other_topics)
