"""Several runs in one process: exit code, what is printed, what is left in the run directory."""

import json
import sys
from pathlib import Path

import pytest
from fakes.run.run_steps import Judges

from checkers.verdict.algebra import Verdict
from harness.campaign.suite import Options, first_manifest, run_suite
from harness.report.report import Report, worst_exit_code
from harness.run_directory.layout import open_run
from harness.run_directory.manifest import read_manifest
from harness.scenario.resolve import Resolved, resolve

SCENARIO = """\
name: demo
topics: [{name: orders, partitions: 2, replication: 3}]
workload: {lasts: 0s, tail: 0s}
"""


def scenarios(*seeds: int) -> list[Resolved]:
    return [resolve(SCENARIO, "demo.yaml", seed=seed) for seed in seeds]


def options(tmp_path: Path) -> Options:
    return Options(out=tmp_path, progress=sys.stdout, argv=("run", "demo"))


@pytest.mark.parametrize(
    ("verdicts", "code"),
    [
        ("PASS PASS", 0),
        ("PASS UNKNOWN", 3),
        ("UNKNOWN ERROR PASS", 4),
        ("ERROR FAIL UNKNOWN", 1),
        ("", 4),
    ],
)
def test_a_suite_exits_with_the_worst_of_its_runs(verdicts: str, code: int) -> None:
    reports = [Report(run_dir=Path(), verdict=Verdict(word), outcome="") for word in verdicts.split()]
    assert worst_exit_code(reports) == code


def test_each_run_begins_and_ends_with_its_seed_and_its_directory(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    result = run_suite(scenarios(11, 12), Judges(Verdict.PASS, Verdict.UNKNOWN), options(tmp_path))
    assert (result.exit_code, result.interrupted_by) == (3, None)
    assert [(report.name, report.outcome) for report in result.reports] == [
        ("demo, seed 11", "judged 11"),
        ("demo, seed 12", "judged 12"),
    ]
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("seed 11  scenario demo  ")
    assert lines[lines.index("PASS  judged 11") + 1] == lines[0].replace("  scenario demo", "")


def test_a_run_directory_holds_the_resolved_scenario_the_manifest_and_the_verdict(tmp_path: Path) -> None:
    run_suite(scenarios(11), Judges(Verdict.PASS), options(tmp_path))
    run = open_run(tmp_path / "latest")
    assert resolve(run.scenario.read_text(), "scenario.yaml") == scenarios(11)[0]
    manifest = read_manifest(run)
    assert (manifest.scenario, manifest.seed, manifest.argv) == ("demo", 11, ("run", "demo"))
    assert (manifest.state, manifest.run_id, manifest.images) == (
        "complete",
        "fake",
        ("highwater/kafka:fake",),
    )
    written = json.loads(run.verdict.read_text())
    assert (written["schema_version"], written["verdict"], written["outcome"]) == (1, "PASS", "judged 11")
    assert run.summary.read_text() == "# PASS\n\njudged 11\n"


def test_the_manifest_keeps_no_secret_of_the_command_line() -> None:
    argv = ("accept", "mine.yaml", "--set", "producer.sasl.jaas.config=hush", "--client=sasl.password=hush")
    kept = first_manifest(scenarios(1)[0], argv).argv
    assert kept == ("accept", "mine.yaml", "--set", "producer.sasl.jaas.config=…", "--client=…")


def test_after_a_ctrl_c_no_further_run_begins_and_the_exit_code_is_130(tmp_path: Path) -> None:
    steps = Judges(Verdict.PASS, Verdict.PASS)
    steps.presses = {"run_faults": 1}
    assert run_suite(scenarios(11, 12), steps, options(tmp_path)).exit_code == 130
    assert steps.taken.count("cluster") == 1


def test_a_ctrl_c_while_the_cluster_starts_ends_with_130_and_no_verdict(tmp_path: Path) -> None:
    steps = Judges(Verdict.PASS)
    steps.presses = {"make_topics": 1}
    assert run_suite(scenarios(11), steps, options(tmp_path)).exit_code == 130
    assert steps.taken[-1] == "cluster removed"
    assert not (tmp_path / "latest" / "verdict.json").exists()
