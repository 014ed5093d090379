"""Damage to the final log: what a broker does that loses, doubles, moves or invents records."""

from dataclasses import replace
from random import Random

from checkers.damage.draft import Draft, NotApplicable, first, pick, swap
from checkers.damage.kind import noticed_by, perhaps_harmless
from checkers.history.rows import LogRecord, Proof, Send, TopicPartition
from checkers.history.tables import NONE, Outcome
from checkers.judgement import Property

STRANGER = 90
"""A producer number that no simulated history uses."""


def fresh(draft: Draft, rng: Random, tp: TopicPartition) -> LogRecord:
    """A record of a new send, acknowledged without an offset after all others; it is not in the log yet."""
    sequence = sum(send.producer == STRANGER for send in draft.sends)
    now = max((max(send.invoked_ns, send.completed_ns) for send in draft.sends), default=0) + 1
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
    draft.sends.append(send)
    return LogRecord(
        topic=tp.topic,
        partition=tp.partition,
        producer=STRANGER,
        sequence=sequence,
        checksum=checksum,
        offset=NONE,
        leader_epoch=1,
    )


def proof_of(draft: Draft, tp: TopicPartition) -> Proof:
    """The complete proof of a decided partition."""
    return first(proof for proof in draft.proofs if proof.tp == tp)


def end_at(draft: Draft, tp: TopicPartition, end: int) -> None:
    """Let a decided partition's log end at an offset, all of it readable."""
    proof = proof_of(draft, tp)
    swap(draft.proofs, proof, replace(proof, high_watermark=end, log_end=end))


def _shift(draft: Draft, tp: TopicPartition, first: int, by: int) -> None:
    """Move every record at or behind an offset by some offsets."""
    draft.log = [
        replace(r, offset=r.offset + by) if r.tp == tp and r.offset >= first else r for r in draft.log
    ]


def _truncate(draft: Draft, lost: LogRecord) -> None:
    """Let the log end before a record."""
    draft.log = [r for r in draft.log if r.tp != lost.tp or r.offset < lost.offset]
    end_at(draft, lost.tp, lost.offset)


def _elsewhere(draft: Draft, rng: Random, tp: TopicPartition) -> TopicPartition:
    return pick(rng, sorted(draft.decided() - {tp}))


def _exchange(draft: Draft, one: LogRecord, other: LogRecord) -> None:
    """Let two records trade places."""
    for here, there in ((one, other), (other, one)):
        swap(
            draft.log,
            here,
            replace(here, producer=there.producer, sequence=there.sequence, checksum=there.checksum),
        )


@noticed_by(Property.ACKED_LOSS)
def drop_acked(draft: Draft, rng: Random) -> None:
    """An acknowledged record is gone and leaves a hole."""
    draft.log.remove(draft.logged(Outcome.OK, rng))


@noticed_by(Property.OFFSET_GAP)
def drop_any(draft: Draft, rng: Random) -> None:
    """Some record is gone and leaves a hole."""
    decided = draft.decided()
    draft.log.remove(pick(rng, [record for record in draft.log if record.tp in decided]))


@noticed_by(Property.ACKED_LOSS)
def drop_and_close(draft: Draft, rng: Random) -> None:
    """An acknowledged record is gone and all behind it move up."""
    gone = draft.logged(Outcome.OK, rng)
    draft.log.remove(gone)
    _shift(draft, gone.tp, gone.offset, -1)
    end_at(draft, gone.tp, max(gone.offset, proof_of(draft, gone.tp).high_watermark - 1))


@noticed_by(Property.ACKED_LOSS)
def truncate_tail(draft: Draft, rng: Random) -> None:
    """The log ends at what was an acknowledged record."""
    lost = draft.logged(Outcome.OK, rng)
    _truncate(draft, lost)


@noticed_by(Property.ACKED_LOSS)
def truncate_and_replace(draft: Draft, rng: Random) -> None:
    """A new leader never had the tail, and others wrote there since: shorter, as long, or longer."""
    lost = draft.logged(Outcome.OK, rng)
    length = len(draft.log)
    _truncate(draft, lost)
    for _ in range(rng.randint(1, length - len(draft.log) + 2)):
        draft.append(fresh(draft, rng, lost.tp), at=lost.tp)


@noticed_by(Property.HW_LOSS)
def replace_what_was_read(draft: Draft, rng: Random) -> None:
    """Another record has the place of one that a reader was given."""
    places = {(read.tp, read.offset) for read in draft.reads}
    decided = draft.decided()
    old = pick(rng, [r for r in draft.log if (r.tp, r.offset) in places and r.tp in decided])
    new = fresh(draft, rng, old.tp)
    swap(draft.log, old, replace(new, offset=old.offset))


@noticed_by(Property.DUPLICATE)
def copy_within(draft: Draft, rng: Random) -> None:
    """A record was written twice in its partition."""
    record = draft.logged(rng.choice((Outcome.OK, Outcome.INFO)), rng)
    draft.append(record, at=record.tp)


@noticed_by(Property.DUPLICATE)
def copy_across(draft: Draft, rng: Random) -> None:
    """A record is also in a partition it was not sent to."""
    record = draft.logged(Outcome.OK, rng)
    draft.append(record, at=_elsewhere(draft, rng, record.tp))


@noticed_by(Property.OFFSET_GAP)
def move_to_tail(draft: Draft, rng: Random) -> None:
    """A record lies behind all others now."""
    record = draft.logged(Outcome.OK, rng)
    draft.log.remove(record)
    draft.append(record, at=record.tp)
    if draft.log[-1].offset == record.offset:
        _shift(draft, record.tp, record.offset, 1)
        end_at(draft, record.tp, record.offset + 2)


@noticed_by(Property.PHANTOM)
def move_across(draft: Draft, rng: Random) -> None:
    """A record is in a partition it was not sent to, and no more in its own."""
    record = draft.logged(Outcome.OK, rng)
    target = _elsewhere(draft, rng, record.tp)
    draft.log.remove(record)
    draft.append(record, at=target)


@noticed_by(Property.ACK_OFFSET)
def swap_places(draft: Draft, rng: Random) -> None:
    """Two records of a partition traded places."""
    one = draft.logged(Outcome.OK, rng)
    if draft.sends_by_id()[one.id].offset == NONE:
        raise NotApplicable
    _exchange(draft, one, pick(rng, [r for r in draft.log_of(one.tp) if r.id != one.id]))


@noticed_by(Property.PRODUCER_ORDER)
def swap_of_one_producer(draft: Draft, rng: Random) -> None:
    """Two records of one producer traded places."""
    one = draft.logged(Outcome.OK, rng)
    others = [r for r in draft.log_of(one.tp) if r.producer == one.producer and r.id != one.id]
    _exchange(draft, one, pick(rng, others))


@noticed_by(Property.DUPLICATE)
def reuse_id(draft: Draft, rng: Random) -> None:
    """A record carries the id (and perhaps the content) of another one."""
    victim = draft.logged(Outcome.OK, rng)
    decided = draft.decided()
    twin = pick(rng, [r for r in draft.log if r.tp in decided and r.id != victim.id])
    checksum = rng.choice((twin.checksum, victim.checksum))
    reused = replace(victim, producer=twin.producer, sequence=twin.sequence, checksum=checksum)
    swap(draft.log, victim, reused)


@noticed_by(Property.CONTENT)
def flip_checksum(draft: Draft, rng: Random) -> None:
    """A record's content is not what was sent."""
    record = draft.logged(rng.choice((Outcome.OK, Outcome.INFO)), rng)
    swap(draft.log, record, replace(record, checksum=record.checksum ^ 1))


@noticed_by(Property.PHANTOM)
def invent_record(draft: Draft, rng: Random) -> None:
    """The log ends with a record that nobody sent, of a known or an unknown producer."""
    tp = pick(rng, sorted(draft.decided()))
    known = max((s.sequence for s in draft.sends if s.producer == 0), default=0)
    producer, sequence = rng.choice(((0, known + 1), (STRANGER + 1, 0), (NONE, NONE)))
    invented = LogRecord(
        topic=tp.topic,
        partition=tp.partition,
        producer=producer,
        sequence=sequence,
        checksum=0,
        offset=NONE,
    )
    draft.append(invented, at=tp)


@noticed_by(Property.PHANTOM)
def wipe_id(draft: Draft, rng: Random) -> None:
    """A record's value decodes to no id any more."""
    record = draft.logged(Outcome.OK, rng)
    swap(draft.log, record, replace(record, producer=NONE, sequence=NONE))


@noticed_by(Property.RESURRECTED)
def resurrect(draft: Draft, rng: Random) -> None:
    """A send that had failed for certain is in the log."""
    decided = draft.decided()
    send = pick(rng, [s for s in draft.sends if s.outcome is Outcome.FAIL and s.tp in decided])
    risen = LogRecord(
        topic=send.topic,
        partition=send.partition,
        producer=send.producer,
        sequence=send.sequence,
        checksum=send.checksum,
        offset=NONE,
    )
    draft.append(risen, at=send.tp)


@noticed_by(Property.OFFSET_GAP)
def tear(draft: Draft, rng: Random) -> None:
    """From some record on, all offsets are higher than they were."""
    record, by = draft.logged(Outcome.OK, rng), rng.randint(1, 3)
    _shift(draft, record.tp, record.offset, by)
    end_at(draft, record.tp, proof_of(draft, record.tp).log_end + by)


@perhaps_harmless
def shuffle_tail(draft: Draft, rng: Random) -> None:
    """The last records of a partition are in another order."""
    tail = draft.log_of(pick(rng, draft.partitions))[-rng.randint(2, 6) :]
    for record, place in zip(tail, rng.sample(tail, len(tail)), strict=True):
        swap(draft.log, record, replace(record, offset=place.offset))


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
