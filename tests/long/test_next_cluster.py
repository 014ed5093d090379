"""A suite of runs that need different clusters: the next one boots beside the run before."""

import json
import re
import signal
import subprocess
import time
from contextlib import AbstractContextManager
from pathlib import Path

import docker
import pyarrow.parquet as pq
import pytest
from fakes.run.highwater_process import HIGHWATER, left_by, read_until, rest_of, started

from checkers.history.load import load
from checkers.reference import check
from compose.docker.containers import ALL_SHARES, LEAST_SHARES
from compose.host.waiting import wait_until

WITHIN_S, AT_ONCE_S = 300.0, 10.0
SCENARIO = """\
name: small
cluster: {{broker_config: {{replica.lag.time.max.ms: {0}}}}}
topics: [{{name: orders, partitions: 2, replication: 3, config: {{min.insync.replicas: 2}}}}]
workload: {{producers: 2, rate: 500/s, lasts: 15s}}
faults: [{{name: kill, at: 10s, do: kill, target: leader, for: 3s}}]
"""
INJECTED = "kill (kill of node"


def suite(here: Path) -> AbstractContextManager["subprocess.Popen[str]"]:
    """Two runs, each on a cluster of its own; killed at the end whatever happens."""
    for name, lag_ms in (("one", 4000), ("other", 5000)):
        (here / f"{name}.yaml").write_text(SCENARIO.format(lag_ms))
    each = "{scenario: one.yaml, at_least: 1, at_most: 1}, {scenario: other.yaml, at_least: 1, at_most: 1}"
    (here / "two.yaml").write_text(f"name: two\nscenarios: [{each}]\n")
    options = ("--budget", "10m", "--seed", "7", "--out", str(here / "runs"))
    return started("suite", str(here / "two.yaml"), *options)


def shares(process: "subprocess.Popen[str]") -> dict[str, set[int]]:
    """Processor shares of the nodes of each cluster that the process has in the engine, by run id."""
    found: dict[str, set[int]] = {}
    label = {"label": f"highwater.owner={process.pid}"}
    for one in docker.from_env().containers.list(filters=label, ignore_removed=True):
        if one.name.rpartition("-")[2].isdecimal():
            found.setdefault(one.labels["highwater.run"], set()).add(one.attrs["HostConfig"]["CpuShares"])
    return found


def test_the_next_cluster_boots_behind_the_run_and_has_all_shares_in_its_own(tmp_path: Path) -> None:
    with suite(tmp_path) as process:
        read_until(process, INJECTED)
        beside = shares(process)
        read_until(process, "run 1 ")
        read_until(process, INJECTED)
        own = shares(process)
        output = rest_of(process, within_s=WITHIN_S)
    assert process.returncode == 0, output
    (made,) = (tmp_path / "runs").iterdir()
    first, second = json.loads((made / "suite.json").read_text())["runs"]
    ids = [row["cluster"]["run_id"] for row in (first, second)]
    assert beside == {ids[0]: {ALL_SHARES}, ids[1]: {LEAST_SHARES}}
    assert own[ids[1]] == {ALL_SHARES}
    assert (first["verdict"], second["verdict"]) == ("PASS", "PASS")
    assert first["cluster"].get("ahead_s") is None
    assert second["cluster"]["ahead_s"] > 10.0
    its = made / second["directory"] / "history"
    metadata = pq.read_table(its / "metadata.parquet").to_pylist()
    brokers = pq.read_table(its / "brokers.parquet").to_pylist()
    assert {row["topic"] for row in metadata} == {"orders-r1"}
    began = min(row["log_offset"] for row in metadata)
    assert sorted(row["node"] for row in brokers if row["log_offset"] < began) == [1, 2, 3]
    assert not check(load(its)).anomalies
    assert left_by(process.pid) == []


@pytest.mark.parametrize("part", ["-helper", "-101"], ids=["disks are made", "nodes boot"])
def test_two_signals_take_down_both_clusters_at_once(tmp_path: Path, part: str) -> None:
    """Also while the engine is at work for the second one."""
    with suite(tmp_path) as process:
        read_until(process, "running the schedule")
        wait_until(
            "there is a second cluster",
            lambda: [name for name in left_by(process.pid) if re.fullmatch(f"hw-[0-9a-f]+{part}", name)],
            lambda found: len(found) == 2,
            within_s=30.0,
        )
        process.send_signal(signal.SIGINT)
        time.sleep(0.2)
        process.send_signal(signal.SIGINT)
        asked = time.monotonic()
        rest_of(process, within_s=WITHIN_S)
        took_s = time.monotonic() - asked
    assert process.returncode == 128 + signal.SIGINT
    assert took_s <= AT_ONCE_S
    assert left_by(process.pid) == []


def test_clean_removes_both_clusters_of_a_killed_suite(tmp_path: Path) -> None:
    with suite(tmp_path) as process:
        read_until(process, INJECTED)
        assert len(shares(process)) == 2
        process.kill()
    subprocess.run([*HIGHWATER, "clean"], check=True, timeout=WITHIN_S)
    assert left_by(process.pid) == []
