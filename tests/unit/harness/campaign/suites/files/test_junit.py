"""junit.xml, as a parser of somebody else reads it."""

from pathlib import Path

import junitparser
import pytest
from fakes.run.suites import record, row

from harness.campaign.suites.files.junit import write_junit
from harness.campaign.suites.files.record import SuiteRecord


def read(tmp_path: Path, its: SuiteRecord) -> junitparser.TestSuite:
    write_junit(tmp_path, its)
    (suite,) = junitparser.JUnitXml.fromfile(str(tmp_path / "junit.xml"))
    return suite


def kinds(suite: junitparser.TestSuite) -> list[tuple[str, ...]]:
    return [tuple(type(found).__name__ for found in case.result) for case in suite]


def test_each_verdict_is_what_a_dashboard_makes_of_it(tmp_path: Path) -> None:
    """UNKNOWN is not green."""
    verdicts = ("PASS", "FAIL", "UNKNOWN", "ERROR")
    suite = read(tmp_path, record(*(row(at, verdict) for at, verdict in enumerate(verdicts))))
    assert kinds(suite) == [(), ("Failure",), ("Error",), ("Error",)]
    assert (suite.tests, suite.failures, suite.errors, suite.skipped) == (4, 1, 2, 0)
    failure = list(suite)[1].result[0]
    assert (failure.type, failure.message, failure.text) == ("FAIL", "outcome of 1", "report of 1")
    assert list(suite)[2].result[0].type == "UNKNOWN"


def test_a_run_is_named_by_scenario_and_seed_and_has_its_time_and_directory(tmp_path: Path) -> None:
    (case,) = read(tmp_path, record(row(4, "PASS", scenario="storm", seed=99)))
    assert (case.classname, case.name, case.time) == ("small.storm", "storm, seed 99, run 4", 60.5)
    properties = case.child(junitparser.Properties)
    assert {each.name: each.value for each in properties} == {
        "directory": "0004_storm_99",
        "cluster": "cafe",
    }
    assert case.system_out == "report of 4"


def test_an_interrupted_run_is_skipped_and_one_under_way_is_not_there(tmp_path: Path) -> None:
    rows = (row(0, "PASS"), row(1, None, state="interrupted"), row(1, "PASS"), row(2, None, state="running"))
    suite = read(tmp_path, record(*rows))
    assert kinds(suite) == [(), ("Skipped",), ()]
    assert (suite.tests, suite.skipped) == (3, 1)


@pytest.mark.parametrize(
    ("state", "why"),
    [
        ("complete", "the budget was spent before it could be made"),
        ("interrupted", "the suite ended before it was made"),
        ("running", "the suite ended before it was made"),
    ],
)
def test_a_required_run_that_was_not_made_is_an_error(tmp_path: Path, state: str, why: str) -> None:
    suite = read(tmp_path, record(row(0, "PASS"), missing=("storm, run 3",), state=state))
    assert (suite.tests, suite.errors) == (2, 1)
    missing = list(suite)[1]
    assert (missing.classname, missing.name) == ("small.required", "storm, run 3")
    assert missing.result[0].message == why


def test_no_character_that_a_log_may_hold_makes_the_file_unreadable(tmp_path: Path) -> None:
    strange = "a\x00b\x1b[31m <&\"'> \ud800 \uffff é \U0001f600"
    (case,) = read(tmp_path, record(row(0, "FAIL", outcome=strange, report=strange)))
    expected = "a\ufffdb\ufffd[31m <&\"'> \ufffd \ufffd é \U0001f600"
    assert (case.result[0].message, case.result[0].text) == (expected, expected)
