"""The command line without a cluster: exit codes, messages, lists."""

import json
import os
import subprocess
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path

import pytest

from harness import commands
from harness.cli import main
from harness.scenario.resolve import SHIPPED


def test_an_unknown_scenario_is_a_usage_error_with_the_nearest_name(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["run", "strom"]) == 2
    assert capsys.readouterr().err.startswith(
        "highwater: scenario: unknown 'strom'; did you mean storm? allowed:"
    )


def test_a_scenario_error_is_printed_as_file_line_column_before_anything_starts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text("name: mine\ntopics: [{name: orders, replication: 4}]\n")
    assert main(["run", "--out", str(tmp_path / "runs"), "baseline", str(file)]) == 2
    printed = capsys.readouterr()
    assert (
        printed.err == f"highwater: {file}:2:38: topics[0].replication: 4 replicas do not fit on 3 brokers\n"
    )
    assert printed.out == ""
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["run"],
        ["fly"],
        ["run", "baseline", "--seed", "-1"],
        ["run", "baseline", "--seed", "many"],
        ["run", "baseline", "--repeat", "0"],
        ["run", "baseline", "--set", "workload.acks=9"],
        ["run", "baseline", "--kafka", "latest"],
        ["scenario", "show", "nothing"],
        ["scenario", "validate", "absent.yaml"],
        ["check", "absent-run"],
    ],
)
def test_wrong_usage_exits_with_2_and_without_a_traceback(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 2
    assert "Traceback" not in capsys.readouterr().err


def test_help_exits_with_0(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    assert "Exit codes: 0 PASS, 1 FAIL" in capsys.readouterr().out


def test_the_version_is_that_of_the_package(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"highwater {version('highwater')}\n"


def test_a_client_setting_that_the_client_does_not_take_is_refused_before_anything_starts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text("name: mine\ntopics: [{name: orders}]\nworkload:\n  client: {acks.all: true}\n")
    assert main(["scenario", "validate", str(file)]) == 2
    assert capsys.readouterr().err == (
        f"highwater: {file}:4:12: workload.client.acks.all: the client has no setting 'acks.all'; "
        "did you mean acks?\n"
    )


def test_the_list_of_scenarios_is_readable_by_machines_too(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["scenario", "list", "--json"]) == 0
    entries = {entry["name"]: entry for entry in json.loads(capsys.readouterr().out)}
    assert entries["acks1-leader-kill"]["expect"] == "permitted"
    assert entries["acks1-leader-kill"]["faults"] == 2


def test_a_shown_scenario_is_the_file_itself(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["scenario", "show", "acks1-leader-kill"]) == 0
    shown = capsys.readouterr().out
    assert shown == (SHIPPED / "leader-failure" / "acks1-leader-kill.yaml").read_text()


def test_a_valid_scenario_is_described_in_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["scenario", "validate", "power-failure-all", "--set", "cluster.kafka=3.9.1"]) == 0
    assert capsys.readouterr().out == (
        "power-failure-all: valid. power-failure-all: Kafka 3.9.1, power-loss brokers\n"
    )


def test_a_crash_of_the_tool_is_one_sentence_and_exit_4(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    def broken(arguments: object) -> int:
        raise RuntimeError("a bug")

    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(commands, "doctor", broken)
    assert main(["doctor"]) == 4
    printed = capsys.readouterr().err
    (log,) = tmp_path.iterdir()
    assert printed == f"highwater: internal error: RuntimeError: a bug; the traceback is in {log}\n"
    assert log.read_text().endswith("RuntimeError: a bug\n")


def test_a_crash_on_a_full_disk_is_one_sentence_too(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    def broken(arguments: object) -> int:
        raise OSError("no space left")

    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "not there"))
    monkeypatch.setattr(commands, "doctor", broken)
    assert main(["doctor"]) == 4
    printed = capsys.readouterr().err
    assert printed.startswith("highwater: internal error: OSError: no space left; the traceback could not be")
    assert printed.count("\n") == 1


def test_a_reader_that_goes_away_is_no_verdict() -> None:
    """`highwater … | head` must not end with 1, which means FAIL."""
    read, write = os.pipe()
    os.close(read)
    listing = [
        sys.executable,
        "-c",
        "from harness.cli import main; raise SystemExit(main(['scenario', 'list']))",
    ]
    done = subprocess.run(listing, stdout=write, stderr=subprocess.PIPE, check=False, timeout=60)
    os.close(write)
    assert (done.returncode, done.stderr) == (4, b"")


HIGHWATER = [sys.executable, "-c", "from harness.cli import main; raise SystemExit(main())"]


@pytest.mark.parametrize("arguments", [["scenario", "show", "nothing"], ["run", "nothing", "--seed", "x"]])
@pytest.mark.parametrize("reader", ["full disk", "nobody"])
def test_an_error_that_nobody_can_be_told_keeps_its_exit_code(arguments: list[str], reader: str) -> None:
    """Python itself would end with 1, which means FAIL, or with 120."""
    read, write = os.pipe() if reader == "nobody" else (None, os.open("/dev/full", os.O_WRONLY))
    if read is not None:
        os.close(read)
    done = subprocess.run(
        [*HIGHWATER, *arguments], stdout=subprocess.PIPE, stderr=write, check=False, timeout=60
    )
    os.close(write)
    assert (done.returncode, done.stdout) == (2, b"")


@pytest.mark.parametrize(
    ("option", "value", "allowed"),
    [
        ("--seed", "abc", "a whole number from 0 to 2^63-1"),
        ("--seed", "٥", "a whole number from 0 to 2^63-1"),
        ("--seed", "9223372036854775808", "a whole number from 0 to 2^63-1"),
        ("--repeat", "x", "a whole number from 1 to 1000"),
        ("--repeat", "1001", "a whole number from 1 to 1000"),
    ],
)
def test_a_wrong_number_is_refused_with_what_is_allowed(
    option: str, value: str, allowed: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", "no-such-scenario", option, value]) == 2
    refusal = f"argument {option}: {value!r} is refused; allowed: {allowed}\n"
    assert capsys.readouterr().err.endswith(refusal)


def test_tags_that_no_scenario_has_together_are_said_to_be_so(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["scenario", "list", "--tag", "network", "--tag", "clocks"]) == 0
    assert capsys.readouterr().out == "no scenario has all of these tags\n"
