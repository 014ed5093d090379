"""Every situation has a scenario of the library, and every scenario of the library its situation."""

from itertools import groupby

import pytest

from harness.scenario.resolve import find, resolve, shipped
from harness.scenario.situations import SITUATIONS, WITHOUT_NUMBER, Situation


def test_the_situations_are_numbered_without_a_gap_and_variants_by_letters() -> None:
    split = [(int(its.number.rstrip("abcd")), its.number.lstrip("0123456789")) for its in SITUATIONS]
    assert [number for number, _ in groupby(number for number, _ in split)] == list(range(26))
    for _, of in groupby(split, key=lambda each: each[0]):
        letters = "".join(letter for _, letter in of)
        assert letters == "abcd"[: len(letters)]


def test_each_scenario_of_the_library_is_in_one_situation() -> None:
    named = [name for its in SITUATIONS for name in its.scenarios] + list(WITHOUT_NUMBER)
    assert sorted(named) == sorted(shipped())


@pytest.mark.parametrize("its", [its for its in SITUATIONS if its.milder], ids=lambda its: its.number)
def test_what_is_milder_is_said_in_full(its: Situation) -> None:
    for each in its.milder:
        assert len({each.textbook, each.shipped, each.why}) == 3
        assert "|" not in each.textbook + each.shipped + each.why


LOSES = {"1", "2", "3", "5a", "5b", "5c", "6a", "9a", "9c", "12a", "13", "22", "24"}
"""In the textbook: with the right configuration or without it, something acknowledged is lost."""


@pytest.mark.parametrize("its", SITUATIONS, ids=lambda its: its.number)
def test_a_situation_that_loses_has_a_scenario_that_must_and_one_that_keeps_has_one_that_may_not(
    its: Situation,
) -> None:
    expected = {resolve(*find(name), seed=1).scenario.expect.acked_loss for name in its.scenarios}
    assert ("permitted" if its.number in LOSES else "none") in expected


def length_of(name: str, step: str) -> float:
    (hold,) = [each.hold_s for each in resolve(*find(name), seed=1).steps if each.name == step]
    return hold


def test_the_lengths_that_are_said_to_be_shorter_are_those_of_the_schedules() -> None:
    assert length_of("zombie-leader-acks1", "followers") == 12.0
    assert length_of("zombie-leader-acks-all", "followers") == 12.0
    assert resolve(*find("zombie-leader-acks-all"), seed=1).scenario.workload.delivery_timeout_s == 3.0
    assert [length_of("majority-freeze", step) for step in ("first", "second", "third")] == [12.0] * 3
    assert [length_of("leader-bounce", step) for step in ("first", "third", "fifth")] == [6.0] * 3
    assert length_of("slow-leader-offline", "kill") == 14.0
    assert resolve(*find("baseline"), seed=1).scenario.workload.lasts_s == 10.0
