"""A replica's checkpoints against its log: what a broker noted at its clean stop is true of what it left.

Invariant: log start ≤ recovery point ≤ log end; high watermark ≤ log end; the leader epoch cache has where
each epoch of the log begins; the producer snapshot has where each producer id's last batch ends; and no bytes
follow the last whole batch.
Evidence: the checkpoint files and the batches of each judged replica whose broker stopped cleanly: it flushes
and writes all of them then. After a crash they are older than the log, or newer than what is left of it.
Counterexample:
    the log ends at offset 9, its batches from offset 4 on are of epoch 2; the cache says: 0 from 0, 2 from 6
    checkpoint-sane, at offset 4: a follower that asks for the end of epoch 0 would keep offsets 4 and 5

The cache has one entry more if the broker led an epoch in which nothing was written: then it is the last one,
and begins at the log end (Kafka: LeaderEpochFileCache.assign removes later ones with no lower start). What
lies below the log start is cut off (truncateFromStart). A snapshot may have forgotten a producer id that
expired, and knows others whose batches were deleted; a transaction's marker changes it: those are skipped.
"""

from collections.abc import Iterator, Mapping
from itertools import pairwise, zip_longest
from types import MappingProxyType

from checkers.anomalies import Anomaly
from checkers.history.rows import Replica
from checkers.history.tables import NONE
from checkers.properties import Property
from checkers.reference.facts import Facts, Rule
from checkers.reference.replicas.logs import (
    SEQUENCES,
    Flaw,
    ReplicaLog,
    after,
    is_control,
    judged_logs,
    last_of,
    of_replica,
)

Epoch = tuple[int, int]
"""A leader epoch and where it begins."""


def checkpoint_sane(facts: Facts) -> Iterator[Anomaly]:
    """Each contradiction between a checkpoint and the log beside it. Subset: whole."""
    for logs in facts.once(judged_logs).values():
        for log in logs:
            if log.replica.clean:
                for flaw in (*_offsets(log.replica), *_epochs(log), *_producers(log)):
                    yield of_replica(Property.CHECKPOINT_SANE, log.replica, flaw)


def _offsets(row: Replica) -> Iterator[Flaw]:
    start, end = row.log_start, row.log_end
    its = f"broker {row.broker}, log from {start} to {end}"
    if start > end:
        yield _at(start, f"{its}: it starts behind its end")
    if row.recovery_point != NONE and not start <= row.recovery_point <= end:
        yield _at(row.recovery_point, f"{its}: its recovery point is {row.recovery_point}")
    if row.hw_checkpoint > end:
        yield _at(row.hw_checkpoint, f"{its}: its high watermark is {row.hw_checkpoint}")
    if row.torn_bytes:
        yield _at(end, f"{its}: {row.torn_bytes} bytes follow the last whole batch")


def _epochs(log: ReplicaLog) -> Iterator[Flaw]:
    """The first place where the cache is not that of the log; none if the log itself is out of order."""
    its_epochs = [batch.leader_epoch for batch in log.batches]
    if log.out_of_place or its_epochs != sorted(its_epochs):
        return
    cache = list(zip(log.replica.epochs, log.replica.epoch_starts, strict=False))
    for (epoch, start), (later, its_start) in pairwise(cache):
        if later <= epoch or its_start <= start:
            yield _at(its_start, f"broker {log.broker}: its epoch cache goes from {epoch} to {later}")
            return
    expected, cached = _epochs_of(log), _cut(cache, log.replica.log_start)
    led_in_vain = cached[len(expected) :]
    if led_in_vain and led_in_vain[0][1] == log.replica.log_end:
        cached.pop(len(expected))
    for wanted, found in zip_longest(expected, cached):
        if wanted != found:
            first = min(start for _, start in (wanted or found, found or wanted))
            note = f"broker {log.broker}: its log has {_words(wanted)}, its epoch cache {_words(found)}"
            yield _at(first, note)
            return


def _epochs_of(log: ReplicaLog) -> list[Epoch]:
    """Where each epoch of the log begins, not below its start."""
    found: list[Epoch] = []
    for batch in log.batches:
        known = last_of(batch) >= log.replica.log_start and batch.leader_epoch >= 0
        if known and (not found or found[-1][0] != batch.leader_epoch):
            found.append((batch.leader_epoch, max(batch.base_offset, log.replica.log_start)))
    return found


def _cut(cache: list[Epoch], log_start: int) -> list[Epoch]:
    """The cache from the log start on."""
    ends = [start for _, start in cache[1:]]
    kept = [entry for entry, end in zip_longest(cache, ends) if end is None or end > log_start]
    return [(epoch, max(start, log_start)) for epoch, start in kept]


def _words(entry: Epoch | None) -> str:
    return f"epoch {entry[0]} from offset {entry[1]}" if entry else "no other epoch"


def _producers(log: ReplicaLog) -> Iterator[Flaw]:
    """Each entry of the producer snapshot that is not the end of its producer id's last batch."""
    marked = {batch.producer_id for batch in log.batches if is_control(batch)}
    for state in sorted(log.states, key=lambda state: state.producer_id):
        its = [
            batch
            for batch in log.batches
            if batch.producer_id == state.producer_id and last_of(batch) < state.snapshot_offset
        ]
        if not its or state.producer_id in marked or its[-1].base_sequence < 0:
            continue
        wanted = (its[-1].producer_epoch, (after(its[-1]) - 1) % SEQUENCES, last_of(its[-1]))
        found = (state.producer_epoch, state.last_sequence, state.last_offset)
        if found != wanted:
            note = (
                f"broker {log.broker}: the log of producer id {state.producer_id} ends with epoch, sequence "
                f"and offset {wanted}, the producer snapshot has {found}"
            )
            yield _at(wanted[2], note)


def _at(offset: int, note: str) -> Flaw:
    return Flaw(offset, offset, 0, note)


RULES: Mapping[Property, Rule] = MappingProxyType({Property.CHECKPOINT_SANE: checkpoint_sane})
