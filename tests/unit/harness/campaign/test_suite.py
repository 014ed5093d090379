"""Several runs in one process: seeds, exit code, what is printed on which stream."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from fakes.run_steps import FakeRooms

from checkers.verdict.algebra import Verdict
from harness.campaign.suite import Options, derived_seeds, run_suite
from harness.report.report import Report, worst_exit_code
from harness.run_directory.layout import RunDir, open_run
from harness.scenario.resolve import Resolved, resolve

SCENARIO = """\
name: demo
topics: [{name: orders, partitions: 2, replication: 3}]
workload: {lasts: 0s, tail: 0s}
"""


class Judges(FakeRooms):
    """Rooms whose judge says one verdict after the other."""

    def __init__(self, *verdicts: Verdict) -> None:
        super().__init__()
        self.verdicts = list(verdicts)

    def judge(self, run: RunDir) -> Report:
        self.verdict = self.verdicts.pop(0)
        return replace(super().judge(run), outcome=f"judged {run.read_manifest()['seed']}")


def orders(*seeds: int) -> list[Resolved]:
    return [resolve(SCENARIO, "demo.yaml", seed=seed) for seed in seeds]


def options(tmp_path: Path, *, as_json: bool = False) -> Options:
    return Options(out=tmp_path, as_json=as_json, argv=("run", "demo"))


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
    reports = [Report(verdict=Verdict(word), outcome="") for word in verdicts.split()]
    assert worst_exit_code(reports) == code


def test_derived_seeds_begin_with_the_first_differ_and_repeat() -> None:
    assert derived_seeds(7, 3) == derived_seeds(7, 5)[:3]
    assert derived_seeds(7, 5)[0] == 7
    assert len(set(derived_seeds(7, 50))) == 50


def test_the_seed_is_told_first_and_last_and_a_table_ends_the_suite(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rooms = Judges(Verdict.PASS, Verdict.UNKNOWN)
    assert run_suite(orders(11, 12), rooms, options(tmp_path)) == 3
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("seed 11  scenario demo  ")
    assert lines[lines.index("PASS  judged 11") + 1] == lines[0].replace("  scenario demo", "")
    assert lines[-3:] == [
        "demo, seed 11  judged 11 — PASS",
        "demo, seed 12  judged 12 — UNKNOWN",
        "2 runs: 1 UNKNOWN, 1 PASS",
    ]


def test_with_json_stdout_holds_nothing_else(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_suite(orders(11, 12), Judges(Verdict.PASS, Verdict.PASS), options(tmp_path, as_json=True)) == 0
    told = capsys.readouterr()
    assert [document["outcome"] for document in json.loads(told.out)] == ["judged 11", "judged 12"]
    assert "seed 11" in told.err


def test_a_run_directory_holds_the_resolved_scenario_the_manifest_and_the_verdict(tmp_path: Path) -> None:
    run_suite(orders(11), Judges(Verdict.PASS), options(tmp_path))
    run = open_run(tmp_path / "latest")
    assert resolve(run.scenario.read_text(), "scenario.yaml") == orders(11)[0]
    manifest = run.read_manifest()
    assert (manifest["scenario"], manifest["seed"], manifest["argv"]) == ("demo", 11, ["run", "demo"])
    told = json.loads(run.verdict.read_text())
    assert (told["schema_version"], told["verdict"], told["outcome"]) == (1, "PASS", "judged 11")
    assert run.summary.read_text() == "# PASS\n\njudged 11\n"


def test_after_a_ctrl_c_no_further_run_begins_and_the_exit_code_is_130(tmp_path: Path) -> None:
    rooms = Judges(Verdict.PASS, Verdict.PASS)
    rooms.presses = {"run_faults": 1}
    assert run_suite(orders(11, 12), rooms, options(tmp_path)) == 130
    assert rooms.taken.count("cluster") == 1


def test_a_ctrl_c_while_the_cluster_starts_ends_with_130_and_no_verdict(tmp_path: Path) -> None:
    rooms = Judges(Verdict.PASS)
    rooms.presses = {"make_topics": 1}
    assert run_suite(orders(11), rooms, options(tmp_path)) == 130
    assert rooms.taken[-1] == "cluster removed"
    assert not (tmp_path / "latest" / "verdict.json").exists()
