"""Trouble around a run, made on purpose on a real cluster: a clear line within a minute, and exit code 4."""

import ctypes
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from io import StringIO
from pathlib import Path

import docker
import pytest
from docker.models.containers import Container
from fakes.run.highwater_process import labelled, left_by, read_until, rest_of, running
from fakes.waiting import until

from compose.docker.standing_exec import SERVER
from compose.host.memory import GROUPS
from compose.setup import engine
from harness import api
from harness.errors import EXIT_ERROR

SMALL = ("cluster.brokers=1", "cluster.controllers=1", "topics.0.replication=1", "topics.0.config={}")
LASTS = ("workload.lasts=300s", "workload.rate=500/s")
LINE_S, ENDED_S = 60.0, 150.0
MIB = 1 << 20


def settings(*sets: str) -> list[str]:
    return [word for each in sets for word in ("--set", each)]


def of_run(pid: int, ending: str) -> str:
    """The name of the one container of this process's run that ends so."""
    (name,) = [each for each in left_by(pid) if each.endswith(ending)]
    return name


@contextmanager
def under_load(out: Path, *sets: str) -> Iterator[subprocess.Popen[str]]:
    """A small run whose schedule has begun; it ends with exit code 4, and leaves nothing."""
    with running(out, "baseline", *settings(*SMALL, *LASTS, *sets)) as process:
        read_until(process, "running the schedule")
        time.sleep(2)
        yield process
        output = rest_of(process, within_s=ENDED_S)
    assert process.returncode == EXIT_ERROR, output
    assert "ERROR  " in output, output
    assert left_by(process.pid) == []


def line(process: subprocess.Popen[str], text: str) -> None:
    """Its output has the line within LINE_S."""
    begin = time.monotonic()
    read_until(process, text)
    assert time.monotonic() - begin < LINE_S


def test_a_proxy_that_is_killed(tmp_path: Path) -> None:
    with under_load(tmp_path) as process:
        docker.from_env().containers.get(of_run(process.pid, "-proxy")).kill()
        line(process, "the proxy was ended from outside just now: SIGKILL")


def test_a_proxy_that_is_killed_while_all_is_read(tmp_path: Path) -> None:
    """Nothing is read any more; the read would go on trying for minutes."""
    much = ("workload.rate=max", "workload.lasts=10s")
    with running(tmp_path, "baseline", *settings(*SMALL, *much)) as process:
        read_until(process, "reading every partition")
        docker.from_env().containers.get(of_run(process.pid, "-proxy")).kill()
        line(process, "the proxy was ended from outside just now: SIGKILL")
        output = rest_of(process, within_s=LINE_S)
    assert process.returncode == EXIT_ERROR, output
    assert "ERROR  final_read: watch: the proxy was ended from outside" in output, output
    assert '"level":"trace"' not in output
    assert left_by(process.pid) == []


def test_an_engine_that_stands_still(tmp_path: Path) -> None:
    """It answers again before the run has to remove its containers; nobody else can do that."""
    daemon = engine.read_pid(engine.PID_FILE)
    assert daemon is not None
    with under_load(tmp_path) as process:
        os.kill(daemon, signal.SIGSTOP)
        try:
            line(process, "the Docker Engine has not answered for 2")
        finally:
            os.kill(daemon, signal.SIGCONT)


def test_an_engine_that_is_restarted(tmp_path: Path) -> None:
    """It ends all containers as it ends, since it is not told to leave them."""
    daemon = engine.read_pid(engine.PID_FILE)
    assert daemon is not None
    with under_load(tmp_path) as process:
        os.kill(daemon, signal.SIGTERM)
        until(lambda: not engine.is_alive(daemon), LINE_S)
        engine.ensure_engine(print)
        line(process, "the run cannot go on, all faults are healed now")


STALL = "faults=[{name: stall, at: 4s, do: disk-stall, target: node 1, for: 5s}]"


def test_a_helper_that_is_paused(tmp_path: Path) -> None:
    """The disks of the nodes are in its hands."""
    with under_load(tmp_path, STALL) as process:
        docker.from_env().containers.get(of_run(process.pid, "-helper")).pause()
        line(process, " is paused; without it no disk can be frozen, thawed or read")


def test_a_helper_whose_commands_never_end(tmp_path: Path) -> None:
    """As in the kernel, on a disk that is frozen: what stands in the helper and runs them stands still."""
    with under_load(tmp_path, STALL) as process:
        helper = docker.from_env().containers.get(of_run(process.pid, "-helper"))
        servers = [int(pid) for pid, *_, command in processes(helper) if SERVER in command]
        for each in servers:
            os.kill(each, signal.SIGSTOP)
        assert servers
        line(process, "no answer within 25 s; without it no disk can be frozen, thawed or read")


def processes(container: Container) -> list[list[str]]:
    """Those in the container, a row each: first the number, last the whole command."""
    return list(container.top(ps_args="-o pid,args")["Processes"])


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 1 GiB in memory."""
    mounted = tmp_path / "small"
    mounted.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1g", "none", str(mounted)], check=True)
    yield mounted
    subprocess.run(["umount", str(mounted)], check=True)


def test_a_disk_that_fills_up(small_disk: Path) -> None:
    with under_load(small_disk / "runs") as process:
        with (small_disk / "somebody-else").open("wb") as file:
            file.write(bytes(900 * MIB))
        line(process, "MiB left, 256 MiB are needed")


@pytest.fixture
def memory_group() -> Iterator[Path]:
    """A control group for memory with a limit of 4 GiB, inside the one that this process is in."""
    lines = [line.split(":", 2) for line in Path("/proc/self/cgroup").read_text().splitlines()]
    own = {controllers: path.lstrip("/") for _, controllers, path in lines}
    version = "memory" if "memory" in own else ""
    group = GROUPS / version / own[version] / f"highwater-test-{os.getpid()}"
    group.mkdir()
    (group / ("memory.limit_in_bytes" if version else "memory.max")).write_text(str(4 << 30))
    yield group
    group.rmdir()


def test_memory_that_runs_out(tmp_path: Path, memory_group: Path) -> None:
    """Of a group that the run shares with a program that takes all but 128 MiB of what is left."""
    eater = (
        "import time; from compose.host.memory import available_bytes; held = []\n"
        f"while available_bytes() > {128 * MIB}: held.append(b'x' * {8 * MIB})\n"
        "time.sleep(300)"
    )
    with under_load(tmp_path) as process:
        (memory_group / "cgroup.procs").write_text(str(process.pid))
        join = f"open({str(memory_group / 'cgroup.procs')!r}, 'w').write('0')\n"
        with subprocess.Popen([sys.executable, "-c", join + eater]) as other:
            line(process, "MiB are available to this run, 256 MiB are needed")
            other.kill()


def test_a_load_that_does_not_fit_on_the_disk_is_refused_before_anything_is_started(small_disk: Path) -> None:
    sets = settings(*SMALL, "workload.lasts=3600s", "workload.rate=500/s")
    with running(small_disk / "runs", "baseline", *sets) as process:
        output = rest_of(process, within_s=LINE_S)
    assert process.returncode == EXIT_ERROR, output
    assert "room: a load of 500/s of 200 bytes for 3600s writes up to " in output
    assert "are free and 512 MiB have to stay so" in output


def test_a_load_thread_that_dies(tmp_path: Path) -> None:
    """It is killed by an exception that comes from nowhere, while the schedule has minutes to go."""
    output = StringIO()

    def kill_a_producer() -> None:
        until(lambda: "running the schedule" in output.getvalue(), LINE_S)
        (victim,) = [each for each in threading.enumerate() if each.name == "producer 2"]
        ctypes.pythonapi.PyThreadState_SetAsyncExc(
            ctypes.c_ulong(victim.ident or 0), ctypes.py_object(MemoryError)
        )

    killer = threading.Thread(target=kill_a_producer)
    killer.start()
    begin = time.monotonic()
    report = api.run("baseline", seed=7, sets=[*SMALL, *LASTS], out=tmp_path, progress=output)
    killer.join()
    assert report.verdict.exit_code == EXIT_ERROR
    assert time.monotonic() - begin < LINE_S + ENDED_S
    told = output.getvalue()
    assert "the run cannot go on, all faults are healed now: thread 'producer 2' of the workload died" in told
    assert labelled(f"highwater.owner={os.getpid()}") == []
