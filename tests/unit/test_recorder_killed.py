"""A harness that is killed at any moment leaves a journal that explains every record in Kafka."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pyarrow.dataset as ds
import pyarrow.parquet as pq
from mock_kafka import MockKafka

from checkers.rows import TopicPartition
from workloads.final_read import final_read
from workloads.seal import seal

PARTITIONS = tuple(TopicPartition("t", n) for n in range(2))
LOAD = """
import sys, time
from pathlib import Path
from workloads.plan import WorkloadPlan
from workloads.run import start

plan = WorkloadPlan(topics={"t": 2}, producers=2, readers=1, rate_per_s=5000.0, record_bytes=60)
with start(plan, sys.argv[1], Path(sys.argv[2])) as load:
    load.wait_warm()
    print("warm", flush=True)
    time.sleep(60)
"""


def test_every_record_in_the_log_of_a_killed_run_has_its_send(tmp_path: Path) -> None:
    with MockKafka(3, t=2) as kafka:
        argv = [sys.executable, "-c", LOAD, kafka.bootstrap, str(tmp_path)]
        with subprocess.Popen(argv, stdout=subprocess.PIPE, cwd=Path(__file__).parents[2]) as load:
            assert load.stdout is not None
            assert load.stdout.readline() == b"warm\n"
            time.sleep(0.8)
            os.kill(load.pid, signal.SIGKILL)
        proofs = final_read(kafka.bootstrap, PARTITIONS, tmp_path / "history", within_s=20)
    assert all(proof.complete for proof in proofs)
    sealed = seal(tmp_path)
    sends = {
        (row["producer"], row["sequence"]): row
        for row in ds.dataset(tmp_path / "history/sends").to_table().to_pylist()
    }
    assert len(sends) == sealed.sends
    for tp in PARTITIONS:
        for row in pq.read_table(tmp_path / f"history/final_log/{tp}.parquet").to_pylist():
            send = sends[row["producer"], row["sequence"]]
            assert (send["partition"], send["checksum"]) == (tp.partition, row["checksum"])
            assert send["offset"] in (-1, row["offset"])
    acked = [row for row in sends.values() if row["outcome"] == 0]
    unknown = [row for row in sends.values() if row["outcome"] == 2]
    assert len(acked) > 1000
    assert {row["completed_ns"] for row in unknown} <= {-1}
