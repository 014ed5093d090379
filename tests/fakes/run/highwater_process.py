"""`highwater` in a process of its own, and what a run of it leaves in the engine."""

import json
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import docker

HIGHWATER = (sys.executable, "-c", "import sys; from harness.cli import main; sys.exit(main())")
STARTED_S = 120.0


def highwater(*arguments: str, within_s: float) -> tuple[int, Any]:
    """The exit code of the command, and the JSON on its stdout."""
    done = subprocess.run(
        [*HIGHWATER, *arguments, "--json"], stdout=subprocess.PIPE, text=True, check=False, timeout=within_s
    )
    return done.returncode, json.loads(done.stdout)


def ended_suite(home: Path, text: str, *more: str, within_s: float) -> Path:
    """The directory of the suite in this text, run below `home` by the seed 7: it ends with exit code 0."""
    file, out = home / "suite.yaml", home / "runs"
    file.write_text(text)
    argv = ("suite", str(file), "--seed", "7", "--out", str(out), *more)
    done = subprocess.run(
        [*HIGHWATER, *argv], stdout=subprocess.PIPE, text=True, check=False, timeout=within_s
    )
    (made,) = out.iterdir()
    assert done.returncode == 0, done.stdout
    return made


def once_each(name: str, scenarios: Iterable[str]) -> str:
    """A suite with one run of each of these."""
    entries = ", ".join(f"{{scenario: {scenario}, at_least: 1, at_most: 1}}" for scenario in scenarios)
    return f"name: {name}\nscenarios: [{entries}]\n"


def verdict(run: Path) -> Any:
    """Its verdict.json."""
    return json.loads((run / "verdict.json").read_text())


def holds_whatever_was_acknowledged(judged: Any) -> None:
    """By the verdict of a run with acks=all: no finding, no anomaly, nothing undecided."""
    acked = judged["exposure"]["acked"]
    assert judged["findings"] == []
    assert judged["properties"]["acked-loss"] == {
        "status": "holds",
        "examined": acked,
        "violations": 0,
        "permitted": 0,
        "undecided": 0,
        "undecided_anomalies": 0,
        "causes": {},
        "reason": "",
    }
    assert judged["outcome"] == f"acks=all lost none of {acked:,} acknowledged records"


def running(out: Path, *arguments: str) -> AbstractContextManager[subprocess.Popen[str]]:
    """`highwater run …` in a process of its own, killed at the end whatever happens."""
    return started("run", "--out", str(out), *arguments)


@contextmanager
def started(*arguments: str) -> Iterator[subprocess.Popen[str]]:
    """`highwater …` in a process of its own, killed at the end whatever happens."""
    command = [*HIGHWATER, *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def read_until(process: subprocess.Popen[str], text: str) -> str:
    """Its output up to the line with `text`."""
    assert process.stdout is not None
    output, deadline = "", time.monotonic() + STARTED_S
    for line in process.stdout:
        output += line
        if text in line:
            return output
        assert time.monotonic() < deadline, output
    raise AssertionError(f"it ended without {text!r}:\n{output}")


def rest_of(process: subprocess.Popen[str], *, within_s: float) -> str:
    """What it prints until it ends, also what was read ahead with the lines before, and it has ended.

    (`communicate` reads behind that.)
    """
    assert process.stdout is not None
    guard = threading.Timer(within_s, process.kill)
    guard.start()
    try:
        output = process.stdout.read()
        process.wait()
    finally:
        guard.cancel()
    assert process.returncode != -signal.SIGKILL, f"it had not ended after {within_s:g} s:\n{output}"
    return output


def left_of(run_id: str) -> list[str]:
    """Names of everything in the engine that carries the run's label."""
    return labelled(f"highwater.run={run_id}")


def left_by(pid: int) -> list[str]:
    """Names of everything in the engine that this process made."""
    return labelled(f"highwater.owner={pid}")


def labelled(text: str) -> list[str]:
    client, label = docker.from_env(), {"label": text}
    containers = [one.name for one in client.containers.list(all=True, filters=label, ignore_removed=True)]
    networks = [one.name for one in client.networks.list(filters=label)]
    return containers + networks + [one.name for one in client.volumes.list(filters=label)]


def mounted_or_attached() -> list[str]:
    """Loop devices and mounts that are of any run's disks."""
    loops = subprocess.run(["losetup", "-a"], capture_output=True, text=True, check=True).stdout
    mounts = Path("/proc/mounts").read_text()
    return [line for line in (loops + mounts).splitlines() if "highwater" in line]
