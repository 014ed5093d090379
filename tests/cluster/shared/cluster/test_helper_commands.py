"""Commands in the helper container, which one standing process runs for as long as it lives."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from compose.cluster.start import DockerCluster
from compose.docker import containers, standing_exec
from compose.docker.standing_exec import StandingExec
from compose.errors import NodeStateError, Refused

EXECS = 20


@pytest.fixture
def commands(cluster: DockerCluster) -> StandingExec:
    """Commands in the shared cluster's helper."""
    return StandingExec(cluster.helper.container_id)


def test_words_output_and_exit_code_come_as_they_are(commands: StandingExec) -> None:
    words = ("a b", "", "ü\n'$x", "*")
    shown = commands.run(["printf", "<%s>", *words], within_s=5)
    assert (shown.exit_code, shown.output) == (0, "<a b><><ü\n'$x><*>")
    failed = commands.run(["sh", "-c", "echo out; echo err >&2; exit 7"], within_s=5)
    assert (failed.exit_code, failed.output) == (7, "out\nerr\n")
    large = commands.run(["head", "-c", "3000000", "/dev/zero"], within_s=20)
    assert (large.exit_code, len(large.output)) == (0, 3_000_000)
    assert commands.run(["no-such-command"], within_s=5).exit_code == 127


def test_what_takes_too_long_is_killed_and_the_next_command_runs(commands: StandingExec) -> None:
    begin = time.monotonic()
    assert commands.run(["sleep", "60"], within_s=0.5).exit_code == 124
    assert (
        commands.run(["sh", "-c", "trap '' TERM; sleep 60 & wait; sleep 60"], within_s=0.5).exit_code == 137
    )
    assert time.monotonic() - begin < 10
    assert commands.run(["echo", "next"], within_s=5).output == "next\n"


def test_commands_of_several_threads_run_side_by_side(commands: StandingExec) -> None:
    together = threading.Barrier(3, timeout=10)

    def run(number: int) -> str:
        together.wait()
        return commands.run(["sh", "-c", f"sleep 1; echo {number}"], within_s=10).output

    with ThreadPoolExecutor(3) as pool:
        begin = time.monotonic()
        assert list(pool.map(run, range(3))) == ["0\n", "1\n", "2\n"]
        assert time.monotonic() - begin < 2.9


def test_a_container_that_stands_still_is_an_error_in_time(
    cluster: DockerCluster, commands: StandingExec, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(standing_exec, "GRACE_S", 1.0)
    helper = cluster.helper.container_id
    assert commands.run(["echo"], within_s=5).exit_code == 0
    containers.act(helper, "pause", name="helper")
    try:
        begin = time.monotonic()
        with pytest.raises(NodeStateError, match=r"no answer within 1\.5 s"):
            commands.run(["echo", "paused"], within_s=0.5)
        assert time.monotonic() - begin < 5
        with pytest.raises((NodeStateError, Refused)):
            commands.run(["echo", "paused"], within_s=0.5)
    finally:
        containers.act(helper, "unpause", name="helper")
    assert commands.run(["echo", "again"], within_s=5).output == "again\n"
