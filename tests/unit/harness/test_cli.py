"""The command line without a cluster: exit codes, messages, lists."""

import errno
import json
import os
import subprocess
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path

import pytest

from harness import api, commands
from harness.campaign.suites import directory
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


SHOW = "from harness.cli import main; raise SystemExit(main(['scenario', 'show', 'baseline']))"


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_reader_that_goes_away_is_no_verdict(unbuffered: str) -> None:
    """`highwater … | head` must not end with 1, which means FAIL, nor with another verdict's code."""
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run(
        [sys.executable, "-c", SHOW],
        stdout=write,
        stderr=subprocess.PIPE,
        check=False,
        timeout=60,
        env={**os.environ, "PYTHONUNBUFFERED": unbuffered},
    )
    os.close(write)
    assert (done.returncode, done.stderr) == (141, b"")


HELP = SHOW.replace("['scenario', 'show', 'baseline']", "['--help']")
VERSION = SHOW.replace("['scenario', 'show', 'baseline']", "['--version']")
VALIDATE = SHOW.replace("['scenario', 'show', 'baseline']", "['scenario', 'validate', '-']")


@pytest.mark.parametrize(
    ("command", "streams", "code", "complaint"),
    [
        (SHOW, ">&-", 4, "highwater: standard output is closed"),
        (SHOW, ">/dev/full", 4, "highwater: standard output: No space left on device"),
        (HELP, ">/dev/full", 4, "highwater: standard output: No space left on device"),
        (VERSION, ">/dev/full", 4, "highwater: standard output: No space left on device"),
        (VALIDATE, "<&-", 2, "highwater: <stdin>: cannot be read: it is closed"),
    ],
)
@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_stream_that_cannot_be_used_is_one_sentence(
    command: str, streams: str, code: int, complaint: str, unbuffered: str
) -> None:
    done = subprocess.run(
        ["sh", "-c", f'"$0" -c "$1" {streams}', sys.executable, command],
        capture_output=True,
        check=False,
        timeout=60,
        text=True,
        env={**os.environ, "PYTHONUNBUFFERED": unbuffered},
    )
    assert (done.returncode, done.stderr) == (code, f"{complaint}\n")


def test_a_full_disk_of_a_command_is_not_taken_for_a_full_standard_output(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    def broken(arguments: object) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(commands, "doctor", broken)
    assert main(["doctor"]) == 4
    assert capfd.readouterr().err.startswith("highwater: internal error: OSError: [Errno 28] No space left")


@pytest.mark.parametrize("master", ["bogus", "local[0]", "local[]", "spark://", "local[*]\n"])
def test_what_is_no_master_of_spark_is_refused_before_it_is_started(
    master: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["check", "absent-run", "--spark-master", master]) == 2
    assert "is no master of Spark; allowed: local, local[2], local[*]" in capsys.readouterr().err


@pytest.mark.parametrize(
    "master", ["local", "local[2]", "local[*,3]", "spark://a:7077,b:7077", "k8s://https://a:6443", "yarn"]
)
def test_each_form_of_a_master_is_taken(master: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "absent-run", "--spark-master", master]) == 2
    assert "no such directory" in capsys.readouterr().err


def test_tags_that_no_scenario_has_together_are_said(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["scenario", "list", "--tag", "network", "--tag", "clocks"]) == 0
    assert capsys.readouterr().out == "no scenario has network and clocks together\n"


def test_a_list_is_no_wider_than_the_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    assert main(["scenario", "list", "--tag", "elr"]) == 0
    narrow = capsys.readouterr().out
    monkeypatch.setenv("COLUMNS", "")
    assert main(["scenario", "list", "--tag", "elr"]) == 0
    assert max(map(len, narrow.splitlines())) <= 60
    assert narrow.split() == capsys.readouterr().out.split()


@pytest.mark.parametrize(
    "command", [["accept", "payments", "--no-proof"], ["accept", "matrix", "--no-proof"]]
)
def test_an_answer_is_no_wider_than_the_terminal(
    command: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "72")
    assert main(command) == 0
    lines = capsys.readouterr().out.splitlines()
    assert all(len(line) <= 72 or len(line.split()) == 1 for line in lines)


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["run", "baseline", "--kafka", ""], "--set cluster.kafka=: cluster.kafka: "),
        (["suite", "catalogue", "--shard", ""], "shard: '' is not a shard"),
    ],
)
def test_an_empty_value_is_not_taken_for_none(
    arguments: list[str],
    complaint: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """As of a variable that a CI job has not set: each machine would run everything."""

    def started(*_: object) -> None:
        raise AssertionError("a run begins")

    monkeypatch.setattr(api, "run_all", started)
    monkeypatch.setattr(directory, "create", started)
    assert main([*arguments, "--out", str(tmp_path / "runs")]) == 2
    assert capsys.readouterr().err.startswith(f"highwater: {complaint}")
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (
            ["--bootstrap", "nonsense"],
            "bootstrap: 'nonsense' is no address; write host:port, as localhost:9092",
        ),
        (["--bootstrap", "127.0.0.1:1", "--client", "foo=bar"], "client: No such configuration property: "),
    ],
)
def test_a_cluster_that_cannot_be_asked_as_it_is_given_is_wrong_usage(
    arguments: list[str], complaint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["accept", "--from-topic", "t", "--no-proof", *arguments]) == 2
    assert capsys.readouterr().err.startswith(f"highwater: accept: {complaint}")


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
