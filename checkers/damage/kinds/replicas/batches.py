"""Damage to the batches of one replica, or to the same batch on all of them."""

from dataclasses import replace
from random import Random

from checkers.damage.damage_kind import noticed_by, perhaps_harmless
from checkers.damage.editable_history import EditableHistory, NotApplicable, first, pick, swap
from checkers.damage.kinds.replicas.choose import (
    SOMETIMES,
    a_batch,
    a_shared_batch,
    altered,
    judged,
    log_of,
    neighbours,
    two_of_one_producer,
)
from checkers.history.tables import NONE
from checkers.properties import Property


@noticed_by(Property.CRC)
def flip_bits(history: EditableHistory, rng: Random) -> None:
    """The bytes of a batch rotted: its CRC is wrong, and perhaps it cannot be decoded."""
    batch = a_batch(history, rng)
    rotten = rng.choice((replace(batch, digest=NONE, error="wrong CRC"), batch))
    swap(history.replica_batches, batch, replace(rotten, crc_ok=False))


@noticed_by(Property.DIVERGENCE)
def drop_batch(history: EditableHistory, rng: Random) -> None:
    """One replica lacks a batch."""
    history.replica_batches.remove(a_batch(history, rng))


@noticed_by(Property.DIVERGENCE)
def swap_batches(history: EditableHistory, rng: Random) -> None:
    """Two batches of one replica trade places in its file."""
    one, other = neighbours(history, rng)
    places = [next(i for i, b in enumerate(history.replica_batches) if b is each) for each in (one, other)]
    for at, batch, place in zip(places, (other, one), (one, other), strict=True):
        moved = replace(batch, segment=place.segment, position=place.position)
        history.replica_batches[at] = moved


@noticed_by(Property.DIVERGENCE, Property.EPOCH_MONOTONE, Property.CHECKPOINT_SANE)
def change_epoch(history: EditableHistory, rng: Random) -> None:
    """A batch of one replica is of another leader epoch."""
    batch = a_batch(history, rng)
    swap(
        history.replica_batches,
        batch,
        replace(batch, leader_epoch=batch.leader_epoch + rng.choice((-1, 1, 7))),
    )


@noticed_by(Property.EPOCH_MONOTONE)
def lower_epoch(history: EditableHistory, rng: Random) -> None:
    """A batch is of a lower leader epoch than the one before it, on one replica or on all."""
    before, batch = neighbours(history, rng)
    everywhere = rng.random() < 1 / SOMETIMES
    for each in list(history.replica_batches):
        if (each.tp, each.base_offset) == (batch.tp, batch.base_offset) and (everywhere or each is batch):
            swap(history.replica_batches, each, replace(each, leader_epoch=before.leader_epoch - 1))


@noticed_by(Property.DIVERGENCE)
def reuse_offset(history: EditableHistory, rng: Random) -> None:
    """A batch of one replica has the offsets of the one before it."""
    before, batch = neighbours(history, rng)
    swap(history.replica_batches, batch, replace(batch, base_offset=before.base_offset))


@noticed_by(Property.DIVERGENCE)
def repeat_batch(history: EditableHistory, rng: Random) -> None:
    """A replica has a batch once more, at the end of its log."""
    batch = a_batch(history, rng)
    row = first(r for r in judged(history) if (r.tp, r.broker) == (batch.tp, batch.broker))
    last = log_of(history, row)[-1]
    again = replace(batch, segment=last.segment, position=last.position + last.size)
    history.replica_batches.append(again)


@noticed_by(Property.DIVERGENCE)
def resurrect_tail(history: EditableHistory, rng: Random) -> None:
    """One replica did not truncate what it had from an older leader: its tail is another one."""
    batch = a_batch(history, rng)
    log = log_of(history, first(r for r in judged(history) if (r.tp, r.broker) == (batch.tp, batch.broker)))
    epoch = log[0].leader_epoch
    for each in log[log.index(batch) :]:
        swap(history.replica_batches, each, replace(altered(rng, each), leader_epoch=epoch))


@noticed_by(Property.DIVERGENCE)
def change_records(history: EditableHistory, rng: Random) -> None:
    """A batch holds other records than were read, on one replica or on all, and every header agrees."""
    batch, summand = a_batch(history, rng), rng.randint(1, 1 << 40)
    everywhere = rng.random() < 1 / SOMETIMES
    for each in list(history.replica_batches):
        if (each.tp, each.base_offset) == (batch.tp, batch.base_offset) and (everywhere or each is batch):
            swap(history.replica_batches, each, replace(each, digest=(batch.digest + summand) % (1 << 63)))


@noticed_by(Property.ONE_LEADER)
def write_under_two_leaders(history: EditableHistory, rng: Random) -> None:
    """Two replicas have different batches of one leader epoch."""
    batch = a_shared_batch(history, rng)
    swap(history.replica_batches, batch, altered(rng, batch))


@noticed_by(Property.LOG_MATCHING)
def replace_in_the_middle(history: EditableHistory, rng: Random) -> None:
    """A replica has another batch of an older epoch below batches that it shares with another one."""
    batch = a_shared_batch(history, rng)
    later = [b for b in history.replica_batches if b.tp == batch.tp and b.base_offset > batch.base_offset]
    by_broker = [{b.base_offset for b in later if b.broker == broker} for broker in (1, 2, 3)]
    others = [held for broker, held in zip((1, 2, 3), by_broker, strict=True) if broker != batch.broker]
    if not all(by_broker[batch.broker - 1] & held for held in others):
        raise NotApplicable
    swap(history.replica_batches, batch, replace(altered(rng, batch), leader_epoch=batch.leader_epoch - 1))


@noticed_by(Property.SEQUENCE_DENSE)
def skip_sequences(history: EditableHistory, rng: Random) -> None:
    """A batch does not go on where its producer's last one ended."""
    _, batch = two_of_one_producer(history, rng)
    skipped = (batch.base_sequence + rng.randint(1, 5)) % (1 << 31)
    swap(history.replica_batches, batch, replace(batch, base_sequence=skipped))


@noticed_by(Property.SEQUENCE_DENSE)
def repeat_sequence(history: EditableHistory, rng: Random) -> None:
    """A batch has the sequence of its producer's last one: it was appended twice."""
    before, batch = two_of_one_producer(history, rng)
    swap(history.replica_batches, batch, replace(batch, base_sequence=before.base_sequence))


@perhaps_harmless
def change_producer_epoch(history: EditableHistory, rng: Random) -> None:
    """A batch was written by a newer or older instance of its producer."""
    batch = pick(rng, [b for b in history.replica_batches if b.producer_id != NONE])
    epoch = max(0, batch.producer_epoch + rng.choice((-1, 1)))
    sequence = rng.choice((0, batch.base_sequence))
    swap(history.replica_batches, batch, replace(batch, producer_epoch=epoch, base_sequence=sequence))


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
