"""Each planted bug shows in many of the cases that are drawn for it, and in none without its switch."""

from dataclasses import replace
from itertools import islice

import pytest

from checkers.model import Bug, draw_case, simulate

CASES = 12
ENOUGH = 3
"""Runs that show a bug: `make fuzz` looks at a hundred for each."""


def test_there_are_as_many_bugs_as_are_promised():
    assert len(Bug) >= 22


@pytest.mark.parametrize("bug", Bug, ids=lambda bug: bug.name)
def test_a_planted_bug_shows(bug):
    runs = (simulate(draw_case(seed, frozenset({bug}))) for seed in range(CASES))
    shown = list(islice((run.manifested for run in runs if bug in run.manifested), ENOUGH))
    assert shown == [{bug}] * ENOUGH


@pytest.mark.parametrize("bug", Bug, ids=lambda bug: bug.name)
def test_the_same_cases_are_in_order_without_the_bug(bug):
    for seed in range(3):
        run = simulate(replace(draw_case(seed, frozenset({bug})), bugs=frozenset()))
        truth = run.truth
        assert run.manifested == frozenset()
        assert truth.wrong == ()
        assert all(one.permitted for one in (*truth.lost, *truth.exposed_lost))


def test_a_wrong_copy_of_a_batch_that_was_swapped_since_has_the_records_it_was_made_of() -> None:
    """Two bugs at a time: the truth asks which records a leader had, not of which batch its copy was made."""
    both = frozenset({Bug.FOLLOWER_WRITES_OTHER_BYTES, Bug.SWAPPED_BATCHES})
    assert simulate(draw_case(1000000017, both)).manifested == both
