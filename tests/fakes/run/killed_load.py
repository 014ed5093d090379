"""A load in a process of its own that is killed at its work, and what must hold of what it left."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pyarrow.dataset as ds
import pyarrow.parquet as pq

from checkers.history.rows import TopicPartition
from workloads.observe.final_read import final_read
from workloads.record.seal import seal

LOAD = """
import sys, time
from pathlib import Path
from workloads.plan import WorkloadPlan
from workloads.run import start

plan = WorkloadPlan(topics={sys.argv[2]: 2}, producers=2, readers=1, rate_per_s=5000.0, record_bytes=60)
with start(plan, sys.argv[1], Path(sys.argv[3])) as load:
    load.wait_warm()
    print("warm", flush=True)
    time.sleep(60)
"""


def kill_a_load(bootstrap: str, topic: str, run: Path, *, after_s: float) -> None:
    """Start a load on two partitions of `topic` and SIGKILL it `after_s` seconds after it was warm."""
    argv = [sys.executable, "-c", LOAD, bootstrap, topic, str(run)]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, cwd=Path(__file__).parents[3]) as load:
        assert load.stdout is not None
        assert load.stdout.readline() == b"warm\n"
        time.sleep(after_s)
        os.kill(load.pid, signal.SIGKILL)


def assert_every_record_is_explained(bootstrap: str, topic: str, run: Path) -> None:
    """Each record in the log has its send in the sealed journal: same partition, checksum and offset."""
    partitions = tuple(TopicPartition(topic, number) for number in range(2))
    proofs = final_read(bootstrap, partitions, run / "history", within_s=30)
    assert [proof.reason for proof in proofs] == ["", ""]
    sealed = seal(run)
    rows: list[dict[str, Any]] = ds.dataset(run / "history/sends").to_table().to_pylist()
    sends = {(row["producer"], row["sequence"]): row for row in rows}
    assert len(sends) == len(rows) == sealed.sends
    for tp in partitions:
        for record in pq.read_table(run / f"history/final_log/{tp}.parquet").to_pylist():
            send = sends[record["producer"], record["sequence"]]
            assert (send["partition"], send["checksum"]) == (tp.partition, record["checksum"])
            assert send["offset"] in (-1, record["offset"])
    assert sum(row["outcome"] == 0 for row in rows) > 1000
    assert {row["completed_ns"] for row in rows if row["outcome"] == 2} <= {-1}
