"""The audit in a real Spark session gives what it gives in one process, of files that Kafka wrote."""

import shutil
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from fakes.history_rows import history, proof
from fakes.inline_spark import InlineSpark
from pyspark.sql import SparkSession

from checkers.damage import write
from checkers.history.load import load_context, replica_files
from checkers.history.rows import Replica, TopicPartition
from spark_verify.audit import audit

REAL = Path(__file__).parents[1] / "fixtures/segments"


def test_workers_read_replicas_and_write_their_batches(tmp_path: Path, spark: SparkSession) -> None:
    for broker, source in ((1, "librdkafka-zstd-0"), (2, "broker-gzip-0")):
        shutil.copytree(REAL / source, tmp_path / f"replicas/{broker}/orders-0")
    found = []
    for name, session in (("spark", spark), ("inline", InlineSpark())):
        history_dir = tmp_path / name
        proven = history(replace(proof(30), replicas=(1, 2, 3), isr=(1, 2)))
        write(replace(proven, collected=frozenset()), history_dir)
        audit(tmp_path / "replicas", history_dir, session, run="")  # type: ignore[arg-type]
        found.append(tables(history_dir))
    assert found[0] == found[1]
    replicas, batches = found[0]
    assert [(each.broker, each.log_end, each.complete) for each in replicas] == [
        (1, 30, True),
        (2, 30, True),
        (3, -1, False),
    ]
    assert all(digest >= 0 for digest in batches["digest"].to_pylist())
    assert batches["broker"].to_pylist() == [1, 1, 1, 2, 2, 2]


def tables(history_dir: Path) -> tuple[list[Replica], pa.Table]:
    files = replica_files(history_dir, TopicPartition("orders", 0))
    return list(load_context(history_dir).replicas), pa.concat_tables([pq.read_table(file) for file in files])
