"""Chooses what to damage on the disks: a replica about which something is decided, and batches of it."""

from dataclasses import replace
from itertools import pairwise
from random import Random

from checkers.damage.editable_history import EditableHistory, first, pick
from checkers.damage.healthy.replicas import CONTROL
from checkers.history.rows import Proof, Replica, ReplicaBatch
from checkers.history.tables import NONE, REPLICA_BATCHES

SOMETIMES = 2
"""Damage that has two forms takes the second one in one case of so many."""


def proof_of_replica(history: EditableHistory, replica: Replica) -> Proof:
    """The proof of a replica's partition."""
    return first(proof for proof in history.proofs if proof.tp == replica.tp)


def judged(history: EditableHistory) -> list[Replica]:
    """Replicas that stopped cleanly and were read, of decided partitions."""
    if not {"replicas", REPLICA_BATCHES} <= history.collected:
        return []
    decided = history.decided()
    return [row for row in history.replicas if row.tp in decided and row.clean and row.complete]


def a_replica(history: EditableHistory, rng: Random) -> Replica:
    """Some judged replica."""
    return pick(rng, judged(history))


def log_of(history: EditableHistory, replica: Replica) -> list[ReplicaBatch]:
    """All batches of a replica, in log order."""
    return [b for b in history.replica_batches if (b.tp, b.broker) == (replica.tp, replica.broker)]


def decided(history: EditableHistory, replica: Replica) -> list[ReplicaBatch]:
    """Its batches between log start and high watermark that hold records: nobody reads a marker."""
    proof = proof_of_replica(history, replica)
    return [
        batch
        for batch in log_of(history, replica)
        if proof.log_start <= batch.base_offset
        and batch.end_offset <= proof.high_watermark
        and batch.attributes != CONTROL
    ]


def a_batch(history: EditableHistory, rng: Random) -> ReplicaBatch:
    """Some decided batch of a judged replica."""
    return pick(rng, [batch for row in judged(history) for batch in decided(history, row)])


def neighbours(history: EditableHistory, rng: Random) -> tuple[ReplicaBatch, ReplicaBatch]:
    """Two batches of a judged replica, one behind the other, both decided."""
    return pick(rng, [two for row in judged(history) for two in pairwise(decided(history, row))])


def a_shared_batch(history: EditableHistory, rng: Random) -> ReplicaBatch:
    """A decided batch of a judged replica that another judged replica has, too."""
    batches = [batch for row in judged(history) for batch in decided(history, row)]
    places = [(batch.tp, batch.base_offset) for batch in batches]
    return pick(rng, [b for b in batches if places.count((b.tp, b.base_offset)) > 1])


def altered(rng: Random, batch: ReplicaBatch) -> ReplicaBatch:
    """Other records at the same offsets, written under the same leader epoch."""
    return replace(batch, crc=batch.crc ^ rng.randint(1, 1 << 31), digest=rng.getrandbits(62))


def two_of_one_producer(history: EditableHistory, rng: Random) -> tuple[ReplicaBatch, ReplicaBatch]:
    """Two batches of one producer epoch on a judged replica, one behind the other."""
    found = []
    for row in judged(history):
        last: dict[tuple[int, int], ReplicaBatch] = {}
        for batch in log_of(history, row):
            its = batch.producer_id, batch.producer_epoch
            if batch.base_sequence != NONE and its in last:
                found.append((last[its], batch))
            if batch.base_sequence != NONE:
                last[its] = batch
    return pick(rng, found)
