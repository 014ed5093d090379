"""The commands that need a machine, with fakes in its place: run, setup, doctor, clean."""

import json
from pathlib import Path

import pytest
from fakes.run.run_steps import Judges

from checkers.verdict.algebra import Verdict
from compose.cleanup import cleanup, leftovers
from compose.docker import images
from compose.errors import EngineUnreachable
from compose.setup import doctor, engine, java, prepare
from compose.setup.doctor import Check
from harness.cli import main
from harness.run.live import live_steps
from spark_verify import make_class_archive

SCENARIO = """\
name: demo
topics: [{name: orders, partitions: 2, replication: 3}]
workload: {lasts: 0s, tail: 0s}
"""


@pytest.fixture
def run_demo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """`highwater run demo.yaml …` with the given verdicts; returns its exit code."""
    (tmp_path / "demo.yaml").write_text(SCENARIO)
    monkeypatch.setattr(prepare, "ensure_images", lambda release, on_line: on_line(f"images of {release}"))
    monkeypatch.setattr(leftovers, "of_dead_runs", lambda: ())

    def run(*options: str, verdicts: tuple[Verdict, ...]) -> int:
        steps = Judges(*verdicts)
        monkeypatch.setattr(live_steps, "LiveRunSteps", lambda spark_master: steps)
        return main(["run", str(tmp_path / "demo.yaml"), "--out", str(tmp_path / "runs"), *options])

    return run


def test_several_runs_end_with_a_table_and_the_worst_exit_code(run_demo, capsys):
    assert run_demo("--repeat", "2", "--seed", "11", verdicts=(Verdict.PASS, Verdict.UNKNOWN)) == 3
    lines = capsys.readouterr().out.splitlines()
    seeds, prepared, first = lines[:3]
    assert (seeds.split()[:2], prepared) == (["seeds", "11"], "images of 4.3.1")
    assert first.startswith("seed 11  scenario demo  ")
    second = seeds.split()[2]
    assert lines[-3:] == [
        f"demo, seed 11{' ' * (len(second) - 2)}  judged 11 — PASS",
        f"demo, seed {second}  judged {second} — UNKNOWN",
        "2 runs: 1 UNKNOWN, 1 PASS",
    ]


def test_with_json_stdout_holds_nothing_else(run_demo, capsys):
    options = ("--json", "--repeat", "2", "--seed", "11")
    assert run_demo(*options, verdicts=(Verdict.PASS, Verdict.PASS)) == 0
    printed = capsys.readouterr()
    first, second = json.loads(printed.out)
    assert (first["verdict"], first["outcome"], second["verdict"]) == ("PASS", "judged 11", "PASS")
    assert "seed 11" in printed.err


def test_one_run_is_one_json_document(run_demo, capsys):
    assert run_demo("--json", "--seed", "11", verdicts=(Verdict.FAIL,)) == 1
    assert json.loads(capsys.readouterr().out)["outcome"] == "judged 11"


def test_setup_prepares_the_machine_and_then_sparks_class_archive(monkeypatch, capsys):
    monkeypatch.setattr(
        prepare, "prepare_machine", lambda *, docker, on_line: on_line(f"machine, docker {docker}")
    )
    monkeypatch.setattr(make_class_archive, "prepare_archive", lambda on_line: on_line("archive"))
    assert main(["setup"]) == 0
    assert main(["setup", "--no-docker"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "highwater: machine, docker True",
        "highwater: archive",
        "highwater: machine, docker False",
        "highwater: archive",
    ]


def test_setup_can_be_undone(monkeypatch, capsys):
    removed: list[str] = []
    monkeypatch.setattr(images, "remove_ours", lambda: ("highwater/base:x",))
    monkeypatch.setattr(make_class_archive, "remove_archives", lambda: removed.append("archives"))
    assert main(["setup", "--remove"]) == 0
    assert (capsys.readouterr().out, removed) == ("highwater: removed image highwater/base:x\n", ["archives"])


def test_a_machine_without_docker_is_one_line_and_an_exit_code_but_no_traceback(monkeypatch, capsys):
    def refuse(on_line: object) -> bool:
        raise EngineUnreachable("Docker Engine is not installed\n    next step: install it")

    monkeypatch.setattr(java, "ensure_java", lambda on_line: java.Java(home=Path("/java")))
    monkeypatch.setattr(engine, "ensure_engine", refuse)
    assert main(["setup"]) == 4
    assert capsys.readouterr().err == (
        "highwater: Docker Engine is not installed\n    next step: install it\n"
    )


def test_ctrl_c_ends_set_up_without_a_traceback(monkeypatch, capsys):
    def interrupt(on_line: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(java, "ensure_java", interrupt)
    assert main(["setup"]) == 130
    assert capsys.readouterr().err == ""


def test_the_doctor_prints_what_is_missing_with_its_reason_and_the_next_step(monkeypatch, capsys):
    checks = (
        Check(name="java", ok=True, seen="Java 17", why="for Spark", next_step=""),
        Check(name="memory", ok=False, seen="1 GiB", why="for brokers", next_step="free some"),
    )
    monkeypatch.setattr(doctor, "examine", lambda: checks)
    assert main(["doctor"]) == 4
    assert capsys.readouterr().out.splitlines() == [
        "ok       java: Java 17",
        "MISSING  memory: 1 GiB",
        "         why: for brokers",
        "         next step: free some",
    ]
    assert main(["doctor", "--json"]) == 4
    assert json.loads(capsys.readouterr().out)[0] == {
        "name": "java",
        "ok": True,
        "seen": "Java 17",
        "why": "for Spark",
        "next_step": "",
    }


def test_clean_without_an_engine_is_one_sentence(monkeypatch, capsys):
    def refuse() -> None:
        raise EngineUnreachable("no Docker Engine answers")

    monkeypatch.setattr(cleanup, "clean_dead", refuse)
    assert main(["clean"]) == 4
    assert capsys.readouterr().err == "highwater: no Docker Engine answers\n"


def test_clean_reports_what_could_not_be_removed(monkeypatch, capsys):
    monkeypatch.setattr(cleanup, "clean_all", lambda: cleanup.CleanReport(failed=("disk 1: busy",)))
    assert main(["clean", "--all"]) == 4
    assert capsys.readouterr().err == "highwater: 1 things could not be removed; try again\n"
