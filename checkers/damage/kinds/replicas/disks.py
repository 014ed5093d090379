"""Damage to what lies beside the batches: where a log ends, checkpoints, snapshots, and the audit itself."""

from dataclasses import replace
from random import Random

from checkers.damage.damage_kind import noticed_by, perhaps_harmless
from checkers.damage.editable_history import EditableHistory, NotApplicable, first, pick, swap
from checkers.damage.healthy.replicas import epochs_of
from checkers.damage.kinds.replicas.choose import SOMETIMES, a_batch, a_replica, judged, log_of
from checkers.history.rows import ConfigChange
from checkers.history.tables import NONE
from checkers.properties import Property


@noticed_by(Property.DIVERGENCE)
def truncate_replica(history: EditableHistory, rng: Random) -> None:
    """One replica's log ends below the high watermark, and its checkpoints know no better."""
    batch = a_batch(history, rng)
    row = first(r for r in judged(history) if (r.tp, r.broker) == (batch.tp, batch.broker))
    log = log_of(history, row)
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


@noticed_by(Property.CHECKPOINT_SANE)
def note_too_much(history: EditableHistory, rng: Random) -> None:
    """A checkpoint lies above the end of the log."""
    row = a_replica(history, rng)
    beyond = row.log_end + rng.randint(1, 5)
    damaged = rng.choice((replace(row, recovery_point=beyond), replace(row, hw_checkpoint=beyond)))
    swap(history.replicas, row, damaged)


@noticed_by(Property.CHECKPOINT_SANE)
def leave_bytes(history: EditableHistory, rng: Random) -> None:
    """Bytes follow the last whole batch, though the broker stopped cleanly."""
    row = a_replica(history, rng)
    swap(history.replicas, row, replace(row, torn_bytes=rng.randint(1, 99)))


@noticed_by(Property.CHECKPOINT_SANE)
def damage_epoch_cache(history: EditableHistory, rng: Random) -> None:
    """The leader epoch cache of a replica has a wrong entry, or lacks one."""
    row = a_replica(history, rng)
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
    rows = {(row.tp, row.broker): row for row in judged(history)}
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


@perhaps_harmless
def stop_uncleanly(history: EditableHistory, rng: Random) -> None:
    """A broker did not note a clean shutdown."""
    row = pick(rng, history.replicas)
    swap(history.replicas, row, replace(row, clean=False))


@perhaps_harmless
def tear_tail(history: EditableHistory, rng: Random) -> None:
    """The last batches of a broker that did not stop cleanly are torn."""
    row = pick(rng, history.replicas)
    log = log_of(history, row)
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
def compact(history: EditableHistory, rng: Random) -> None:
    """A topic was compacted for a while, or all topics."""
    topic = pick(rng, history.partitions).topic
    its = rng.choice((("topic", topic, "cleanup.policy"), ("cluster", "", "log.cleanup.policy")))
    history.configs.append(
        ConfigChange(
            at_ms=0, kind=its[0], name=its[1], key=its[2], value=rng.choice(("delete,compact", "delete"))
        )
    )
