"""A signal in each phase of a run: the first ends it in order, the second at once; both leave nothing."""

import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path

import pytest
from fakes.run.highwater_process import left_by, read_until, rest_of, running

from compose.docker.api import client
from harness.run_directory.layout import open_run

SETS = (
    "cluster.brokers=1",
    "cluster.controllers=1",
    "topics.0.replication=1",
    "topics.0.config={}",
    "workload.lasts=6s",
    "faults=[{name: hold, at: 1s, do: pause, target: node 1, for: 30s}]",
)
BEFORE_THE_LOAD = ("starting the cluster", "creating the topics", "starting the load")
OBSERVED = ("running the schedule", "hold (pause of node 1) injected")
AFTERWARDS = (
    "stopping the load, healing",
    "reading every partition",
    "stopping the brokers",
    "sealing the history",
    "reading every replica",
    "judging",
)
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
ENDED_S, AT_ONCE_S = 120.0, 10.0


@pytest.fixture(autouse=True)
def terminal() -> Iterator[None]:
    """Where these tests run under nohup, a run would inherit that SIGHUP is to be ignored."""
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGHUP, before)


def started(out: Path, phase: str) -> AbstractContextManager["subprocess.Popen[str]"]:
    """A run that comes to the phase; what follows its schedule comes soon."""
    sets = [word for each in SETS for word in ("--set", each)]
    if phase in AFTERWARDS:
        sets[-1] = sets[-1].replace("for: 30s", "for: 2s")
    return running(out, "baseline", *sets)


def with_signals() -> list[tuple[str, signal.Signals]]:
    """Each phase with one of the signals, in turn."""
    phases = (*BEFORE_THE_LOAD, *OBSERVED, *AFTERWARDS)
    return [(phase, SIGNALS[number % len(SIGNALS)]) for number, phase in enumerate(phases)]


@pytest.mark.parametrize(("phase", "number"), with_signals())
def test_the_first_signal_ends_a_run_in_order(tmp_path: Path, phase: str, number: signal.Signals) -> None:
    with started(tmp_path, phase) as process:
        read_until(process, phase)
        process.send_signal(number)
        output = rest_of(process, within_s=ENDED_S)
    assert process.returncode == 128 + number, output
    assert left_by(process.pid) == []
    assert open_run(tmp_path / "latest").verdict.exists() == (phase not in BEFORE_THE_LOAD), output
    if phase in OBSERVED:
        assert "hold (pause of node 1) healed" in output or "hold (pause of node 1) injected" not in output
        assert "UNKNOWN  the run was interrupted" in output


@pytest.mark.parametrize(("phase", "number"), with_signals())
def test_the_second_signal_ends_a_run_at_once(tmp_path: Path, phase: str, number: signal.Signals) -> None:
    with started(tmp_path, phase) as process:
        read_until(process, phase)
        process.send_signal(number)
        time.sleep(0.2)
        begin = time.monotonic()
        process.send_signal(number)
        output = rest_of(process, within_s=ENDED_S)
    assert time.monotonic() - begin < AT_ONCE_S, output
    assert process.returncode == 128 + number, output
    assert left_by(process.pid) == []
    assert not [one.name for one in client().containers.list(filters={"status": "paused"})]
