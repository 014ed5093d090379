"""Damage to what the samplers and the final read report: watermarks, leader epochs and proofs."""

from dataclasses import replace
from random import Random

from checkers.damage.draft import Draft, NotApplicable, pick, swap
from checkers.damage.kind import noticed_by, perhaps_harmless
from checkers.damage.log import fresh, proof_of
from checkers.history.rows import Proof, Watermark
from checkers.history.tables import NONE, Outcome
from checkers.judgement import Property


def _proof(draft: Draft, rng: Random) -> Proof:
    return pick(rng, [proof for proof in draft.proofs if proof.complete])


@noticed_by(Property.HW_LOSS)
def raise_watermark(draft: Draft, rng: Random) -> None:
    """The high watermark was above what is now the log's end."""
    proof = _proof(draft, rng)
    draft.watermarks.append(
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
def replace_what_was_exposed(draft: Draft, rng: Random) -> None:
    """Another record has the place of one acknowledged below the sampled high watermark of its epoch."""
    record = draft.logged(Outcome.OK, rng)
    send = draft.sends_by_id()[record.id]
    if send.offset != record.offset:
        raise NotApplicable
    first, last = rng.choice(((0, 0), (1, 1))), rng.choice(((0, 0), (1, 2)))
    for at_ns, high_watermark in (
        (send.invoked_ns - first[0], record.offset),
        (send.completed_ns + last[0], record.offset + 1 + last[1]),
    ):
        draft.watermarks.append(
            Watermark(
                at_ns=at_ns,
                topic=record.topic,
                partition=record.partition,
                leader=2,
                leader_epoch=7,
                high_watermark=high_watermark,
            )
        )
    swap(draft.log, record, replace(fresh(draft, rng, record.tp), offset=record.offset))


@perhaps_harmless
def shift_watermark(draft: Draft, rng: Random) -> None:
    """One sample is off, in height or in time or in epoch."""
    sample = pick(rng, draft.watermarks)
    by = rng.randint(-3, 3)
    swap(
        draft.watermarks,
        sample,
        rng.choice(
            (
                replace(sample, high_watermark=max(NONE, sample.high_watermark + by)),
                replace(sample, at_ns=max(0, sample.at_ns + by * 2_000)),
                replace(sample, leader_epoch=max(NONE, sample.leader_epoch + by)),
            )
        ),
    )


@perhaps_harmless
def lose_samples(draft: Draft, rng: Random) -> None:
    """Half of the samples are gone."""
    draft.watermarks = [sample for sample in draft.watermarks if rng.random() < 0.5]


@perhaps_harmless
def merge_epochs(draft: Draft, rng: Random) -> None:
    """All samples of a partition claim one leader epoch."""
    tp, epoch = pick(rng, draft.watermarks).tp, rng.choice((NONE, 0, 1))
    draft.watermarks = [replace(s, leader_epoch=epoch) if s.tp == tp else s for s in draft.watermarks]


@perhaps_harmless
def lose_proof(draft: Draft, rng: Random) -> None:
    """Nothing is known about how the final read of a partition ended: nothing is decided."""
    draft.proofs.remove(_proof(draft, rng))


@perhaps_harmless
def leave_proof_incomplete(draft: Draft, rng: Random) -> None:
    """The final read of a partition did not reach the end: nothing is decided."""
    proof = _proof(draft, rng)
    reason = "the deadline passed at offset 3"
    swap(draft.proofs, proof, replace(proof, complete=False, reason=reason))


@perhaps_harmless
def claim_completeness(draft: Draft, rng: Random) -> None:
    """A final read that was not complete says that it was."""
    proof = pick(rng, [proof for proof in draft.proofs if not proof.complete])
    swap(draft.proofs, proof, replace(proof, complete=True, reason=""))


@noticed_by(Property.OFFSET_GAP)
def prove_too_much(draft: Draft, rng: Random) -> None:
    """The proven high watermark lies above the last record."""
    proof = _proof(draft, rng)
    end = proof.log_end + rng.randint(1, 3)
    swap(draft.proofs, proof, replace(proof, high_watermark=end, log_end=end))


@perhaps_harmless
def prove_less(draft: Draft, rng: Random) -> None:
    """The proven high watermark lies below the last record, which is on disk or beyond everything."""
    proof = _proof(draft, rng)
    end = max(proof.log_start, proof.high_watermark - rng.randint(1, 3))
    swap(draft.proofs, proof, replace(proof, high_watermark=end, log_end=rng.choice((end, proof.log_end))))


@perhaps_harmless
def start_later(draft: Draft, rng: Random) -> None:
    """The log's start was raised; the records below it are gone, or still there."""
    proof = _proof(draft, rng)
    start = proof.log_start + rng.randint(1, 4)
    if rng.random() < 0.5:
        draft.log = [r for r in draft.log if r.tp != proof.tp or r.offset >= start]
    swap(draft.proofs, proof, replace(proof_of(draft, proof.tp), log_start=start))


SAMPLE_KINDS = (
    raise_watermark,
    replace_what_was_exposed,
    shift_watermark,
    lose_samples,
    merge_epochs,
    lose_proof,
    leave_proof_incomplete,
    claim_completeness,
    prove_too_much,
    prove_less,
    start_later,
)
