"""A small suite on a real cluster: two runs share it, and each has evidence of its own."""

import json
import subprocess
import time
from pathlib import Path

import docker
import junitparser
import pyarrow.parquet as pq
import pytest
from fakes.run.highwater_process import HIGHWATER, ended_suite, left_by, read_until, rest_of

from checkers.history.load import load
from checkers.reference import check
from compose.cleanup.leftovers import of_dead_runs
from harness.errors import EXIT_ERROR

WITHIN_S = 300.0
SCENARIO = """\
name: small
topics: [{name: orders, partitions: 2, replication: 3, config: {min.insync.replicas: 2}}]
workload: {producers: 2, rate: 500/s, lasts: 3s}
faults: [{name: kill, at: 2s, do: kill, target: leader, for: 3s}]
"""


@pytest.fixture(scope="module")
def suite(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory of a suite of two runs that ended well."""
    here = tmp_path_factory.mktemp("suite")
    (here / "small.yaml").write_text(SCENARIO)
    text = "name: two\nscenarios: [{scenario: small.yaml, at_most: 2}]\n"
    return ended_suite(here, text, "--budget", "10m", within_s=WITHIN_S)


def runs(suite: Path) -> list[Path]:
    return sorted(path for path in suite.iterdir() if path.is_dir())


def test_the_second_run_has_the_cluster_of_the_first(suite: Path) -> None:
    rows = json.loads((suite / "suite.json").read_text())["runs"]
    assert [row["cluster"]["served"] for row in rows] == [0, 1]
    assert len({row["cluster"]["run_id"] for row in rows}) == 1
    manifests = [json.loads((run / "manifest.json").read_text()) for run in runs(suite)]
    assert [manifest["disks_of"] for manifest in manifests] == ["running", "stopped"]
    assert [row["verdict"] for row in rows] == ["PASS", "PASS"]


def test_each_run_has_its_own_topic_only_and_one_start_of_each_process_before_its_fault(suite: Path) -> None:
    """The broker that the first run has killed registered anew; the second run knows nothing of that."""
    for number, run in enumerate(runs(suite)):
        metadata = pq.read_table(run / "history/metadata.parquet").to_pylist()
        brokers = pq.read_table(run / "history/brokers.parquet").to_pylist()
        assert {row["topic"] for row in metadata} == {f"orders-r{number}"}
        began = min(row["log_offset"] for row in metadata)
        epochs = {row["node"]: set() for row in brokers}
        for row in brokers:
            if row["log_offset"] < began:
                epochs[row["node"]].add(row["broker_epoch"])
        assert {node: len(known) for node, known in epochs.items()} == {1: 1, 2: 1, 3: 1}


def test_replicas_of_running_brokers_are_whole_and_the_reference_finds_nothing(suite: Path) -> None:
    first, last = (load(run / "history") for run in runs(suite))
    for history, clean in ((first, False), (last, True)):
        assert len(history.replicas) == 6
        assert {(row.complete, row.clean) for row in history.replicas} == {(True, clean)}
        assert not check(history).anomalies


def test_the_file_for_dashboards_counts_two_runs_that_passed(suite: Path) -> None:
    (found,) = junitparser.JUnitXml.fromfile(str(suite / "junit.xml"))
    assert (found.tests, found.failures, found.errors, found.skipped) == (2, 0, 0, 0)


def test_a_suite_goes_on_after_a_run_whose_proxy_died(tmp_path: Path) -> None:
    """On a new cluster, with its whole schedule."""
    (tmp_path / "small.yaml").write_text(SCENARIO)
    (tmp_path / "two.yaml").write_text("name: two\nscenarios: [{scenario: small.yaml, at_most: 2}]\n")
    argv = ("suite", str(tmp_path / "two.yaml"), "--budget", "10m", "--seed", "7")
    command = [*HIGHWATER, *argv, "--out", str(tmp_path / "runs")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        read_until(process, "kill (kill of node")
        (proxy,) = [name for name in left_by(process.pid) if name.endswith("-proxy")]
        docker.from_env().containers.get(proxy).kill()
        output = rest_of(process, within_s=WITHIN_S)
    assert process.returncode == EXIT_ERROR, output
    (made,) = (tmp_path / "runs").iterdir()
    rows = json.loads((made / "suite.json").read_text())["runs"]
    assert [(row["state"], row["verdict"]) for row in rows] == [("judged", "ERROR"), ("judged", "PASS")]


def test_a_killed_suite_goes_on_without_what_it_had_left(tmp_path: Path) -> None:
    """Six processes that nobody asks anything take processors and memory from the cluster that follows."""
    (tmp_path / "small.yaml").write_text(SCENARIO)
    (tmp_path / "two.yaml").write_text("name: two\nscenarios: [{scenario: small.yaml, at_most: 2}]\n")
    argv = (
        "suite",
        str(tmp_path / "two.yaml"),
        "--budget",
        "10m",
        "--seed",
        "7",
        "--out",
        str(tmp_path / "runs"),
    )
    with subprocess.Popen(
        [*HIGHWATER, *argv], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as killed:
        until_second_run(tmp_path / "runs")
        killed.kill()
    (left,) = of_dead_runs()
    (made,) = (tmp_path / "runs").iterdir()
    done = subprocess.run(
        [*HIGHWATER, "suite", "--resume", str(made)],
        capture_output=True,
        text=True,
        check=False,
        timeout=WITHIN_S,
    )
    assert done.returncode == 0, done.stderr
    assert f"removing what this suite had left: {left.in_words()}\n" in done.stderr + done.stdout
    assert of_dead_runs() == ()
    rows = json.loads((made / "suite.json").read_text())["runs"]
    assert [(row["index"], row["state"]) for row in rows] == [
        (0, "judged"),
        (1, "interrupted"),
        (1, "judged"),
    ]
    assert rows[0]["cluster"]["run_id"] == left.run_id != rows[2]["cluster"]["run_id"]


def until_second_run(out: Path) -> None:
    """Until the first run of the suite has been judged, and the second is being made."""
    deadline = time.monotonic() + WITHIN_S
    while time.monotonic() < deadline:
        rows = [row for file in out.glob("*/suite.json") for row in json.loads(file.read_text())["runs"]]
        if [row["state"] for row in rows] == ["judged", "running"]:
            return
        time.sleep(0.2)
    raise AssertionError("the second run was never made")
