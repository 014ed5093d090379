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
