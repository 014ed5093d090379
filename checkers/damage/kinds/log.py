"""Damage to the final log: what a broker does that loses, doubles, moves or invents records."""

from dataclasses import replace
from random import Random

from checkers.damage.damage_kind import noticed_by, perhaps_harmless
from checkers.damage.editable_history import EditableHistory, NotApplicable, first, pick, swap
from checkers.history.rows import LogRecord, Proof, Send, TopicPartition
from checkers.history.tables import NONE, Outcome
from checkers.properties import Property

STRANGER = 90
"""A producer number that no simulated history uses."""


def fresh(history: EditableHistory, rng: Random, tp: TopicPartition) -> LogRecord:
    """A record of a new send, acknowledged without an offset after all others; it is not in the log yet."""
    sequence = sum(send.producer == STRANGER for send in history.sends)
    now = max((max(send.invoked_ns, send.completed_ns) for send in history.sends), default=0) + 1
    checksum = rng.getrandbits(32)
    send = Send(
        topic=tp.topic,
        partition=tp.partition,
        producer=STRANGER,
        sequence=sequence,
        invoked_ns=now,
        completed_ns=now + 1,
        outcome=Outcome.OK,
        offset=NONE,
        checksum=checksum,
    )
    history.sends.append(send)
    return LogRecord(
        topic=tp.topic,
        partition=tp.partition,
        producer=STRANGER,
        sequence=sequence,
        checksum=checksum,
        offset=NONE,
        leader_epoch=1,
    )


def proof_of(history: EditableHistory, tp: TopicPartition) -> Proof:
    """The complete proof of a decided partition."""
    return first(proof for proof in history.proofs if proof.tp == tp)


def end_at(history: EditableHistory, tp: TopicPartition, end: int) -> None:
    """Let a decided partition's log end at an offset, all of it readable."""
    proof = proof_of(history, tp)
    swap(history.proofs, proof, replace(proof, high_watermark=end, log_end=end))


def _shift(history: EditableHistory, tp: TopicPartition, first: int, by: int) -> None:
    """Move every record at or behind an offset by some offsets."""
    history.log = [
        replace(r, offset=r.offset + by) if r.tp == tp and r.offset >= first else r for r in history.log
    ]


def _truncate(history: EditableHistory, lost: LogRecord) -> None:
    """Let the log end before a record."""
    history.log = [r for r in history.log if r.tp != lost.tp or r.offset < lost.offset]
    end_at(history, lost.tp, lost.offset)


def _elsewhere(history: EditableHistory, rng: Random, tp: TopicPartition) -> TopicPartition:
    return pick(rng, sorted(history.decided() - {tp}))


def _exchange(history: EditableHistory, one: LogRecord, other: LogRecord) -> None:
    """Let two records trade places."""
    for here, there in ((one, other), (other, one)):
        swap(
            history.log,
            here,
            replace(here, producer=there.producer, sequence=there.sequence, checksum=there.checksum),
        )


@noticed_by(Property.ACKED_LOSS)
def drop_acked(history: EditableHistory, rng: Random) -> None:
    """An acknowledged record is gone and leaves a hole."""
    history.log.remove(history.logged(Outcome.OK, rng))


@noticed_by(Property.OFFSET_GAP)
def drop_any(history: EditableHistory, rng: Random) -> None:
    """Some record is gone and leaves a hole."""
    decided = history.decided()
    history.log.remove(pick(rng, [record for record in history.log if record.tp in decided]))


@noticed_by(Property.ACKED_LOSS)
def drop_and_close(history: EditableHistory, rng: Random) -> None:
    """An acknowledged record is gone and all behind it move up."""
    gone = history.logged(Outcome.OK, rng)
    history.log.remove(gone)
    _shift(history, gone.tp, gone.offset, -1)
    end_at(history, gone.tp, max(gone.offset, proof_of(history, gone.tp).high_watermark - 1))


@noticed_by(Property.ACKED_LOSS)
def truncate_tail(history: EditableHistory, rng: Random) -> None:
    """The log ends at what was an acknowledged record."""
    lost = history.logged(Outcome.OK, rng)
    _truncate(history, lost)


@noticed_by(Property.ACKED_LOSS)
def truncate_and_replace(history: EditableHistory, rng: Random) -> None:
    """A new leader never had the tail, and others wrote there since: shorter, as long, or longer."""
    lost = history.logged(Outcome.OK, rng)
    length = len(history.log)
    _truncate(history, lost)
    for _ in range(rng.randint(1, length - len(history.log) + 2)):
        history.append(fresh(history, rng, lost.tp), at=lost.tp)


@noticed_by(Property.HW_LOSS)
def replace_what_was_read(history: EditableHistory, rng: Random) -> None:
    """Another record has the place of one that a reader was given."""
    places = {(read.tp, read.offset) for read in history.reads}
    decided = history.decided()
    old = pick(rng, [r for r in history.log if (r.tp, r.offset) in places and r.tp in decided])
    new = fresh(history, rng, old.tp)
    swap(history.log, old, replace(new, offset=old.offset))


@noticed_by(Property.DUPLICATE)
def copy_within(history: EditableHistory, rng: Random) -> None:
    """A record was written twice in its partition."""
    record = history.logged(rng.choice((Outcome.OK, Outcome.INFO)), rng)
    history.append(record, at=record.tp)


@noticed_by(Property.DUPLICATE)
def copy_across(history: EditableHistory, rng: Random) -> None:
    """A record is also in a partition it was not sent to."""
    record = history.logged(Outcome.OK, rng)
    history.append(record, at=_elsewhere(history, rng, record.tp))


@noticed_by(Property.OFFSET_GAP)
def move_to_tail(history: EditableHistory, rng: Random) -> None:
    """A record lies behind all others now."""
    record = history.logged(Outcome.OK, rng)
    history.log.remove(record)
    history.append(record, at=record.tp)
    if history.log[-1].offset == record.offset:
        _shift(history, record.tp, record.offset, 1)
        end_at(history, record.tp, record.offset + 2)


@noticed_by(Property.PHANTOM)
def move_across(history: EditableHistory, rng: Random) -> None:
    """A record is in a partition it was not sent to, and no more in its own."""
    record = history.logged(Outcome.OK, rng)
    target = _elsewhere(history, rng, record.tp)
    history.log.remove(record)
    history.append(record, at=target)


@noticed_by(Property.ACK_OFFSET)
def swap_places(history: EditableHistory, rng: Random) -> None:
    """Two records of a partition traded places."""
    one = history.logged(Outcome.OK, rng)
    if history.sends_by_id()[one.id].offset == NONE:
        raise NotApplicable
    _exchange(history, one, pick(rng, [r for r in history.log_of(one.tp) if r.id != one.id]))


@noticed_by(Property.PRODUCER_ORDER)
def swap_of_one_producer(history: EditableHistory, rng: Random) -> None:
    """Two records of one producer traded places."""
    one = history.logged(Outcome.OK, rng)
    others = [r for r in history.log_of(one.tp) if r.producer == one.producer and r.id != one.id]
    _exchange(history, one, pick(rng, others))


@noticed_by(Property.DUPLICATE)
def reuse_id(history: EditableHistory, rng: Random) -> None:
    """A record carries the id (and perhaps the content) of another one."""
    victim = history.logged(Outcome.OK, rng)
    decided = history.decided()
    twin = pick(rng, [r for r in history.log if r.tp in decided and r.id != victim.id])
    checksum = rng.choice((twin.checksum, victim.checksum))
    reused = replace(victim, producer=twin.producer, sequence=twin.sequence, checksum=checksum)
    swap(history.log, victim, reused)


@noticed_by(Property.CONTENT)
def flip_checksum(history: EditableHistory, rng: Random) -> None:
    """A record's content is not what was sent."""
    record = history.logged(rng.choice((Outcome.OK, Outcome.INFO)), rng)
    swap(history.log, record, replace(record, checksum=record.checksum ^ 1))


@noticed_by(Property.PHANTOM)
def invent_record(history: EditableHistory, rng: Random) -> None:
    """The log ends with a record that nobody sent, of a known or an unknown producer."""
    tp = pick(rng, sorted(history.decided()))
    known = max((s.sequence for s in history.sends if s.producer == 0), default=0)
    producer, sequence = rng.choice(((0, known + 1), (STRANGER + 1, 0), (NONE, NONE)))
    invented = LogRecord(
        topic=tp.topic,
        partition=tp.partition,
        producer=producer,
        sequence=sequence,
        checksum=0,
        offset=NONE,
    )
    history.append(invented, at=tp)


@noticed_by(Property.PHANTOM)
def wipe_id(history: EditableHistory, rng: Random) -> None:
    """A record's value decodes to no id any more."""
    record = history.logged(Outcome.OK, rng)
    swap(history.log, record, replace(record, producer=NONE, sequence=NONE))


@noticed_by(Property.RESURRECTED)
def resurrect(history: EditableHistory, rng: Random) -> None:
    """A send that had failed for certain is in the log."""
    decided = history.decided()
    send = pick(rng, [s for s in history.sends if s.outcome is Outcome.FAIL and s.tp in decided])
    risen = LogRecord(
        topic=send.topic,
        partition=send.partition,
        producer=send.producer,
        sequence=send.sequence,
        checksum=send.checksum,
        offset=NONE,
    )
    history.append(risen, at=send.tp)


@noticed_by(Property.OFFSET_GAP)
def tear(history: EditableHistory, rng: Random) -> None:
    """From some record on, all offsets are higher than they were."""
    record, by = history.logged(Outcome.OK, rng), rng.randint(1, 3)
    _shift(history, record.tp, record.offset, by)
    end_at(history, record.tp, proof_of(history, record.tp).log_end + by)


@perhaps_harmless
def shuffle_tail(history: EditableHistory, rng: Random) -> None:
    """The last records of a partition are in another order."""
    tail = history.log_of(pick(rng, history.partitions))[-rng.randint(2, 6) :]
    for record, place in zip(tail, rng.sample(tail, len(tail)), strict=True):
        swap(history.log, record, replace(record, offset=place.offset))


LOG_KINDS = (
    drop_acked,
    drop_any,
    drop_and_close,
    truncate_tail,
    truncate_and_replace,
    replace_what_was_read,
    copy_within,
    copy_across,
    move_to_tail,
    move_across,
    swap_places,
    swap_of_one_producer,
    reuse_id,
    flip_checksum,
    invent_record,
    wipe_id,
    resurrect,
    tear,
    shuffle_tail,
)
