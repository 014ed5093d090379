"""Damage to what the brokers' disks hold: batches, checkpoints, producer snapshots, and the audit itself."""

from dataclasses import replace
from itertools import pairwise
from random import Random

from checkers.damage.damage_kind import noticed_by, perhaps_harmless
from checkers.damage.editable_history import EditableHistory, NotApplicable, first, pick, swap
from checkers.damage.replicas.simulate import epochs_of
from checkers.history.rows import ConfigChange, Proof, Replica, ReplicaBatch
from checkers.history.tables import NONE, REPLICA_BATCHES
from checkers.properties import Property

SOMETIMES = 2
"""Damage that needs two neighbours takes the earlier one in one case of so many."""


def _proof(history: EditableHistory, replica: Replica) -> Proof:
    return first(proof for proof in history.proofs if proof.tp == replica.tp)


def _judged(history: EditableHistory) -> list[Replica]:
    """Replicas that stopped cleanly and were read, of decided partitions."""
    if not {"replicas", REPLICA_BATCHES} <= history.collected:
        return []
    decided = history.decided()
    return [row for row in history.replicas if row.tp in decided and row.clean and row.complete]


def _replica(history: EditableHistory, rng: Random) -> Replica:
    return pick(rng, _judged(history))


def _log(history: EditableHistory, replica: Replica) -> list[ReplicaBatch]:
    """All batches of a replica, in log order."""
    return [b for b in history.replica_batches if (b.tp, b.broker) == (replica.tp, replica.broker)]


def _decided(history: EditableHistory, replica: Replica) -> list[ReplicaBatch]:
    """Its batches between log start and high watermark."""
    proof = _proof(history, replica)
    return [
        batch
        for batch in _log(history, replica)
        if proof.log_start <= batch.base_offset and batch.end_offset <= proof.high_watermark
    ]


def _batch(history: EditableHistory, rng: Random) -> ReplicaBatch:
    """Some decided batch of a judged replica."""
    return pick(rng, [batch for row in _judged(history) for batch in _decided(history, row)])


def _neighbours(history: EditableHistory, rng: Random) -> tuple[ReplicaBatch, ReplicaBatch]:
    """Two batches of a judged replica, one behind the other, both decided."""
    return pick(rng, [two for row in _judged(history) for two in pairwise(_decided(history, row))])


def _shared(history: EditableHistory, rng: Random) -> ReplicaBatch:
    """A decided batch of a judged replica that another judged replica has, too."""
    batches = [batch for row in _judged(history) for batch in _decided(history, row)]
    places = [(batch.tp, batch.base_offset) for batch in batches]
    return pick(rng, [b for b in batches if places.count((b.tp, b.base_offset)) > 1])


def _alter(rng: Random, batch: ReplicaBatch) -> ReplicaBatch:
    """Other records at the same offsets, written under the same leader epoch."""
    return replace(batch, crc=batch.crc ^ rng.randint(1, 1 << 31), digest=rng.getrandbits(62))


@noticed_by(Property.CRC)
def flip_bits(history: EditableHistory, rng: Random) -> None:
    """The bytes of a batch rotted: its CRC is wrong, and perhaps it cannot be decoded."""
    batch = _batch(history, rng)
    rotten = rng.choice((replace(batch, digest=NONE, error="wrong CRC"), batch))
    swap(history.replica_batches, batch, replace(rotten, crc_ok=False))


@noticed_by(Property.DIVERGENCE)
def drop_batch(history: EditableHistory, rng: Random) -> None:
    """One replica lacks a batch."""
    history.replica_batches.remove(_batch(history, rng))


@noticed_by(Property.DIVERGENCE)
def truncate_replica(history: EditableHistory, rng: Random) -> None:
    """One replica's log ends below the high watermark, and its checkpoints know no better."""
    batch = _batch(history, rng)
    row = first(r for r in _judged(history) if (r.tp, r.broker) == (batch.tp, batch.broker))
    log = _log(history, row)
    kept = log[: log.index(batch)]
    end = kept[-1].end_offset if kept else row.log_start
    epochs = epochs_of(kept, row.log_start)
    history.replica_batches = [b for b in history.replica_batches if b not in log or b in kept]
    history.producer_states = [s for s in history.producer_states if (s.tp, s.broker) != (row.tp, row.broker)]
    shorter = replace(
        row,
        log_end=end,
        recovery_point=end,
        hw_checkpoint=min(row.hw_checkpoint, end),
        epochs=tuple(epochs),
        epoch_starts=tuple(epochs.values()),
        batches=len(kept),
    )
    swap(history.replicas, row, shorter)


@noticed_by(Property.DIVERGENCE)
def swap_batches(history: EditableHistory, rng: Random) -> None:
    """Two batches of one replica trade places in its file."""
    one, other = _neighbours(history, rng)
    places = [next(i for i, b in enumerate(history.replica_batches) if b is each) for each in (one, other)]
    for at, batch, place in zip(places, (other, one), (one, other), strict=True):
        moved = replace(batch, segment=place.segment, position=place.position)
        history.replica_batches[at] = moved


@noticed_by(Property.DIVERGENCE, Property.EPOCH_MONOTONE, Property.CHECKPOINT_SANE)
def change_epoch(history: EditableHistory, rng: Random) -> None:
    """A batch of one replica is of another leader epoch."""
    batch = _batch(history, rng)
    swap(
        history.replica_batches,
        batch,
        replace(batch, leader_epoch=batch.leader_epoch + rng.choice((-1, 1, 7))),
    )


@noticed_by(Property.EPOCH_MONOTONE)
def lower_epoch(history: EditableHistory, rng: Random) -> None:
    """A batch is of a lower leader epoch than the one before it, on one replica or on all."""
    before, batch = _neighbours(history, rng)
    everywhere = rng.random() < 1 / SOMETIMES
    for each in list(history.replica_batches):
        if (each.tp, each.base_offset) == (batch.tp, batch.base_offset) and (everywhere or each is batch):
            swap(history.replica_batches, each, replace(each, leader_epoch=before.leader_epoch - 1))


@noticed_by(Property.DIVERGENCE)
def reuse_offset(history: EditableHistory, rng: Random) -> None:
    """A batch of one replica has the offsets of the one before it."""
    before, batch = _neighbours(history, rng)
    swap(history.replica_batches, batch, replace(batch, base_offset=before.base_offset))


@noticed_by(Property.DIVERGENCE)
def repeat_batch(history: EditableHistory, rng: Random) -> None:
    """A replica has a batch once more, at the end of its log."""
    batch = _batch(history, rng)
    row = first(r for r in _judged(history) if (r.tp, r.broker) == (batch.tp, batch.broker))
    last = _log(history, row)[-1]
    again = replace(batch, segment=last.segment, position=last.position + last.size)
    history.replica_batches.append(again)


@noticed_by(Property.DIVERGENCE)
def resurrect_tail(history: EditableHistory, rng: Random) -> None:
    """One replica did not truncate what it had from an older leader: its tail is another one."""
    batch = _batch(history, rng)
    log = _log(history, first(r for r in _judged(history) if (r.tp, r.broker) == (batch.tp, batch.broker)))
    epoch = log[0].leader_epoch
    for each in log[log.index(batch) :]:
        swap(history.replica_batches, each, replace(_alter(rng, each), leader_epoch=epoch))


@noticed_by(Property.DIVERGENCE)
def change_records(history: EditableHistory, rng: Random) -> None:
    """A batch holds other records than were read, on one replica or on all, and every header agrees."""
    batch, summand = _batch(history, rng), rng.randint(1, 1 << 40)
    everywhere = rng.random() < 1 / SOMETIMES
    for each in list(history.replica_batches):
        if (each.tp, each.base_offset) == (batch.tp, batch.base_offset) and (everywhere or each is batch):
            swap(history.replica_batches, each, replace(each, digest=(batch.digest + summand) % (1 << 63)))


@noticed_by(Property.ONE_LEADER)
def write_under_two_leaders(history: EditableHistory, rng: Random) -> None:
    """Two replicas have different batches of one leader epoch."""
    batch = _shared(history, rng)
    swap(history.replica_batches, batch, _alter(rng, batch))


@noticed_by(Property.LOG_MATCHING)
def replace_in_the_middle(history: EditableHistory, rng: Random) -> None:
    """A replica has another batch of an older epoch below batches that it shares with another one."""
    batch = _shared(history, rng)
    later = [b for b in history.replica_batches if b.tp == batch.tp and b.base_offset > batch.base_offset]
    by_broker = [{b.base_offset for b in later if b.broker == broker} for broker in (1, 2, 3)]
    others = [held for broker, held in zip((1, 2, 3), by_broker, strict=True) if broker != batch.broker]
    if not all(by_broker[batch.broker - 1] & held for held in others):
        raise NotApplicable
    swap(history.replica_batches, batch, replace(_alter(rng, batch), leader_epoch=batch.leader_epoch - 1))


@noticed_by(Property.CHECKPOINT_SANE)
def note_too_much(history: EditableHistory, rng: Random) -> None:
    """A checkpoint lies above the end of the log."""
    row = _replica(history, rng)
    beyond = row.log_end + rng.randint(1, 5)
    damaged = rng.choice((replace(row, recovery_point=beyond), replace(row, hw_checkpoint=beyond)))
    swap(history.replicas, row, damaged)


@noticed_by(Property.CHECKPOINT_SANE)
def leave_bytes(history: EditableHistory, rng: Random) -> None:
    """Bytes follow the last whole batch, though the broker stopped cleanly."""
    row = _replica(history, rng)
    swap(history.replicas, row, replace(row, torn_bytes=rng.randint(1, 99)))


@noticed_by(Property.CHECKPOINT_SANE)
def damage_epoch_cache(history: EditableHistory, rng: Random) -> None:
    """The leader epoch cache of a replica has a wrong entry, or lacks one."""
    row = _replica(history, rng)
    at = pick(rng, [at for at, start in enumerate(row.epoch_starts) if start < row.log_end])
    epochs, starts = list(row.epochs), list(row.epoch_starts)
    match rng.randrange(3):
        case 0:
            starts[at] += 1
        case 1:
            epochs[at] += 50
        case _:
            del epochs[at], starts[at]
    swap(history.replicas, row, replace(row, epochs=tuple(epochs), epoch_starts=tuple(starts)))


@noticed_by(Property.CHECKPOINT_SANE)
def damage_snapshot(history: EditableHistory, rng: Random) -> None:
    """A producer snapshot has another sequence, epoch or offset than the log."""
    rows = {(row.tp, row.broker): row for row in _judged(history)}
    markers = {(b.tp, b.producer_id) for b in history.replica_batches if b.attributes}
    state = pick(
        rng,
        [
            s
            for s in history.producer_states
            if (s.tp, s.broker) in rows and (s.tp, s.producer_id) not in markers
        ],
    )
    if "producer_states" not in history.collected:
        raise NotApplicable
    damaged = rng.choice(
        (
            replace(state, last_sequence=state.last_sequence - 1),
            replace(state, producer_epoch=state.producer_epoch + 1),
            replace(state, last_offset=state.last_offset + 1),
        )
    )
    swap(history.producer_states, state, damaged)


def _of_one_producer(history: EditableHistory, rng: Random) -> tuple[ReplicaBatch, ReplicaBatch]:
    """Two batches of one producer epoch on a judged replica, one behind the other."""
    found = []
    for row in _judged(history):
        last: dict[tuple[int, int], ReplicaBatch] = {}
        for batch in _log(history, row):
            its = batch.producer_id, batch.producer_epoch
            if batch.base_sequence != NONE and its in last:
                found.append((last[its], batch))
            if batch.base_sequence != NONE:
                last[its] = batch
    return pick(rng, found)


@noticed_by(Property.SEQUENCE_DENSE)
def skip_sequences(history: EditableHistory, rng: Random) -> None:
    """A batch does not go on where its producer's last one ended."""
    _, batch = _of_one_producer(history, rng)
    skipped = (batch.base_sequence + rng.randint(1, 5)) % (1 << 31)
    swap(history.replica_batches, batch, replace(batch, base_sequence=skipped))


@noticed_by(Property.SEQUENCE_DENSE)
def repeat_sequence(history: EditableHistory, rng: Random) -> None:
    """A batch has the sequence of its producer's last one: it was appended twice."""
    before, batch = _of_one_producer(history, rng)
    swap(history.replica_batches, batch, replace(batch, base_sequence=before.base_sequence))


@perhaps_harmless
def change_producer_epoch(history: EditableHistory, rng: Random) -> None:
    """A batch was written by a newer or older instance of its producer."""
    batch = pick(rng, [b for b in history.replica_batches if b.producer_id != NONE])
    epoch = max(0, batch.producer_epoch + rng.choice((-1, 1)))
    sequence = rng.choice((0, batch.base_sequence))
    swap(history.replica_batches, batch, replace(batch, producer_epoch=epoch, base_sequence=sequence))


@perhaps_harmless
def stop_uncleanly(history: EditableHistory, rng: Random) -> None:
    """A broker did not note a clean shutdown."""
    row = pick(rng, history.replicas)
    swap(history.replicas, row, replace(row, clean=False))


@perhaps_harmless
def tear_tail(history: EditableHistory, rng: Random) -> None:
    """The last batches of a broker that did not stop cleanly are torn."""
    row = pick(rng, history.replicas)
    log = _log(history, row)
    for batch in log[rng.randint(0, len(log)) :]:
        torn = replace(batch, crc_ok=False, digest=NONE, error="wrong CRC")
        swap(history.replica_batches, batch, torn)
    swap(history.replicas, row, replace(row, clean=False))


@perhaps_harmless
def leave_replica_unread(history: EditableHistory, rng: Random) -> None:
    """The audit of a replica did not end, or found nothing of it."""
    row = pick(rng, history.replicas)
    if rng.random() < 1 / SOMETIMES:
        swap(history.replicas, row, replace(row, complete=False, reason="a file cannot be read"))
    else:
        history.replicas.remove(row)


@perhaps_harmless
def leave_batch_undecoded(history: EditableHistory, rng: Random) -> None:
    """A batch is intact and cannot be decoded: what it holds is undecided."""
    batch = pick(rng, history.replica_batches)
    swap(history.replica_batches, batch, replace(batch, digest=NONE, error="an unknown codec"))


@perhaps_harmless
def mark_transaction(history: EditableHistory, rng: Random) -> None:
    """A batch is a transaction's marker."""
    batch = pick(rng, [b for b in history.replica_batches if b.producer_id != NONE])
    marker = replace(batch, attributes=0x30, base_sequence=NONE, digest=NONE)
    swap(history.replica_batches, batch, marker)


@perhaps_harmless
def compact(history: EditableHistory, rng: Random) -> None:
    """A topic was compacted for a while, or all topics."""
    topic = pick(rng, history.partitions).topic
    its = rng.choice((("topic", topic, "cleanup.policy"), ("cluster", "", "log.cleanup.policy")))
    history.configs.append(
        ConfigChange(
            at_ms=0, kind=its[0], name=its[1], key=its[2], value=rng.choice(("delete,compact", "delete"))
        )
    )


REPLICA_KINDS = (
    flip_bits,
    drop_batch,
    truncate_replica,
    swap_batches,
    change_epoch,
    lower_epoch,
    reuse_offset,
    repeat_batch,
    resurrect_tail,
    change_records,
    write_under_two_leaders,
    replace_in_the_middle,
    note_too_much,
    leave_bytes,
    damage_epoch_cache,
    damage_snapshot,
    skip_sequences,
    repeat_sequence,
    change_producer_epoch,
    stop_uncleanly,
    tear_tail,
    leave_replica_unread,
    leave_batch_undecoded,
    mark_transaction,
    compact,
)
