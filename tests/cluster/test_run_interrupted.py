"""A run that is interrupted or killed leaves nothing running, and a directory that can be judged."""

import os
import re
import signal
import subprocess
import time
from contextlib import suppress
from ipaddress import ip_address
from pathlib import Path

import psutil
from fakes.run.highwater_process import HIGHWATER, STARTED_S, left_by, left_of, read_until, rest_of, running

from checkers.history.load import load
from checkers.judgement import Judgement
from checkers.reference import check
from checkers.verdict.algebra import Verdict
from compose.cleanup.leftovers import of_dead_runs
from harness.report.judge import judge
from harness.run_directory.layout import open_run
from harness.run_directory.manifest import read_manifest

SMALL = ("cluster.brokers=1", "cluster.controllers=1", "topics.0.replication=1", "topics.0.config={}")
ENDED_S = 120.0
SPARKS_PORTS = 3


def until_a_node_is_there(process: subprocess.Popen[str]) -> None:
    """Its process runs, or is about to; all others are started beside it."""
    deadline = time.monotonic() + STARTED_S
    while not any(re.search(r"-[123]$", name) for name in left_by(process.pid)):
        assert time.monotonic() < deadline
        time.sleep(0.05)


def run_id(out: Path) -> str:
    return str(read_manifest(open_run(out / "latest")).run_id)


def reference(history: Path) -> Judgement:
    return check(load(history))


def long_and_small() -> list[str]:
    """What makes a run start soon and last."""
    return [word for setting in (*SMALL, "workload.lasts=300s") for word in ("--set", setting)]


def reached_from_elsewhere() -> set[tuple[str, int]]:
    """Addresses and ports of this machine that listen on more than loopback."""
    listening = [each for each in psutil.net_connections("inet") if each.status == psutil.CONN_LISTEN]
    at = [each.laddr for each in listening if each.laddr]
    return {(address.ip, address.port) for address in at if not is_loopback(address.ip)}


def until_spark_listens(process: subprocess.Popen[str]) -> None:
    """Spark starts beside the schedule. Its Java listens for us, for its executors, and for their blocks."""
    deadline = time.monotonic() + STARTED_S
    while max(map(ports, psutil.Process(process.pid).children(recursive=True)), default=0) < SPARKS_PORTS:
        assert time.monotonic() < deadline
        time.sleep(0.1)


def ports(process: psutil.Process) -> int:
    """How many ports of this machine it listens at; none if it has ended meanwhile."""
    with suppress(psutil.NoSuchProcess):
        return sum(each.status == psutil.CONN_LISTEN for each in process.net_connections("inet"))
    return 0


def is_loopback(ip: str) -> bool:
    address = ip_address(ip)
    return (getattr(address, "ipv4_mapped", None) or address).is_loopback


def test_ctrl_c_under_load_heals_judges_and_leaves_nothing(tmp_path: Path) -> None:
    """While it runs, nothing of it listens on anything but loopback."""
    before = reached_from_elsewhere()
    with running(tmp_path, "baseline", *long_and_small()) as process:
        read_until(process, "running the schedule")
        until_spark_listens(process)
        assert reached_from_elsewhere() == before
        process.send_signal(signal.SIGINT)
        output = rest_of(process, within_s=ENDED_S)
    assert process.returncode == 130, output
    assert "stopping the load and healing all faults" in output
    assert "UNKNOWN  the run was interrupted" in output
    assert left_of(run_id(tmp_path)) == []
    assert open_run(tmp_path / "latest").verdict.exists()


def test_ctrl_c_while_the_cluster_starts_tears_it_down_without_a_verdict(tmp_path: Path) -> None:
    with running(tmp_path, "baseline") as process:
        read_until(process, "starting the cluster")
        until_a_node_is_there(process)
        process.send_signal(signal.SIGINT)
        output = rest_of(process, within_s=ENDED_S)
    assert process.returncode == 130, output
    assert "tearing down now" in output
    assert not open_run(tmp_path / "latest").verdict.exists()
    assert left_by(process.pid) == []


def test_a_second_sigterm_tears_down_at_once(tmp_path: Path) -> None:
    with running(tmp_path, "baseline", *long_and_small()) as process:
        read_until(process, "running the schedule")
        process.send_signal(signal.SIGTERM)
        read_until(process, "stopping the load")
        process.send_signal(signal.SIGTERM)
        output = rest_of(process, within_s=ENDED_S)
    assert process.returncode == 143, output
    assert "tearing down now" in output
    assert left_of(run_id(tmp_path)) == []


def test_kill_9_then_clean_leaves_nothing_and_the_verdict_is_unknown(tmp_path: Path) -> None:
    soon = ("--set", "cluster.controllers=1", "--set", "faults.0.at=2s")
    with running(tmp_path, "acks1-leader-kill", *soon) as process:
        read_until(process, "injected")
        os.kill(process.pid, signal.SIGKILL)
        process.wait(ENDED_S)
    killed = run_id(tmp_path)
    assert left_of(killed)
    assert killed in [run.run_id for run in of_dead_runs()]
    cleaned = subprocess.run(
        [*HIGHWATER, "clean"], capture_output=True, text=True, check=False, timeout=ENDED_S
    )
    assert cleaned.returncode == 0, cleaned.stdout + cleaned.stderr
    assert left_of(killed) == []
    report = judge(open_run(tmp_path / "latest"), reference)
    assert report.verdict is Verdict.UNKNOWN
    assert any("the run did not end" in reason.sentence for reason in report.reasons)
    assert report.document["exposure"]["acked"] > 0
