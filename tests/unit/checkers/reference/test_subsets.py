"""The rules may be asked about some records only: what their docstrings promise of subsets holds."""

from functools import cache
from random import Random

import pytest

from checkers.damage import damage, random_history
from checkers.reference import Facts, durability, high_watermark, order, presence, reads

BY_ID = (
    durability.acked_loss,
    durability.unknown_offset_ack,
    durability.ack_offset,
    durability.content,
    durability.resurrected,
    order.duplicate,
    presence.phantom,
)
BY_OFFSET = (high_watermark.hw_loss_witnessed, high_watermark.read_uncommitted, reads.same_for_all)


SEEDS = range(150)


def broken(seed):
    """A damaged history and the dice that made it."""
    rng = Random(seed)
    return damage(random_history(rng), rng), rng


def facts_of(history, keep=lambda row: True, keep_send=None) -> Facts:
    """The facts of the rows to keep, with all watermarks and proofs."""
    return Facts(
        sends=filter(keep_send or keep, history.sends),
        final_log=filter(keep, history.final_log),
        reads=filter(keep, history.reads),
        watermarks=history.watermarks,
        proofs=history.proofs,
    )


def keys(rule, facts, keep=lambda key: True):
    """The sorted keys that a rule finds, as far as they are to be kept."""
    return sorted(key for key in (anomaly.key() for anomaly in rule(facts)) if keep(key))


@cache
def by_some_ids():
    """Of each seed some ids, the facts of the whole history, and those of the ids."""
    found = []
    for seed in SEEDS:
        history, rng = broken(seed)
        chosen = {row.id for row in (*history.sends, *history.final_log) if rng.random() < 0.5}
        some = facts_of(history, keep=lambda row, chosen=chosen: row.id in chosen)
        found.append((chosen, facts_of(history), some))
    return found


@cache
def by_some_offsets():
    """Of each seed some offsets, the facts of the whole history, and those of the offsets."""
    found = []
    for seed in SEEDS:
        history, rng = broken(seed)
        rows = (*history.sends, *history.final_log, *history.reads)
        chosen = {(row.tp, row.offset) for row in rows if rng.random() < 0.5}
        some = facts_of(history, keep=lambda row, chosen=chosen: (row.tp, row.offset) in chosen)
        found.append((chosen, facts_of(history), some))
    return found


@pytest.mark.parametrize("rule", BY_ID)
def test_by_id(rule):
    """With the send and every log record of some ids, the rule gives the same anomalies of those ids."""
    compared = 0
    for chosen, whole, some in by_some_ids():
        expected = keys(rule, whole, keep=lambda key, chosen=chosen: key[4:6] in chosen)
        assert keys(rule, some) == expected
        compared += len(expected)
    assert compared > 0


@pytest.mark.parametrize("rule", BY_OFFSET)
def test_by_offset(rule):
    """With the log record, the reads and the acknowledgements at some offsets, the same about those."""
    compared = 0
    for chosen, whole, some in by_some_offsets():
        expected = keys(rule, whole, keep=lambda key, chosen=chosen: (key[1:3], key[3]) in chosen)
        assert keys(rule, some) == expected
        compared += len(expected)
    assert compared > 0
