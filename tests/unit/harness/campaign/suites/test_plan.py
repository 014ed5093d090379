"""What a suite file may say, and how it is refused."""

from pathlib import Path

import pytest

from harness.campaign.suites.plan import read_plan, shipped_suites
from harness.errors import ScenarioError, UsageError
from harness.scenario.resolve import shipped


def written(tmp_path: Path, text: str) -> str:
    file = tmp_path / "mine.yaml"
    file.write_text(text)
    return str(file)


def test_the_nightly_suite_draws_every_shipped_scenario_and_demands_some() -> None:
    plan = read_plan("nightly")
    assert sorted(entry.scenario for entry in plan.scenarios) == shipped()
    assert sum(entry.at_least for entry in plan.scenarios) == 9
    assert not plan.ends_by_itself


def test_the_catalogue_is_every_shipped_scenario_once_or_as_often_as_is_asked_for() -> None:
    once, thrice = read_plan("catalogue"), read_plan("catalogue", repeat=3)
    assert shipped_suites() == ["catalogue", "nightly"]
    assert [entry.scenario for entry in once.scenarios] == shipped()
    assert {(entry.at_least, entry.at_most) for entry in once.scenarios} == {(1, 1)}
    assert {(entry.at_least, entry.at_most) for entry in thrice.scenarios} == {(3, 3)}
    assert once.ends_by_itself


def test_how_often_is_a_question_to_the_catalogue_only() -> None:
    with pytest.raises(UsageError) as refused:
        read_plan("nightly", repeat=3)
    assert str(refused.value) == (
        "repeat: it belongs to the suite catalogue; a suite's file has a key of this name"
    )


def test_a_scenario_beside_the_suite_is_found_from_anywhere(tmp_path: Path) -> None:
    (tmp_path / "own.yaml").write_text("name: own\ntopics: [{name: orders}]\n")
    plan = read_plan(written(tmp_path, "name: mine\nscenarios: [{scenario: own.yaml}, {scenario: storm}]\n"))
    assert [entry.scenario for entry in plan.scenarios] == [str(tmp_path / "own.yaml"), "storm"]


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("name: mine\nscenarios: []\n", "mine.yaml:2:12: scenarios: "),
        ("", "mine.yaml:1:1: a suite is a map of keys, found an empty file"),
        ("name: mine\nscenarios: [{scenario: storm, wieght: 2}]\n", "did you mean weight?"),
        ("name: mine\nscenarios: [{scenario: storm, weight: 0}]\n", "mine.yaml:2:39: scenarios[0].weight"),
        (
            "name: mine\nscenarios: [{scenario: storm, at_least: 3, at_most: 2}]\n",
            "mine.yaml:2:41: scenarios[0].at_least: 3 is more than at_most: 2",
        ),
    ],
)
def test_what_cannot_be_is_refused_with_its_place(tmp_path: Path, text: str, complaint: str) -> None:
    with pytest.raises(ScenarioError) as refused:
        read_plan(written(tmp_path, text))
    assert complaint in str(refused.value)


def test_a_suite_that_is_not_there_is_named_with_those_that_are() -> None:
    with pytest.raises(UsageError, match="did you mean nightly"):
        read_plan("nigthly")
