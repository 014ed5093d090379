"""Damage to the watermark samples, to the proofs of the final read, and to what was loaded of a disk."""

from dataclasses import replace
from random import Random

from checkers.damage.damage_kind import noticed_by, perhaps_harmless
from checkers.damage.editable_history import EditableHistory, NotApplicable, pick, swap
from checkers.damage.healthy.simulate import STEP_NS
from checkers.damage.kinds.log import fresh, proof_of
from checkers.history.rows import Proof, Watermark
from checkers.history.tables import NONE, Outcome
from checkers.properties import Property


def _proof(history: EditableHistory, rng: Random) -> Proof:
    return pick(rng, [proof for proof in history.proofs if proof.complete])


@noticed_by(Property.HW_LOSS)
def raise_watermark(history: EditableHistory, rng: Random) -> None:
    """The high watermark was above what is now the log's end."""
    proof = _proof(history, rng)
    history.watermarks.append(
        Watermark(
            at_ns=proof.at_ns,
            topic=proof.topic,
            partition=proof.partition,
            leader=1,
            leader_epoch=rng.choice((NONE, 0, 5)),
            isr=(1, 2),
            log_start=proof.log_start,
            high_watermark=proof.log_end + rng.randint(1, 3),
        )
    )


@noticed_by(Property.HW_LOSS)
def replace_what_was_exposed(history: EditableHistory, rng: Random) -> None:
    """Another record has the place of one acknowledged below the sampled high watermark of its epoch."""
    record = history.logged(Outcome.OK, rng)
    send = history.sends_by_id()[record.id]
    if send.offset != record.offset:
        raise NotApplicable
    first, last = rng.choice(((0, 0), (1, 1))), rng.choice(((0, 0), (1, 2)))
    for at_ns, high_watermark in (
        (send.invoked_ns - first[0], record.offset),
        (send.completed_ns + last[0], record.offset + 1 + last[1]),
    ):
        history.watermarks.append(
            Watermark(
                at_ns=at_ns,
                topic=record.topic,
                partition=record.partition,
                leader=2,
                leader_epoch=7,
                high_watermark=high_watermark,
            )
        )
    swap(history.log, record, replace(fresh(history, rng, record.tp), offset=record.offset))


@noticed_by(Property.HW_LOSS)
def write_over_what_was_exposed(history: EditableHistory, rng: Random) -> None:
    """From a record below a sampled high watermark on, the log is of a later leader epoch than the sample."""
    decided = history.decided()
    sample = pick(rng, [s for s in history.watermarks if s.leader_epoch != NONE and s.tp in decided])
    proof = proof_of(history, sample.tp)
    end = min(sample.high_watermark, proof.high_watermark)
    first = pick(rng, [r for r in history.log if r.tp == sample.tp and proof.log_start <= r.offset < end])
    later = sample.leader_epoch + rng.randint(1, 2)
    history.log = [
        replace(r, leader_epoch=max(r.leader_epoch, later))
        if r.tp == sample.tp and r.offset >= first.offset
        else r
        for r in history.log
    ]


@perhaps_harmless
def shift_watermark(history: EditableHistory, rng: Random) -> None:
    """One sample is off, in height or in time or in epoch."""
    sample = pick(rng, history.watermarks)
    by = rng.randint(-3, 3)
    swap(
        history.watermarks,
        sample,
        rng.choice(
            (
                replace(sample, high_watermark=max(NONE, sample.high_watermark + by)),
                replace(sample, at_ns=max(0, sample.at_ns + by * 2 * STEP_NS)),
                replace(sample, leader_epoch=max(NONE, sample.leader_epoch + by)),
            )
        ),
    )


@perhaps_harmless
def lose_samples(history: EditableHistory, rng: Random) -> None:
    """Half of the samples are gone."""
    history.watermarks = [sample for sample in history.watermarks if rng.random() < 0.5]


@perhaps_harmless
def merge_epochs(history: EditableHistory, rng: Random) -> None:
    """All samples of a partition are of one leader epoch."""
    tp, epoch = pick(rng, history.watermarks).tp, rng.choice((NONE, 0, 1))
    history.watermarks = [replace(s, leader_epoch=epoch) if s.tp == tp else s for s in history.watermarks]


@perhaps_harmless
def lose_proof(history: EditableHistory, rng: Random) -> None:
    """Nothing is known about how the final read of a partition ended: nothing is decided."""
    history.proofs.remove(_proof(history, rng))


@perhaps_harmless
def leave_proof_incomplete(history: EditableHistory, rng: Random) -> None:
    """The final read of a partition did not reach the end: nothing is decided."""
    proof = _proof(history, rng)
    reason = "the deadline passed at offset 3"
    swap(history.proofs, proof, replace(proof, complete=False, reason=reason))


@perhaps_harmless
def mark_proof_complete(history: EditableHistory, rng: Random) -> None:
    """The proof of an incomplete final read is marked complete."""
    proof = pick(rng, [proof for proof in history.proofs if not proof.complete])
    swap(history.proofs, proof, replace(proof, complete=True, reason=""))


@noticed_by(Property.OFFSET_GAP)
def prove_too_much(history: EditableHistory, rng: Random) -> None:
    """The proven high watermark lies above the last record."""
    proof = _proof(history, rng)
    end = proof.log_end + rng.randint(1, 3)
    swap(history.proofs, proof, replace(proof, high_watermark=end, log_end=end))


@perhaps_harmless
def prove_less(history: EditableHistory, rng: Random) -> None:
    """The proven high watermark lies below the last record, which is on disk or beyond everything."""
    proof = _proof(history, rng)
    end = max(proof.log_start, proof.high_watermark - rng.randint(1, 3))
    swap(history.proofs, proof, replace(proof, high_watermark=end, log_end=rng.choice((end, proof.log_end))))


@perhaps_harmless
def start_later(history: EditableHistory, rng: Random) -> None:
    """The log's start was raised; the records below it are gone, or still there."""
    proof = _proof(history, rng)
    start = proof.log_start + rng.randint(1, 4)
    if rng.random() < 0.5:
        history.log = [r for r in history.log if r.tp != proof.tp or r.offset >= start]
    swap(history.proofs, proof, replace(proof_of(history, proof.tp), log_start=start))


@noticed_by(Property.LOADS_ALL)
def load_less(history: EditableHistory, rng: Random) -> None:
    """A broker that was started has not loaded the end of its log."""
    if len(history.clocks) < 2 or not {"replica_offsets", "broker_lines", "node_events"} <= history.collected:
        raise NotApplicable
    line = pick(rng, [line for line in history.broker_lines if line.offset > 0])
    swap(history.broker_lines, line, replace(line, offset=rng.randrange(line.offset)))


SAMPLE_KINDS = (
    raise_watermark,
    replace_what_was_exposed,
    write_over_what_was_exposed,
    shift_watermark,
    lose_samples,
    merge_epochs,
    lose_proof,
    leave_proof_incomplete,
    mark_proof_complete,
    prove_too_much,
    prove_less,
    start_later,
    load_less,
)
