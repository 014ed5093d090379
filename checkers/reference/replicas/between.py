"""Replicas against each other and against what was read: below the high watermark they are the same.

Invariant: every replica holds the final log up to the high watermark, in the same batches; where two share an
offset and its leader epoch, they share all before it; the batches of one leader epoch are one broker's work.
Evidence: the batches of every judged replica, and the records that the final read got.
Counterexample (the leader's log is right, so no rule about the final log reports anything):
    orders-0 is read up to offset 9 from broker 1; broker 2 holds another batch at offsets 4 to 5
    divergence, of replica 2, offsets 4 to 5
    both hold offset 9 under leader epoch 3: log-matching too; both batches are of epoch 2: one-leader too

The loss properties are about the final log. What one replica lacks of it below the high watermark is a
divergence of that replica, with the number of acknowledged records there: elected, it would lose them.

One replica is named, not a pair: of two that differ the one that fits worse with what was read, and then with
all others. The one that fits best is the *yardstick* of divergence. What a follower has not fetched yet and a
tail that was not truncated yet lie above the high watermark, where nothing but log-matching and one-leader is
decided: those hold in the whole of a log. A batch with a wrong CRC shows no second leader: see crc.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

from checkers.anomalies import Anomaly
from checkers.history.rows import Proof, TopicPartition
from checkers.history.tables import NONE
from checkers.properties import Property
from checkers.reference.facts import Facts, Rule
from checkers.reference.replicas.logs import (
    Flaw,
    ReplicaLog,
    WhatWasRead,
    digest_of,
    is_comparable,
    judged_logs,
    last_of,
    runs,
)

_LACKS, _OTHER_RECORDS, _OTHER_BATCH, _AGAIN = range(4)


def divergence(facts: Facts) -> Iterator[Anomaly]:
    """Each run of offsets below the high watermark where a replica is not what was read, or not what the
    yardstick holds. Subset: whole."""
    for tp, ranked in facts.once(_rankings).items():
        for log in facts.once(judged_logs)[tp]:
            flaws = [*ranked.misfits[log.broker], *_unlike(log, ranked.logs[0], facts.proof[tp])]
            for found in runs(Property.DIVERGENCE, log.replica, flaws):
                yield replace(found, note=found.note + _acked(facts, found))


def log_matching(facts: Facts) -> Iterator[Anomaly]:
    """Each run of offsets where two replicas differ, though they share a later (offset, epoch). Subset:
    whole."""
    for ranked in facts.once(_rankings).values():
        for named in ranked.logs:
            flaws = [flaw for one in _before(named, ranked) for flaw in _before_the_shared(one, named)]
            yield from runs(Property.LOG_MATCHING, named.replica, flaws)


def one_leader(facts: Facts) -> Iterator[Anomaly]:
    """Each run of offsets where two replicas hold different batches of one leader epoch. Subset: whole."""
    for ranked in facts.once(_rankings).values():
        for named in ranked.logs:
            flaws = [flaw for one in _before(named, ranked) for flaw in _of_one_epoch(one, named)]
            for epoch in sorted({flaw.kind for flaw in flaws}):
                its = [flaw for flaw in flaws if flaw.kind == epoch]
                yield from runs(Property.ONE_LEADER, named.replica, its)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Ranking:
    """The replicas of a partition, the best one first, and where each is not what was read, by broker."""

    logs: list[ReplicaLog]
    misfits: Mapping[int, list[Flaw]]


def _rankings(facts: Facts) -> dict[TopicPartition, _Ranking]:
    return {
        tp: _ranked(logs, facts.proof[tp], WhatWasRead(facts, tp))
        for tp, logs in facts.once(judged_logs).items()
    }


def _before(named: ReplicaLog, ranked: _Ranking) -> list[ReplicaLog]:
    """The replicas that fit better; where one of them differs from `named`, that is the one to name."""
    return ranked.logs[: ranked.logs.index(named)]


def _acked(facts: Facts, found: Anomaly) -> str:
    its = [send for send in facts.acked() if send.tp == found.tp]
    count = sum(found.offset <= send.offset <= found.last_offset for send in its)
    return f"; records acknowledged at these offsets: {count}" if count else ""


def _ranked(logs: list[ReplicaLog], proof: Proof, read: WhatWasRead) -> _Ranking:
    """First what differs least from what was read, then from the other replicas."""
    misfits = {log.broker: list(_misfits(log, proof, read)) for log in logs}
    apart = {log.broker: sum(len(log.differences(other)) for other in logs) for log in logs}
    best = sorted(logs, key=lambda log: (len(misfits[log.broker]), apart[log.broker], log.broker))
    return _Ranking(logs=best, misfits=misfits)


def _misfits(log: ReplicaLog, proof: Proof, read: WhatWasRead) -> Iterator[Flaw]:
    """Where a replica is not what was read: a flaw for each offset that it lacks, and one for each batch."""
    limit = log.limit(proof.high_watermark)
    held = {
        record.offset
        for batch in log.rising.values()
        for record in read.between(batch.base_offset, last_of(batch))
    }
    for offset in read.offsets:
        if proof.log_start <= offset < limit and offset not in held:
            yield Flaw(offset, offset, _LACKS, f"broker {log.broker} lacks what was read there")
    for batch in log.batches:
        first, last = batch.base_offset, last_of(batch)
        if first < proof.log_start or last >= limit:
            continue
        if log.rising.get(first) is not batch:
            note = f"broker {log.broker} has a batch there behind later offsets"
            yield Flaw(first, last, _AGAIN, note)
        elif is_comparable(batch) and read.digest(first, last) != digest_of(batch):
            note = f"broker {log.broker} holds other records than were read there"
            yield Flaw(first, last, _OTHER_RECORDS, note)


def _unlike(log: ReplicaLog, yardstick: ReplicaLog, proof: Proof) -> Iterator[Flaw]:
    """Where a replica does not hold the yardstick's batches, as far as both are decided."""
    limit = min(log.limit(proof.high_watermark), yardstick.limit(proof.high_watermark))
    for found in yardstick.differences(log):
        if proof.log_start <= found.base and found.last < limit:
            note = f"brokers {yardstick.broker} and {log.broker} hold different batches there"
            yield Flaw(found.base, found.last, _OTHER_BATCH, note)


def _before_the_shared(one: ReplicaLog, other: ReplicaLog) -> Iterator[Flaw]:
    """Where two logs differ at or below the last place that they share with its epoch."""
    differing = one.differences(other)
    shared = [base for base in one.rising if differing and _end(one, base) == _end(other, base)]
    for found in differing:
        if shared and found.base <= shared[-1]:
            offset, epoch = _end(one, shared[-1]) or (NONE, NONE)
            note = (
                f"brokers {one.broker} and {other.broker} differ there "
                f"and share offset {offset} under leader epoch {epoch}"
            )
            yield Flaw(found.base, found.last, 0, note)


def _end(log: ReplicaLog, base: int) -> tuple[int, int] | None:
    """The last offset and the leader epoch of the batch at a base offset."""
    batch = log.rising.get(base)
    return (last_of(batch), batch.leader_epoch) if batch else None


def _of_one_epoch(one: ReplicaLog, other: ReplicaLog) -> Iterator[Flaw]:
    """Where two logs hold different whole batches of one epoch, which is the flaw's kind."""
    for found in one.differences(other):
        whole = [batch for batch in (found.mine, found.theirs) if batch and batch.crc_ok]
        if len(whole) > 1 and whole[0].leader_epoch == whole[1].leader_epoch:
            epoch = whole[0].leader_epoch
            note = f"brokers {one.broker} and {other.broker} hold different batches of leader epoch {epoch}"
            yield Flaw(found.base, found.last, epoch, note)


RULES: Mapping[Property, Rule] = MappingProxyType(
    {
        Property.DIVERGENCE: divergence,
        Property.LOG_MATCHING: log_matching,
        Property.ONE_LEADER: one_leader,
    }
)
