"""What a configuration promises, clause by clause, in words.

Invariant: what the contract permits to be lost, a clause of the kind `lost` names by its cause; what no such
clause names, is kept. So an acceptance and a verdict never differ.
Evidence: the configuration alone. Whether a cluster keeps it is shown by a run (harness/campaign/accept).
Counterexample to "acks=all with three replicas keeps what it acknowledged":
    min.insync.replicas=1; two followers fall behind, and the leader acknowledges by itself
    it loses its power: what it acknowledged is nowhere
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from checkers.contract import clauses as contract
from checkers.contract.fates.retention import in_words
from checkers.promises.configuration import ELR_EXISTS, Configuration

Kind = Literal["kept", "lost", "available", "unavailable"]
WRITE_BACK_S = 30.0
"""After about that time the kernel writes a dirty page by itself (vm.dirty_expire_centisecs)."""

UNSYNCED = (contract.POWER_LOSS, contract.UNCLEAN_SHUTDOWNS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Clause:
    """One thing that is promised, or is not. `causes` are those of the contract by which a record may be
    lost.
    """

    id: str
    kind: Kind
    sentence: str
    causes: tuple[str, ...] = ()


KINDS: dict[str, Kind] = {
    "process-kill": "kept",
    "broker-loss": "kept",
    "loss-beside-in-sync": "kept",
    "deposed-leader": "kept",
    "power-flushed": "kept",
    "nothing-promised": "lost",
    "unreplicated-tail": "lost",
    "deposed-leader-acks": "lost",
    "power-of-all": "lost",
    "isr-of-one": "lost",
    "unclean-shutdowns": "lost",
    "last-replica-standing": "lost",
    "disk-loss": "lost",
    "unclean-election": "lost",
    "retention-by-clock": "lost",
    "spare-replicas": "available",
    "stays-up": "available",
    "below-min-isr": "unavailable",
    "unreached-leader": "unavailable",
    "stalled-leader": "unavailable",
    "offline": "unavailable",
    "last-leader-away": "unavailable",
}
"""Every clause that there is, in the order in which they are given."""


def clauses(configuration: Configuration) -> tuple[Clause, ...]:
    """All that the configuration promises: what is kept first, then what may be lost, then availability."""
    found = [*_kept(configuration), *_lost(configuration), *_availability(configuration)]
    return tuple(found)


def may_be_lost_by(configuration: Configuration) -> frozenset[str]:
    """The causes by which an acknowledged record may be lost, as the contract calls them."""
    return frozenset(cause for clause in clauses(configuration) for cause in clause.causes)


def _clause(name: str, sentence: str, causes: tuple[str, ...] = ()) -> Clause:
    return Clause(id=name, kind=KINDS[name], sentence=sentence, causes=causes)


# What is kept


def _kept(its: Configuration) -> Iterator[Clause]:
    """Where no write is ever taken, nothing is acknowledged that could be kept."""
    if not its.acknowledged_by_all or its.beyond_needed < 0:
        return
    if its.stale_may_lead:
        if its.min_isr > 1:
            beside = ", as long as another replica stays in sync: it leads before one that is not"
            yield _clause("loss-beside-in-sync", _survives(its) + beside)
        return
    yield _clause(
        "process-kill",
        "keeps what it acknowledged when brokers are killed, all of them at once too: the page cache "
        "outlives a process",
    )
    if its.min_isr > 1:
        beside = "" if its.cluster.elr else ", as long as another replica stays in sync"
        yield _clause("broker-loss", _survives(its) + beside)
    if its.topic.replication > 1:
        yield _clause(
            "deposed-leader",
            "a leader that was deposed and does not know it acknowledges nothing: its successor was in sync "
            "with it, and follows it no more",
        )
    if its.flushed:
        yield _clause(
            "power-flushed",
            "keeps what it acknowledged when every broker loses its power: each record is on disk before",
        )


def _survives(its: Configuration) -> str:
    lost = "any one broker" if its.min_isr == 2 else f"any {its.min_isr - 1} brokers"
    return f"survives the loss of {lost} with all that was not flushed"


# What may be lost


def _lost(its: Configuration) -> Iterator[Clause]:
    if its.producer.acks == "0":
        text = "promises nothing: a producer with acks=0 takes a record for written once it is sent"
        yield _clause("nothing-promised", text, (contract.NOTHING_PROMISED,))
    if its.producer.acks == "1" and its.topic.replication > 1:
        yield from _of_one_leader()
    if not its.flushed:
        yield from _unflushed(its)
    yield _disk_loss(its)
    if its.stale_may_lead:
        yield _clause(
            "unclean-election",
            "loses what a replica lacks that was not in sync when it is elected, since "
            "unclean.leader.election.enable is true",
            (contract.UNCLEAN_ELECTION,),
        )
    if its.topic.retention_s is not None:
        text = _by_clock(its, its.topic.retention_s)
        yield _clause("retention-by-clock", text, (contract.RETENTION,))


def _by_clock(its: Configuration, kept_s: float) -> str:
    """Each broker deletes by its own clock what it has, also what it follows."""
    if kept_s == 0:
        return "loses what was acknowledged, whatever the clocks: retention.ms=0 keeps nothing"
    kept = in_words(round(kept_s * 1000))
    dated = ", or its producer dates it so far back" * its.takes_what_is_too_old
    return (
        "loses what was acknowledged when the clock of a broker that leads, or leads later, runs more than "
        f"{kept} ahead{dated}: by that retention deletes the record, and with it on every replica"
    )


def _of_one_leader() -> Iterator[Clause]:
    yield _clause(
        "unreplicated-tail",
        "loses what the leader had acknowledged and its successor had not fetched, when the leader dies, and "
        "when the leadership is moved too (acks=1)",
        (contract.UNREPLICATED_TAIL,),
    )
    yield _clause(
        "deposed-leader-acks",
        "loses what a deposed leader goes on acknowledging while it does not know of its successor (acks=1)",
        (contract.DEPOSED_LEADER,),
    )


def _unflushed(its: Configuration) -> Iterator[Clause]:
    """Kafka acknowledges from the page cache: what goes when that goes."""
    last_known = (contract.LAST_KNOWN_ELR,) if its.cluster.elr else ()
    if its.topic.replication == 1:
        text = f"loses what was acknowledged {_since(its)} when the only replica loses its power"
        yield _clause("isr-of-one", text, (contract.ISR_OF_ONE, *UNSYNCED, *last_known))
        return
    yield _clause(
        "power-of-all",
        f"loses what was acknowledged {_since(its)} when all in-sync replicas lose their power",
        (contract.POWER_LOSS,),
    )
    if its.min_isr == 1:
        yield _clause(
            "isr-of-one",
            f"loses what was acknowledged {_since(its)} when a single broker loses its power, if it was "
            "alone in sync (min.insync.replicas=1)",
            (contract.ISR_OF_ONE, *UNSYNCED, *last_known),
        )
        return
    yield _clause(
        "unclean-shutdowns",
        f"loses what was acknowledged {_since(its)} when {its.min_isr} brokers that have it shut down "
        "uncleanly before they are in sync again, and the one that leads then has lost its power",
        (contract.UNCLEAN_SHUTDOWNS, *last_known),
    )
    if not its.cluster.elr:
        yield _clause("last-replica-standing", _last_standing(its), (contract.LAST_STANDING,))


def _last_standing(its: Configuration) -> str:
    why = "which Kafka before 4.0 does not have" if its.cluster.release < ELR_EXISTS else "which are off"
    return (
        f"loses what was acknowledged {_since(its)} when the last in-sync replica alone loses its power "
        f"after the others have left the ISR: only eligible leader replicas, {why}, would let another one "
        "lead"
    )


def _disk_loss(its: Configuration) -> Clause:
    """A disk that is replaced or emptied takes what was flushed too."""
    last_known = (contract.LAST_KNOWN_ELR,) if its.cluster.elr else ()
    causes = (contract.DISK_LOSS, contract.UNCLEAN_SHUTDOWNS, *last_known)
    if its.topic.replication == 1:
        text = "loses what was acknowledged, flushed or not, when the only replica loses its disk"
        return _clause("disk-loss", text, (*causes, contract.ISR_OF_ONE))
    if its.min_isr == 1:
        text = (
            "loses what was acknowledged, flushed or not, when a single broker loses its disk, if it was "
            "alone in sync (min.insync.replicas=1)"
        )
        return _clause("disk-loss", text, (*causes, contract.ISR_OF_ONE))
    text = (
        f"loses what was acknowledged, flushed or not, when {its.min_isr} brokers that have it shut down "
        "uncleanly before they are in sync again, and the one that leads then has lost its disk"
    )
    if its.cluster.elr:
        return _clause("disk-loss", text, causes)
    text += "; or when the last replica in sync loses its disk, alone, after the others have left the ISR"
    return _clause("disk-loss", text, (*causes, contract.LAST_STANDING))


def _since(its: Configuration) -> str:
    if its.flushed_within_s is not None and its.flushed_within_s < WRITE_BACK_S:
        return f"within the last {its.flushed_within_s:g} s, before its brokers flushed it,"
    return f"within the last {WRITE_BACK_S:g} s or so, before the kernel wrote it back,"


# Availability


def _availability(its: Configuration) -> Iterator[Clause]:
    if its.spare > 0:
        yield _clause("spare-replicas", _spare(its))
    if its.needed > 1:
        yield _clause("below-min-isr", _below(its))
        if its.beyond_needed >= 0:
            yield _clause("unreached-leader", _unreached(its))
    yield _clause(
        "stalled-leader",
        "takes no write of a partition while the disk of its leader stands still: heartbeats need no disk, "
        "so nobody misses it",
    )
    if its.stale_may_lead and its.needed == 1:
        text = "takes writes again while any one replica is up, in sync or not"
        majority = ", as long as a majority of the controllers is, which are brokers"
        yield _clause("stays-up", text + majority * (its.spare < its.beyond_needed))
    elif not its.stale_may_lead:
        yield _clause("offline", _offline(its))
        if its.topic.replication > 1:
            yield _clause("last-leader-away", _last_leader_away(its))


def _spare(its: Configuration) -> str:
    """Where a stale replica may lead, whoever is up is soon in sync."""
    away = "one replica" if its.spare == 1 else f"{its.spare} replicas"
    enough = "one in sync stays" if its.needed == 1 else f"{its.needed} in sync stay"
    while_up = "" if its.stale_may_lead else f", as long as {enough} up"
    by_controllers = its.spare < its.beyond_needed
    no_more = "; with more away the controllers, which are brokers, have no majority" * by_controllers
    return f"takes writes with {away} of {its.topic.replication} away{while_up}{no_more}; {_waits(its)}"


def _waits(its: Configuration) -> str:
    """What a process that stands still does to what is sent, until it is missed."""
    about = f"about {its.fail_over_s:g} s"
    if its.producer.acks == "0":
        return (
            f"what is sent to one whose process stands still goes nowhere until it is missed, after {about}"
        )
    return f"a write waits up to {about} until one whose process stands still is missed"


def _below(its: Configuration) -> str:
    if its.beyond_needed < 0:
        return (
            f"takes no write at all: {its.needed} in-sync replicas of {its.topic.replication} are never there"
        )
    if its.beyond_needed == 0:
        return f"takes no write while any one of its {its.topic.replication} replicas is away"
    away = its.beyond_needed + 1
    return f"unavailable below {its.min_isr} in-sync replicas: with {away} away it takes no write"


def _unreached(its: Configuration) -> str:
    """A leader that reaches the controllers takes those who do not fetch out of the ISR, and stays."""
    few = "no follower reaches" if its.min_isr == 2 else f"fewer than {its.min_isr - 1} followers reach"
    return (
        f"takes no write of a partition while {few} a leader that the controllers hear: they elect no other"
    )


def _offline(its: Configuration) -> str:
    eligible = "in sync or eligible" if its.cluster.elr else "in sync"
    return f"neither written nor read while no replica that counts as {eligible} is up: nobody else may lead"


def _last_leader_away(its: Configuration) -> str:
    """Who registers after an unclean end leaves the ISR and the ELR, and is not in sync again without a
    leader; then the last known leader may be elected (KIP-966). Without ELR the last one that is missed is
    alone in the ISR.
    """
    counted = "in sync or eligible" if its.cluster.elr else "in sync"
    return (
        f"neither written nor read, once all that are {counted} were down at one time without a clean stop, "
        f"until the one that led last is back: no other is {counted} then, though it may have everything"
    )
