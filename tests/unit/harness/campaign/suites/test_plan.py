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


LONG = "o" * 194


def test_all_that_is_wrong_in_the_entries_of_a_suite_has_its_place(tmp_path: Path) -> None:
    """As the command line has not been told: it is the file that must be changed."""
    (tmp_path / "long.yaml").write_text(f"name: long\ntopics: [{{name: {LONG}}}]\n")
    (tmp_path / "wrong.yaml").write_text("name: wrong\ntopics: [{name: orders, replication: 4}]\n")
    text = """\
name: mine
scenarios:
  - {scenario: storn}
  - {scenario: nope/x.yaml}
  - {scenario: storm, set: [workload.acks=all, workload.foo=1]}
  - {scenario: baseline, set: [workload.rate]}
  - {scenario: wrong.yaml}
  - {scenario: long.yaml}
  - {scenario: "a\\0.yaml"}
  - {scenario: baseline, at_least: 3, at_most: 2}
"""
    with pytest.raises(ScenarioError) as refused:
        read_plan(written(tmp_path, text))
    file = tmp_path / "mine.yaml"
    places = [complaint.split(" ", 2) for complaint in refused.value.complaints]
    assert [(place, key, text[:40]) for place, key, text in places] == [
        (f"{file}:3:16:", "scenarios[0].scenario:", "unknown 'storn'; did you mean storm? all"),
        (f"{file}:4:16:", "scenarios[1].scenario:", "nope/x.yaml: cannot be read: No such fil"),
        (f"{file}:5:48:", "scenarios[2].set[1]:", "workload.foo: unknown key 'foo'; allowed"),
        (f"{file}:6:32:", "scenarios[3].set[0]:", "expected key=value, for example --set wo"),
        (f"{tmp_path / 'wrong.yaml'}:2:38:", "topics[0].replication:", "4 replicas do not fit on 3 brokers"),
        (f"{file}:8:16:", "scenarios[5].scenario:", f"its topic {'o' * 20}… has 194 letters, and each "[:40]),
        (f"{file}:9:16:", "scenarios[6].scenario:", "a\0.yaml: cannot be read: embedded null b"),
        (f"{file}:10:36:", "scenarios[7].at_least:", "3 is more than at_most: 2"),
    ]


def test_a_suite_is_read_as_a_scenario_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the locale is, and no more of it than a scenario may have."""
    monkeypatch.setattr("io.text_encoding", lambda given, *_: given or "ascii")
    text = "name: mine\nabout: größer\nscenarios: [{scenario: storm}]\n"
    (tmp_path / "mine.yaml").write_bytes(text.encode())
    assert read_plan(str(tmp_path / "mine.yaml")).about == "größer"
    (tmp_path / "mine.yaml").write_bytes(b" " * (5 << 20) + b"\xff")
    with pytest.raises(ScenarioError, match="the text is too large"):
        read_plan(str(tmp_path / "mine.yaml"))


def test_the_catalogue_is_run_no_more_often_than_a_scenario_of_a_file() -> None:
    with pytest.raises(UsageError, match="repeat: 1001 runs of each scenario; allowed: at most 1000"):
        read_plan("catalogue", repeat=1001)
