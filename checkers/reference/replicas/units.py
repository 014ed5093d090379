"""How much of the replicas there was, and how much of it the rules about replicas have judged.

Invariant: what was not audited is undecided, never "holds"; a replica of which nothing is known counts, too.
Evidence: the replicas that the final read's proof names, and the rows of the audit.
Counterexample:
    the proof of orders-0 names the replicas 1, 2 and 3; the audit could not read broker 3
    no rule reports anything of it; divergence: 1 undecided beside the batches of brokers 1 and 2
"""

from collections import Counter, defaultdict

from checkers.history.rows import History, Proof, TopicPartition
from checkers.property_terms import ExaminedUnit
from checkers.reference.facts import Facts
from checkers.reference.replicas.logs import ReplicaLog, is_comparable, judged_logs, last_of

Units = Counter[ExaminedUnit]
Place = tuple[TopicPartition, int]
"""A partition, and a broker that has a replica of it."""
REPLICA, LEADER_EPOCH = ExaminedUnit.REPLICA, ExaminedUnit.LEADER_EPOCH
REPLICA_BATCH, REPLICA_BATCH_BELOW_HW = ExaminedUnit.REPLICA_BATCH, ExaminedUnit.REPLICA_BATCH_BELOW_HW
_UNITS = (REPLICA, REPLICA_BATCH, REPLICA_BATCH_BELOW_HW, LEADER_EPOCH)


def are_collected(history: History) -> bool:
    """Whether the replicas were audited at all: without their batches their rows show nothing."""
    return {"replicas", "replica_batches"} <= history.collected


def replica_units(history: History, facts: Facts) -> tuple[dict[ExaminedUnit, int], dict[ExaminedUnit, int]]:
    """The units of all replicas, and those that are examined; none at all if no replica was collected."""
    every, examined = Counter(dict.fromkeys(_UNITS, 0)), Counter(dict.fromkeys(_UNITS, 0))
    if not are_collected(history):
        return dict(every), dict(examined)
    judged = facts.once(judged_logs)
    rows, epochs = _rows_and_epochs(history)
    for tp, brokers in _known(history, rows).items():
        logs = {log.broker: log for log in judged.get(tp, ())}
        for broker in brokers:
            if log := logs.get(broker):
                _add_judged(every, examined, log, rows[tp, broker], facts.proof[tp])
            else:
                every[REPLICA] += 1
                every[REPLICA_BATCH] += max(1, rows[tp, broker])
                every[REPLICA_BATCH_BELOW_HW] += max(1, rows[tp, broker])
        every[LEADER_EPOCH] += len(epochs[tp])
        if brokers and brokers == set(logs):
            its = {batch.leader_epoch for log in logs.values() for batch in log.batches}
            examined[LEADER_EPOCH] += len(its)
    return dict(every), dict(examined)


def _rows_and_epochs(history: History) -> tuple[Counter[Place], dict[TopicPartition, set[int]]]:
    """How many batches each replica has, and the leader epochs of all batches of each partition."""
    rows: Counter[Place] = Counter()
    epochs: dict[TopicPartition, set[int]] = defaultdict(set)
    for batch in history.replica_batches:
        tp = batch.tp
        rows[tp, batch.broker] += 1
        epochs[tp].add(batch.leader_epoch)
    return rows, epochs


def _known(history: History, rows: Counter[Place]) -> dict[TopicPartition, set[int]]:
    """The replicas of each partition, whether audited (`rows` are the batches of each) or only named."""
    known: dict[TopicPartition, set[int]] = defaultdict(set)
    for tp, broker in {(row.tp, row.broker) for row in history.replicas} | set(rows):
        known[tp].add(broker)
    for proof in history.proofs:
        known[proof.tp] |= set(proof.replicas)
    return {tp: known[tp] for tp in history.partitions}


def _add_judged(every: Units, examined: Units, log: ReplicaLog, rows: int, proof: Proof) -> None:
    limit = log.limit(proof.high_watermark)
    above_start = [batch for batch in log.batches if batch.base_offset >= proof.log_start]
    below = [batch for batch in above_start if last_of(batch) < limit and is_comparable(batch)]
    torn, cut = rows - len(log.batches), int(limit < proof.high_watermark)
    every[REPLICA] += 1
    every[REPLICA_BATCH] += rows
    every[REPLICA_BATCH_BELOW_HW] += len(above_start) + torn + cut
    examined[REPLICA] += log.replica.clean
    examined[REPLICA_BATCH] += len(log.batches)
    examined[REPLICA_BATCH_BELOW_HW] += len(below)
