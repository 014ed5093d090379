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


def test_the_nightly_suite_demands_every_shipped_scenario_at_least_once() -> None:
    plan = read_plan("nightly")
    assert shipped_suites() == ["nightly"]
    assert sorted(entry.scenario for entry in plan.scenarios) == shipped()
    assert {entry.at_least for entry in plan.scenarios} == {1}


def test_a_scenario_beside_the_suite_is_found_from_anywhere(tmp_path: Path) -> None:
    (tmp_path / "own.yaml").write_text("name: own\ntopics: [{name: orders}]\n")
    plan = read_plan(written(tmp_path, "name: mine\nscenarios: [{scenario: own.yaml}, {scenario: storm}]\n"))
    assert [entry.scenario for entry in plan.scenarios] == [str(tmp_path / "own.yaml"), "storm"]


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("name: mine\nscenarios: []\n", "mine.yaml:2:12: scenarios: "),
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
