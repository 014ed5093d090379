"""`highwater scenario validate`: several scenarios, standard input, and the plan that a seed gives."""

import io
import re
import sys
from pathlib import Path

import pytest

from harness.cli import main
from harness.scenario.resolve import find, resolve

GOOD = "name: good\ntopics: [{name: orders}]\n"
BAD = "name: bad\ntopics: [{name: orders, replication: 4}]\n"
REFUSED = "topics[0].replication: 4 replicas do not fit on 3 brokers"


def test_each_file_is_described_or_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    good, bad = tmp_path / "good.yaml", tmp_path / "bad.yaml"
    good.write_text(GOOD)
    bad.write_text(BAD)
    assert main(["scenario", "validate", str(bad), str(good), "absent.yaml", "baseline"]) == 2
    printed = capsys.readouterr()
    assert printed.out.splitlines() == [
        "good.yaml: valid. good: Kafka 4.3.1, no faults",
        "baseline: valid. baseline: Kafka 4.3.1, no faults",
    ]
    assert printed.err.splitlines() == [
        f"highwater: {bad}:2:38: {REFUSED}",
        "absent.yaml: cannot be read: No such file or directory",
    ]


def test_standard_input_is_read(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO(GOOD))
    assert main(["scenario", "validate", "-"]) == 0
    assert capsys.readouterr().out == "<stdin>: valid. good: Kafka 4.3.1, no faults\n"
    monkeypatch.setattr(sys, "stdin", io.StringIO(BAD))
    assert main(["scenario", "validate", "-"]) == 2
    assert capsys.readouterr().err == f"highwater: <stdin>:2:38: {REFUSED}\n"


def test_standard_input_that_is_no_text_is_refused(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"\xff"), encoding="utf-8"))
    assert main(["scenario", "validate", "-"]) == 2
    assert capsys.readouterr().err == "highwater: <stdin>: cannot be read: it is not text\n"


def test_a_seed_shows_the_plan_that_a_run_with_it_would_have(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["scenario", "validate", "storm", "--seed", "7"]) == 0
    lines = capsys.readouterr().out.splitlines()
    steps = resolve(*find("storm"), seed=7).steps
    assert lines[1] == "  seed 7"
    assert len(lines) == 2 + len(steps)
    first = steps[0]
    assert lines[2].startswith(f"  - {{name: {first.name}, do: {first.kind}, at: ")
    assert main(["scenario", "validate", "storm", "--seed", "8"]) == 0
    assert capsys.readouterr().out.splitlines()[2:] != lines[2:]


def test_an_hour_of_storm_is_valid_and_counted(capsys: pytest.CaptureFixture[str]) -> None:
    sets = ["--set", "storm.duration=60m", "--set", "storm.intensity=normal"]
    assert main(["scenario", "validate", "storm", "--seed", "7", *sets]) == 0
    first, _, *steps = capsys.readouterr().out.splitlines()
    assert re.match(r"storm: valid\. storm: Kafka 4\.3\.1, \d{3} faults: \d+ [a-z-]+, ", first)
    assert len(steps) > 350


def test_a_plan_is_written_as_a_scenario_has_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    fault = "faults: [{at: 5s, do: kill, target: leader, for: 8s}]\n"
    monkeypatch.setattr(sys, "stdin", io.StringIO(GOOD + fault))
    assert main(["scenario", "validate", "-", "--seed", "3"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "<stdin>: valid. good: Kafka 4.3.1, kill leader(orders-0)",
        "  seed 3",
        "  - {name: kill-1, do: kill, at: 5s, target: leader(orders-0), for: 8s}",
    ]


def test_a_device_without_an_end_is_not_read_to_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["scenario", "validate", "/dev/zero"]) == 2
    assert capsys.readouterr().err == (
        "highwater: /dev/zero:1:1: the text is too large; allowed: at most 2097152 characters\n"
    )
