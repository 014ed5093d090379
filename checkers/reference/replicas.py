"""Replicas against each other and against what was read: below the high watermark they are the same.

Invariant: every replica holds the final log up to the high watermark, in the same batches; where two share an
offset and its leader epoch they share all before it; one leader epoch is the work of one broker.
Evidence: the batches of every judged replica, and the records that the final read got.
Counterexample (the leader's log is right, so no rule about the final log reports anything):
    orders-0 is read up to offset 9 from broker 1; broker 2 holds another batch at offsets 4 to 5
    divergence, of replica 2, offsets 4 to 5
    both hold offset 9 under leader epoch 3: log-matching too; both batches are of epoch 2: one-leader too

The loss properties are about the final log. What a single replica lacks of it below the high watermark is a
divergence of that replica, with the number of acknowledged records; it would be a loss if that replica were
elected.

One replica is named, not a pair. The replica that fits what was read and the other replicas best is the
*yardstick*; of two that differ, the one that fits less well is named.

A record that a follower has not fetched, and a tail that was not yet truncated, are above the high watermark:
nothing is decided there, but that log-matching holds in the whole of a log.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import combinations
from types import MappingProxyType

from checkers.history.digest import digest_of
from checkers.history.rows import Proof, TopicPartition
from checkers.history.tables import NONE
from checkers.judgement import Anomaly
from checkers.properties import Property
from checkers.reference.facts import Facts, Rule
from checkers.reference.replica_logs import Flaw, ReplicaLog, is_control, last_of, reach, runs

_LACKS, _OTHER_RECORDS, _OTHER_BATCHES, _TWICE = range(4)
_Pair = Callable[[ReplicaLog, ReplicaLog], Iterable[Flaw]]


def divergence(facts: Facts) -> Iterator[Anomaly]:
    """Each run of offsets below the high watermark where a replica is not what was read, or not what the
    yardstick is. Subset: whole."""
    for tp, logs in facts.replica_logs.items():
        proof, ranked = facts.proof[tp], _ranked(facts, tp)
        for log in logs:
            flaws = [*_misfits(facts, log, proof), *_unlike(log, ranked[0], proof)]
            for run in runs(flaws):
                acked = sum(
                    run.first <= send.offset <= run.last and send.acked for send in facts.sends_of[tp]
                )
                told = f"; {acked} records were acknowledged at these offsets" if acked else ""
                yield _of(Property.DIVERGENCE, tp, log, run, run.note + told)


def log_matching(facts: Facts) -> Iterator[Anomaly]:
    """Each run of offsets where two replicas differ though they share a later (offset, epoch). Subset:
    whole."""
    for tp in facts.replica_logs:
        yield from _between(facts, tp, Property.LOG_MATCHING, _before_what_they_share)


def one_leader(facts: Facts) -> Iterator[Anomaly]:
    """Each run of offsets where two replicas hold different batches, whole ones, of one leader epoch. Subset:
    whole."""
    for tp, logs in facts.replica_logs.items():
        epochs = sorted({batch.leader_epoch for log in logs for batch in log.batches})
        for epoch in epochs:
            yield from _between(
                facts, tp, Property.ONE_LEADER, lambda log, other, e=epoch: _of_epoch(log, other, e)
            )


def _ranked(facts: Facts, tp: TopicPartition) -> list[ReplicaLog]:
    """The replicas of a partition, the one first that differs least from what was read, then from the
    others."""
    logs = facts.replica_logs[tp]
    misfits = {log.broker: len(list(_misfits(facts, log, facts.proof[tp]))) for log in logs}
    apart = {log.broker: sum(len(list(log.differences(other))) for other in logs) for log in logs}
    return sorted(logs, key=lambda log: (misfits[log.broker], apart[log.broker], log.broker))


def _misfits(facts: Facts, log: ReplicaLog, proof: Proof) -> Iterator[Flaw]:
    """Where a replica is not what was read: one flaw for each offset that it lacks, and for each batch."""
    limit = log.limit(proof.high_watermark)
    held = {offset for batch in log.rising.values() for offset in _offsets(batch.base_offset, last_of(batch))}
    for record in facts.log_of[proof.tp]:
        if proof.log_start <= record.offset < limit and record.offset not in held:
            note = f"broker {log.broker} lacks what was read there"
            yield Flaw(first=record.offset, last=record.offset, kind=_LACKS, note=note)
    for batch in log.batches:
        first, last = batch.base_offset, last_of(batch)
        if not (proof.log_start <= first and last < limit):
            continue
        if log.rising.get(first) is not batch:
            note = f"broker {log.broker} holds these offsets behind later ones"
            yield Flaw(first=first, last=last, kind=_TWICE, note=note)
        elif (is_control(batch) or batch.digest != NONE) and _digest(batch) != _read(facts, proof, first, last):
            note = f"broker {log.broker} holds other records than were read there"
            yield Flaw(first=first, last=last, kind=_OTHER_RECORDS, note=note)


def _digest(batch) -> int:
    return 0 if is_control(batch) else batch.digest
