"""The one way to run commands: every end of a command is reported, and none can block."""

import re
import sys
import time
from pathlib import Path

import pytest

from compose.errors import CommandFailed
from compose.host import shell
from compose.host.progress import silent


def test_output_of_a_command_is_returned_as_text():
    done = shell.run(["sh", "-c", "echo out; echo err >&2"], timeout_s=10)
    assert (done.code, done.stdout, done.stderr) == (0, "out\n", "err\n")


def test_a_failing_command_reports_its_words_its_code_and_its_last_lines():
    with pytest.raises(CommandFailed) as raised:
        shell.run(["sh", "-c", "echo the disk is full; exit 3"], timeout_s=10)
    assert str(raised.value) == "sh -c echo the disk is full; exit 3: exit code 3\n    the disk is full"


def test_a_failing_command_is_returned_where_the_caller_looks_itself():
    assert shell.run(["false"], timeout_s=10, check=False).code == 1


def test_a_command_that_does_not_exist_is_named():
    with pytest.raises(CommandFailed, match="highwater-no-such-thing: could not be run: No such file"):
        shell.run(["highwater-no-such-thing"], timeout_s=10)


def test_a_command_that_hangs_is_ended_at_its_deadline():
    begin_s = time.monotonic()
    with pytest.raises(CommandFailed, match=r"not finished after 0\.2 s"):
        shell.run(["sleep", "30"], timeout_s=0.2)
    assert time.monotonic() - begin_s < 5


def test_a_command_cannot_wait_for_input():
    assert shell.run(["cat"], timeout_s=10).stdout == ""


def test_a_long_command_does_not_wait_for_a_daemon_that_it_left_behind():
    begin_s = time.monotonic()
    assert (
        shell.run_logged(["sh", "-c", "sleep 20 & echo started"], timeout_s=18, on_line=silent) == "started\n"
    )
    assert time.monotonic() - begin_s < 15


def test_a_long_command_tells_its_last_line_while_it_runs(monkeypatch):
    monkeypatch.setattr(shell, "HEARTBEAT_S", 0.2)
    lines: list[str] = []
    shell.run_logged(["sh", "-c", "echo unpacking; sleep 0.5"], timeout_s=10, on_line=lines.append)
    assert lines
    assert re.fullmatch(r"\d s: unpacking", lines[0].strip())


def test_a_long_command_is_ended_with_its_children_at_its_deadline(monkeypatch, tmp_path: Path):
    monkeypatch.setattr(shell, "HEARTBEAT_S", 0.1)
    mark = tmp_path / "child-lived-on"
    with pytest.raises(CommandFailed, match=r"not finished after 0.3 s; last line: begun"):
        shell.run_logged(
            ["sh", "-c", f"(sleep 1; touch {mark}) & echo begun; wait"], timeout_s=0.3, on_line=silent
        )
    time.sleep(1.2)
    assert not mark.exists()


def test_a_detached_process_writes_to_its_log_and_holds_nothing_of_ours(tmp_path: Path):
    """The outer program's pipe ends at once, though the process that it left behind goes on for seconds."""
    log = tmp_path / "daemon.log"
    outer = (
        "from compose.host.shell import spawn_detached; from pathlib import Path;"
        f"print(spawn_detached(['sh', '-c', 'echo up; sleep 20'], log=Path({str(log)!r})))"
    )
    begin_s = time.monotonic()
    done = shell.run([sys.executable, "-c", outer], timeout_s=20)
    assert time.monotonic() - begin_s < 15
    pid = int(done.stdout)
    assert Path(f"/proc/{pid}").exists()
    assert log.read_text() == "up\n"
