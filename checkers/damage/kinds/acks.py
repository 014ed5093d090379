"""Damage to the sends and their acks: outcomes, acknowledged offsets, times, and where a record was sent."""

from dataclasses import replace
from random import Random

from checkers.damage.damage_kind import noticed_by, perhaps_harmless
from checkers.damage.editable_history import EditableHistory, NotApplicable, first, pick, swap
from checkers.damage.healthy.simulate import STEP_NS
from checkers.damage.kinds.log import proof_of
from checkers.history.rows import Send
from checkers.history.tables import NONE, Outcome
from checkers.properties import Property


def _logged_send(history: EditableHistory, rng: Random, outcome: Outcome = Outcome.OK) -> Send:
    """A send of this outcome whose record is in a decided partition's log."""
    return history.sends_by_id()[history.logged(outcome, rng).id]


def _ack_at(history: EditableHistory, send: Send, offset: int) -> None:
    swap(history.sends, send, replace(send, offset=offset))


@noticed_by(Property.ACK_OFFSET)
def ack_elsewhere(history: EditableHistory, rng: Random) -> None:
    """An acknowledged offset inside the log is wrong; perhaps it is another record's as well."""
    send = _logged_send(history, rng)
    others = [record.offset for record in history.log_of(send.tp) if record.id != send.id]
    _ack_at(history, send, pick(rng, others))


@noticed_by(Property.ACK_OFFSET)
def ack_taken_offset(history: EditableHistory, rng: Random) -> None:
    """Two records were acknowledged at one offset."""
    send = _logged_send(history, rng)
    mine = {record.offset for record in history.log_of(send.tp) if record.id == send.id}
    others = [s for s in history.sends if s.tp == send.tp and s.acked and s.offset not in (NONE, *mine)]
    readable = proof_of(history, send.tp).high_watermark
    _ack_at(history, send, pick(rng, [s.offset for s in others if s.offset < readable]))


@noticed_by(Property.ACK_OFFSET)
def ack_beyond_tail(history: EditableHistory, rng: Random) -> None:
    """A record was acknowledged behind the end of the log."""
    send = _logged_send(history, rng)
    _ack_at(history, send, proof_of(history, send.tp).log_end + rng.randint(0, 3))


@perhaps_harmless
def ack_unread(history: EditableHistory, rng: Random) -> None:
    """A record was acknowledged where no reader gets: it is undecided for itself."""
    send = _logged_send(history, rng)
    proof = proof_of(history, send.tp)
    log_end = proof.log_end + rng.randint(1, 3)
    swap(history.proofs, proof, replace(proof, log_end=log_end))
    _ack_at(history, send, rng.randrange(proof.high_watermark, log_end))


@perhaps_harmless
def forget_offset(history: EditableHistory, rng: Random) -> None:
    """A delivery report came without an offset."""
    _ack_at(history, pick(rng, [send for send in history.sends if send.acked]), NONE)


@noticed_by(Property.ACKED_LOSS)
def forge_ack(history: EditableHistory, rng: Random) -> None:
    """A record that was never written is acknowledged, with or without an offset."""
    logged, decided = {record.id for record in history.log}, history.decided()
    send = pick(rng, [s for s in history.sends if s.id not in logged and s.tp in decided and not s.acked])
    proof = proof_of(history, send.tp)
    reported = rng.choice((NONE, rng.randint(proof.log_start, proof.log_end + 1)))
    if proof.high_watermark <= reported < proof.log_end:
        reported = NONE
    completed_ns = max(send.completed_ns, send.invoked_ns + 1)
    swap(
        history.sends,
        send,
        replace(send, outcome=Outcome.OK, offset=reported, completed_ns=completed_ns, error=""),
    )


@noticed_by(Property.RESURRECTED)
def deny_write(history: EditableHistory, rng: Random) -> None:
    """A record that is in the log was reported as definitely not written."""
    send = _logged_send(history, rng, rng.choice((Outcome.OK, Outcome.INFO)))
    swap(history.sends, send, replace(send, outcome=Outcome.FAIL, error="MSG_SIZE_TOO_LARGE"))


@perhaps_harmless
def doubt_ack(history: EditableHistory, rng: Random) -> None:
    """An acknowledged send is recorded as unknown."""
    send = pick(rng, [s for s in history.sends if s.acked])
    swap(history.sends, send, replace(send, outcome=Outcome.INFO, offset=NONE, completed_ns=NONE))


@noticed_by(Property.REAL_TIME_ORDER)
def invoke_later(history: EditableHistory, rng: Random) -> None:
    """A record lies before one that was done before it was sent."""
    late = _logged_send(history, rng)
    log, sends = history.log_of(late.tp), history.sends_by_id()
    place = first(record.offset for record in log if record.id == late.id)
    behind = [sends[r.id] for r in log if r.offset > place and r.id in sends and sends[r.id].acked]
    unanswered = {each.producer for each in history.producers if each.acks == "0"}
    done = pick(rng, [send for send in behind if send.producer not in unanswered]).completed_ns
    swap(history.sends, late, replace(late, invoked_ns=done + 1, completed_ns=done + 2))


@perhaps_harmless
def jump_clock(history: EditableHistory, rng: Random) -> None:
    """From some send on, one producer's times are off by a constant."""
    since = pick(rng, history.sends)
    by = rng.choice((-1, 1)) * rng.randint(1, 50 * STEP_NS)
    history.sends = [
        replace(
            send,
            invoked_ns=max(0, send.invoked_ns + by),
            completed_ns=NONE if send.completed_ns == NONE else max(0, send.completed_ns + by),
        )
        if send.producer == since.producer and send.invoked_ns >= since.invoked_ns
        else send
        for send in history.sends
    ]


@noticed_by(Property.PHANTOM)
def forget_send(history: EditableHistory, rng: Random) -> None:
    """The send of a record in the log was not recorded."""
    history.sends.remove(_logged_send(history, rng))


@noticed_by(Property.PHANTOM)
def send_elsewhere(history: EditableHistory, rng: Random) -> None:
    """A record in the log was sent to another partition."""
    send = _logged_send(history, rng)
    other = pick(rng, [tp for tp in history.partitions if tp != send.tp])
    swap(history.sends, send, replace(send, topic=other.topic, partition=other.partition))


@noticed_by(Property.ACKED_LOSS)
def lose_without_offset(history: EditableHistory, rng: Random) -> None:
    """A record acknowledged without an offset is not in the log."""
    record = history.logged(Outcome.OK, rng)
    if sum(r.id == record.id for r in history.log) > 1:
        raise NotApplicable
    _ack_at(history, history.sends_by_id()[record.id], NONE)
    history.log.remove(record)


ACK_KINDS = (
    ack_elsewhere,
    ack_taken_offset,
    ack_beyond_tail,
    ack_unread,
    forget_offset,
    forge_ack,
    deny_write,
    doubt_ack,
    invoke_later,
    jump_clock,
    forget_send,
    send_elsewhere,
    lose_without_offset,
)
