"""`highwater suite` on the command line: what is refused before anything starts, and with which words."""

from pathlib import Path

import pytest
from fakes.run.run_steps import FakeRunSteps

from compose.setup import prepare
from harness.cli import main
from harness.run.live import live_steps


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ([], "suite: give the name or file of a suite, or --resume DIR"),
        (["nightly"], "suite: give a --budget, as in --budget 60m"),
        (["nightly", "--resume", "runs/x"], "suite: give the name or file of a suite, or --resume DIR"),
        (
            ["nigthly", "--budget", "1m"],
            "suite: unknown 'nigthly'; did you mean nightly? allowed: catalogue, nightly",
        ),
        (["nightly", "--budget", "1m", "--shard", "3/2", "--seed", "1"], "shard: '3/2' is not a shard"),
        (["nightly", "--budget", "1m", "--shard", "1/2"], "shard: all parts of a draw need the same seed"),
        (
            ["--resume", "runs/x", "--seed", "1"],
            "suite: --resume goes on with the seed, the shard and the repeats",
        ),
        (["--resume", "runs/x", "--repeat", "2"], "suite: --resume goes on with the seed, the shard and"),
        (["nightly", "--budget", "1m", "--repeat", "2"], "repeat: it belongs to the suite catalogue; "),
        (["--resume", "no-such-suite"], "no-such-suite: not the directory of a suite"),
    ],
)
def test_what_cannot_be_is_refused_in_one_sentence(
    arguments: list[str],
    complaint: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["suite", *arguments]) == 2
    assert capsys.readouterr().err.startswith(f"highwater: {complaint}")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("budget", ["60", "-1m", "0s", "soon"])
def test_a_budget_has_a_unit_and_is_more_than_nothing(
    budget: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["suite", "nightly", f"--budget={budget}"]) == 2
    assert "--budget" in capsys.readouterr().err


def test_a_suite_that_ends_by_itself_needs_no_budget_and_leaves_its_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    nothing = "name: own\ntopics: [{name: orders}]\nworkload: {lasts: 0s, tail: 0s}\n"
    (tmp_path / "own.yaml").write_text(nothing)
    suite = tmp_path / "mine.yaml"
    set_more = "{scenario: own.yaml, at_most: 1, set: [workload.acks=1]}"
    suite.write_text(f"name: mine\nscenarios: [{{scenario: own.yaml, at_most: 2}}, {set_more}]\n")
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setattr(prepare, "ensure_images", lambda release, on_line: None)
    monkeypatch.setattr(live_steps, "LiveRunSteps", lambda spark_master: FakeRunSteps())
    assert main(["suite", str(suite), "--out", str(tmp_path / "runs")]) == 0
    printed = capsys.readouterr().out
    assert "3 runs: 3 PASS" in printed
    assert printed.splitlines()[-4:] == [
        "scenario  expected   observed",
        "own       not known  not known",
        "own       not known  not known",
        "  with workload.acks=1",
    ]
    (made,) = (tmp_path / "runs").iterdir()
    page = (made / "observed.md").read_text().splitlines()
    assert page[4].startswith(
        "| `own` | not known | not known | not known | none is asked for | not known | "
    )
    assert page[4].endswith(" s | 2 PASS |")
    assert page[5].startswith("| `own`<br>with `workload.acks=1` | not known | ")
    assert page[7].startswith("The suite took ")


def test_a_scenario_of_a_suite_that_cannot_work_is_refused_before_anything_starts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "own.yaml").write_text("name: own\ntopics: [{name: orders, replication: 4}]\n")
    suite = tmp_path / "mine.yaml"
    suite.write_text("name: mine\nscenarios: [{scenario: own.yaml}]\n")
    assert main(["suite", str(suite), "--budget", "1m", "--out", str(tmp_path / "runs")]) == 2
    place = f"{tmp_path / 'own.yaml'}:2:38: topics[0].replication"
    assert capsys.readouterr().err == f"highwater: {place}: 4 replicas do not fit on 3 brokers\n"
    assert not (tmp_path / "runs").exists()
