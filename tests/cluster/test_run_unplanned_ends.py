"""Runs whose broker ends though no fault ends it: never a word too little, and never started again."""

import re
import subprocess
import time
from pathlib import Path
from typing import Any

import docker
import pyarrow.parquet as pq
from fakes.run.highwater_process import HIGHWATER, read_until, rest_of, verdict

from checkers.history.load import load
from checkers.reference import check
from harness.report.judge import judge
from harness.run_directory.layout import open_run
from harness.run_directory.manifest import read_manifest

ENDED_S = 240.0
UNDER_LOAD_S = 1.5
LASTS = "8s"
"""A broker whose disk fails notices that at its next checkpoint of high watermarks: within 5 s."""
AT = r"at (\d+\.\d\d) s"


def run_while(out: Path, disturb: Any) -> tuple[int, str]:
    """`highwater run baseline`, disturbed under load: its exit code and its output."""
    sets = ("--set", f"workload.lasts={LASTS}", "--set", "cluster.controllers=1")
    command = [*HIGHWATER, "run", "baseline", "--out", str(out), *sets]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        try:
            output = read_until(process, "running the schedule")
            time.sleep(UNDER_LOAD_S)
            disturb(f"hw-{read_manifest(open_run(out / 'latest')).run_id}")
            rest = rest_of(process, within_s=ENDED_S)
            return process.returncode, output + rest
        finally:
            process.kill()


def kill_from_outside(prefix: str) -> None:
    """As `docker kill` does it."""
    docker.from_env().containers.get(f"{prefix}-2").kill()


def cut_off_the_disk(prefix: str) -> None:
    """The broker's only log directory answers with I/O errors, while the broker runs."""
    client = docker.from_env()
    device = client.volumes.get(f"{prefix}-data-2").attrs["Options"]["device"]
    done = client.containers.get(f"{prefix}-helper").exec_run(["sh", "/highwater/disk.sh", "drop", device])
    assert done.exit_code == 0, done.output


def ends(out: Path) -> list[tuple[int, str, int]]:
    """What nobody had planned, by the history: node, event, exit code."""
    rows = pq.read_table(out / "latest/history/node_events.parquet").to_pylist()
    return [(row["node"], row["event"], row["exit_code"]) for row in rows if not row["planned"]]


def judged_again(out: Path) -> Any:
    """The verdict by the reference's rules and nothing but the directory."""
    run = open_run((out / "latest").resolve())
    return judge(run, lambda history: check(load(history))).as_json()


def test_a_broker_that_is_killed_from_outside_is_an_error_that_names_it(tmp_path: Path) -> None:
    code, output = run_while(tmp_path, kill_from_outside)
    assert code == 4, output
    assert "node 2 (broker) was ended from outside just now: SIGKILL, exit code 137" in output
    (reason,) = [each for each in verdict(tmp_path / "latest")["reasons"] if each["verdict"] == "ERROR"]
    begins = rf"node 2 \(broker\) was ended from outside {AT}: SIGKILL, exit code 137"
    found = re.match(begins, reason["sentence"])
    assert found, reason
    assert 3 < float(found[1]) < 150
    assert ends(tmp_path) == [(2, "exited", 137)]
    assert judged_again(tmp_path) == verdict(tmp_path / "latest")


def test_a_broker_that_halts_by_itself_is_a_failure_with_its_fatal_line(tmp_path: Path) -> None:
    """Its partitions wait for its session to end, so that a line of acceptance may be missed as well."""
    code, output = run_while(tmp_path, cut_off_the_disk)
    assert code == 1, output
    reason, *others = [each for each in verdict(tmp_path / "latest")["reasons"] if each["verdict"] == "FAIL"]
    assert all(each["sentence"].startswith("acceptance: unavailable.max <= 5s: ") for each in others), others
    assert re.match(rf"node 2 \(broker\) ended by itself {AT} with exit code 1: ", reason["sentence"]), reason
    assert "ERROR" in reason["sentence"]
    assert ends(tmp_path) == [(2, "exited", 1)]
