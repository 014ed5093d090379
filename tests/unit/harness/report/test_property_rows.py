"""How verdict.json and summary.md show the properties, also those of which a run shows nothing."""

from pathlib import Path

from fakes.history.history_rows import history, logged, ok, sample
from fakes.run.run_directories import make_run, reference

from checkers.verdict.algebra import Verdict
from harness.report.judge import judge

KEPT = history(ok(1, 0, at=0), logged(1, 0, 0), sample(1))


def test_what_no_rule_decides_is_in_verdict_json_with_the_reason_and_the_run_passes(tmp_path: Path) -> None:
    report = judge(make_run(tmp_path, KEPT), reference)
    assert report.verdict is Verdict.PASS
    assert report.document["properties"]["torn-batch"] == {
        "status": "not decided",
        "examined": 0,
        "violations": 0,
        "permitted": 0,
        "undecided": 0,
        "undecided_anomalies": 0,
        "causes": {},
        "reason": "not collected: batch headers of the final log",
    }


def test_without_a_reader_what_readers_are_given_does_not_hold(tmp_path: Path) -> None:
    properties = judge(make_run(tmp_path, KEPT), reference).document["properties"]
    assert properties["monotone-read"]["status"] == "nothing examined"
    assert properties["acked-loss"]["status"] == "holds"


def test_the_summary_has_a_row_for_each_decided_property_and_one_line_for_the_others(tmp_path: Path) -> None:
    lines = judge(make_run(tmp_path, KEPT), reference).as_markdown().splitlines()
    assert "| acked-loss | holds | 1 | 0 | 0 | 0 |" in lines
    assert "| monotone-read | nothing examined | 0 | 0 | 0 | 0 |" in lines
    assert not any(line.startswith("| torn-batch") for line in lines)
    (line,) = (line for line in lines if "torn-batch" in line)
    assert line.startswith(
        "Not decided: torn-batch (not collected: batch headers of the final log); one-controller "
    )
