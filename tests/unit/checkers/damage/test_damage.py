"""Random histories are healthy, and the reference notices every kind of damage to them."""

from functools import cache
from itertools import islice
from random import Random

import pytest

from checkers.damage import KINDS, damage, random_history
from checkers.damage.editable_history import EditableHistory, NotApplicable
from checkers.properties import DECIDED, Property
from checkers.reference import check

SEEDS = range(200)
ENOUGH = 20
"""Damaged histories of one kind; some kinds fit fewer. The fuzz damages others, by each kind alone too."""
HARMLESS = {
    "shuffle-tail",
    "ack-unread",
    "forget-offset",
    "doubt-ack",
    "jump-clock",
    "merge-generations",
    "shift-reads",
    "shift-watermark",
    "lose-samples",
    "merge-epochs",
    "lose-proof",
    "leave-proof-incomplete",
    "mark-proof-complete",
    "prove-less",
    "start-later",
    "step-clock",
    "forget-control-plane",
    "change-acks",
    "raise-min-isr",
    "change-producer-epoch",
    "stop-uncleanly",
    "tear-tail",
    "leave-replica-unread",
    "leave-batch-undecoded",
    "mark-transaction",
    "compact",
    "keep-open-for-a-while",
    "move-marker",
    "forget-transaction",
    "change-end",
    "stretch-transaction",
    "take-over-sooner",
    "shuffle-committed-reads",
    "lose-committed-reads",
    "forget-table-of-transactions",
}


@cache
def drawn(seed):
    """A healthy history, and the state of the dice after it was drawn."""
    rng = Random(seed)
    return random_history(rng), rng.getstate()


def healthy(seed):
    """A healthy history and the dice that drew it."""
    history, state = drawn(seed)
    rng = Random()
    rng.setstate(state)
    return history, rng


@cache
def judged(seed):
    """The judgement of a healthy history."""
    return check(drawn(seed)[0])


def damaged_by(kind):
    """The judgement of each seed's history that the kind could damage."""
    for seed in SEEDS:
        untouched, rng = healthy(seed)
        history = EditableHistory.of(untouched)
        try:
            KINDS[kind].apply(history, rng)
        except NotApplicable:
            continue
        yield seed, check(history.freeze())


def test_healthy_histories_are_clean_whatever_the_seed():
    """In which every property has something to examine."""
    judgements = [judged(seed) for seed in SEEDS]
    assert [j.anomalies for j in judgements if j.anomalies] == []
    for each in DECIDED:
        assert sum(judgement.examined[each] for judgement in judgements) > 80


def test_healthy_histories_have_every_odd_shape():
    """No sends, no proofs, acks without an offset or above the high watermark, late log starts."""
    histories = [drawn(seed)[0] for seed in SEEDS]
    judgements = [judged(seed) for seed in SEEDS]
    assert any(not history.sends for history in histories)
    assert any(judgement.undecided_partitions for judgement in judgements)
    assert any(judgement.totals.ok_without_offset for judgement in judgements)
    assert any(p.log_end > p.high_watermark for h in histories for p in h.proofs)
    assert any(p.log_start > 0 for h in histories for p in h.proofs)
    replicas = [row for history in histories for row in history.replicas]
    assert any(not row.clean and row.torn_bytes for row in replicas)
    assert any(not row.complete for row in replicas)
    assert any(row.epoch_starts and row.epoch_starts[-1] == row.log_end > 0 for row in replicas)
    batches = [batch for history in histories for batch in history.replica_batches]
    assert any(batch.leader_epoch > 1 for batch in batches)
    assert any(batch.base_sequence + batch.last_offset_delta >= 1 << 31 for batch in batches)
    assert any(batch.attributes for batch in batches)
    assert any("replicas" not in history.collected for history in histories)
    assert any(set(h.partitions) - {p.tp for p in h.proofs} for h in histories)


def test_the_kinds_that_may_be_harmless_are_these_and_no_others():
    """A new kind must say who notices it, or be listed here."""
    assert {name for name, kind in KINDS.items() if not kind.noticed_by} == HARMLESS


@pytest.mark.parametrize("kind", sorted(set(KINDS) - HARMLESS))
def test_the_reference_notices(kind):
    """The kill table: each time the kind was done to a healthy history, who must notice it does."""
    judgements = list(islice(damaged_by(kind), ENOUGH))
    assert len(judgements) == ENOUGH
    survivors = [
        seed
        for seed, judgement in judgements
        if not KINDS[kind].noticed_by & {anomaly.property for anomaly in judgement.anomalies}
    ]
    assert survivors == []


@pytest.mark.parametrize(
    ("kind", "properties"),
    [
        ("shuffle-tail", {"ack-offset", "producer-order"}),
        ("jump-clock", {"real-time-order"}),
        ("merge-generations", {"monotone-read"}),
        ("shift-reads", {"read-uncommitted", "monotone-read"}),
        ("shift-watermark", {"hw-loss"}),
        ("start-later", {"acked-loss"}),
    ],
)
def test_what_may_be_harmless_is_noticed_where_it_is_not(kind, properties):
    """At least once in the seeds, each of these is violated."""
    missing = set(properties)
    for _, judgement in damaged_by(kind):
        missing -= {anomaly.property.value for anomaly in judgement.anomalies}
        if not missing:
            break
    assert missing == set()


@pytest.mark.parametrize("kind", ["lose-proof", "leave-proof-incomplete"])
def test_a_partition_without_a_proof_is_undecided(kind):
    """Never a loss, whatever its log lacks."""
    judgements = [judgement for _, judgement in islice(damaged_by(kind), ENOUGH)]
    assert len(judgements) == ENOUGH
    for judgement in judgements:
        assert judgement.anomalies == ()
        assert judgement.undecided_partitions


def test_a_record_acked_where_nobody_could_read_is_undecided():
    """Whatever else is in the log."""
    judgements = [judgement for _, judgement in islice(damaged_by("ack-unread"), ENOUGH)]
    assert len(judgements) == ENOUGH
    for judgement in judgements:
        assert judgement.anomalies == ()
        assert judgement.undecided[Property.ACKED_LOSS] > 0


def test_random_damage_breaks_every_property_sooner_or_later():
    """A property that no damage ever broke would be compared on nothing."""
    unbroken = set(DECIDED)
    for seed in range(300):
        unbroken -= {a.property for a in check(damage(*healthy(seed))).anomalies}
        if not unbroken:
            break
    assert unbroken == set()


def test_damage_leaves_the_healthy_history_as_it_was():
    """Histories are values."""
    rng = Random(3)
    history = random_history(rng)
    before = check(history).key()
    damage(history, rng)
    assert check(history).key() == before


def test_one_seed_gives_one_history():
    """A mismatch that a fuzzing run prints can be built again."""
    first, second = (damage(random_history(rng), rng) for rng in (Random(11), Random(11)))
    assert first == second
