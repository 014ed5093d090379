"""Brokers with two log directories, in runs as a user makes them: one fails, one is full, both lose power.

With acks=all and two in-sync replicas each of them loses nothing.
"""

import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from fakes.run.highwater_process import highwater

SHIPPED = "log-dir-failure"
LOAD = """\
cluster: {log_dirs: 2}
topics:
  - {name: orders, partitions: 12, replication: 3, config: {min.insync.replicas: 2}}
workload: {producers: 4, acks: all, rate: 2000/s, readers: 1, lasts: 5s}
expect: {acked_loss: none}
"""
POWER = f"""\
name: power-of-two
{LOAD}
faults:
  - {{name: power, at: 4s, do: power-loss, target: leader, for: 6s}}
require: [data-lost.brokers >= 1, elections.max >= 1]
"""
FULL = f"""\
name: one-full
{LOAD}
faults:
  - {{name: full, at: 4s, do: disk-full, log_dir: 2, target: leader, for: 10s}}
require: [log-dirs.offline >= 1, elections.max >= 1, isr.expands >= 1]
"""
KINDS = {SHIPPED: "log-dir-failure", "power-of-two": "power-loss", "one-full": "disk-full"}
RUNS_S = 580.0


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the runs are."""
    return tmp_path_factory.mktemp("runs")


@pytest.fixture(scope="module")
def verdicts(tmp_path_factory: pytest.TempPathFactory, out: Path) -> dict[str, Any]:
    """The verdicts of all three runs, made by one command, by name."""
    folder = tmp_path_factory.mktemp("scenarios")
    for name, text in (("power-of-two", POWER), ("one-full", FULL)):
        (folder / f"{name}.yaml").write_text(text)
    paths = [str(folder / f"{name}.yaml") for name in ("power-of-two", "one-full")]
    code, found = highwater("run", SHIPPED, *paths, "--seed", "7", "--out", str(out), within_s=RUNS_S)
    shown = json.dumps(found, indent=1)
    assert (code, [verdict["verdict"] for verdict in found]) == (0, ["PASS"] * 3), shown
    return dict(zip(KINDS, found, strict=True))


@pytest.mark.parametrize("name", KINDS)
def test_a_fault_of_one_disk_or_of_both_loses_nothing(verdicts: dict[str, Any], name: str) -> None:
    """It is proven and recovers, and every end of a process is accounted for."""
    its = verdicts[name]
    (window,) = its["exposure"]["fault_windows"]
    assert (window["kind"], window["proven"], window["recovered"]) == (KINDS[name], True, True)
    assert its["findings"] == []
    assert its["outcome"] == f"acks=all lost none of {its['exposure']['acked']:,} acknowledged records"


def test_the_replicas_of_each_broker_were_read_from_both_directories(
    verdicts: dict[str, Any], out: Path
) -> None:
    """The history has each partition on each broker."""
    runs = [path for path in out.iterdir() if not path.is_symlink()]
    assert len(runs) == len(verdicts)
    for run in runs:
        rows = pq.read_table(run / "history/replicas.parquet").to_pylist()
        found = {(row["partition"], row["broker"]) for row in rows if row["complete"]}
        assert found == {(partition, broker) for partition in range(12) for broker in (1, 2, 3)}
