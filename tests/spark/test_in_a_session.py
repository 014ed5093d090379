"""What a real Spark session adds to our code: the same answers, few jobs, and errors in words.

All tests that need no driver process of their own are here: a session takes seconds to start, and tests that
run side by side share it only within a file.
"""

import os
import shutil
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from fakes.history.damaged_pages import damage_pages
from fakes.history.history_rows import history, proof
from fakes.history.inline_spark import InlineSpark
from pyspark.sql import SparkSession

from checkers.damage import write
from checkers.errors import MalformedHistory
from checkers.history.load import load_context, replica_files
from checkers.history.rows import Replica, TopicPartition
from checkers.history.tables import unit_path, write_table
from checkers.properties import Property
from spark_verify.audit import audit
from spark_verify.errors import SessionFailed, WorkerFailed
from spark_verify.selftest.fuzz import fuzz
from spark_verify.session.jobs import run
from spark_verify.synthetic import TOPIC, Shape, write_history
from spark_verify.verify import verify

REAL = Path(__file__).parents[1] / "fixtures/segments"


def test_30_random_damaged_histories_are_judged_as_the_reference_judges_them(spark, tmp_path):
    outcome = fuzz(11, range(30), spark, tmp_path)
    assert outcome.mismatches == []
    assert outcome.survivors == []
    assert (outcome.compared, outcome.alone) == (30, 1)
    assert outcome.violated > 12


def test_a_healthy_history_is_decided_by_one_job(spark, tmp_path):
    write_history(tmp_path, Shape(sends=20_000))
    spark.sparkContext.setJobGroup("healthy", "a healthy history")
    judgement = verify(tmp_path, spark)
    assert len(spark.sparkContext.statusTracker().getJobIdsForGroup("healthy")) == 1
    assert judgement.anomalies == ()
    assert judgement.totals.sends == 20_000
    assert judgement.examined[Property.REAL_TIME_ORDER] == judgement.totals.log_records > 19_900


def test_the_loss_of_half_of_all_records_is_decided_record_by_record(spark, tmp_path):
    """100,000 lost records are as many suspects, which workers and driver must hold at once."""
    write_history(tmp_path, Shape(sends=200_000, partitions=4))
    dropped = acks_dropped = 0
    for partition in range(4):
        path = unit_path(tmp_path, "final_log", TOPIC, partition)
        log = pq.read_table(path, partitioning=None)
        kept = len(log) // 2
        write_table(path, "final_log", log.slice(0, kept), TOPIC, partition)
        sends = pq.read_table(unit_path(tmp_path, "sends", TOPIC, partition), partitioning=None)
        dropped += len(log) - kept
        acks_dropped += pc.sum(pc.greater_equal(sends["offset"], kept)).as_py()
    assert acks_dropped > 99_000
    found = Counter(anomaly.property for anomaly in verify(tmp_path, spark).anomalies)
    assert found == {
        Property.ACKED_LOSS: acks_dropped,
        Property.HW_LOSS: dropped,
        Property.READ_UNCOMMITTED: dropped,
        Property.OFFSET_GAP: 4,
    }


def test_the_audit_gives_what_it_gives_in_one_process(tmp_path: Path, spark: SparkSession) -> None:
    """Workers read replicas that Kafka wrote, and write their batches."""
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


def test_results_come_back_in_the_order_of_the_items(spark):
    items = [f"{number:b}" for number in range(100)]
    assert run(spark, len, items, weight=len) == [len(item) for item in items]
    assert run(spark, len, [], weight=len) == []


def test_workers_do_not_search_what_they_have_imported_for_garbage(spark):
    """Spark has them collect after every task; it would cost more than many a task does."""
    searched = ["len(__import__('gc').get_objects())"] * 4
    for _ in range(3):  # each worker has had its second task then
        run(spark, eval, searched, weight=len)
    assert max(run(spark, eval, searched, weight=len)) < 5_000


def test_a_defect_on_a_worker_comes_back_with_its_own_traceback_only(spark):
    with pytest.raises(WorkerFailed, match=r"invalid literal for int") as caught:
        run(spark, int, ["1", "no number"], weight=len)
    assert "java" not in str(caught.value)


def test_a_damaged_page_comes_back_from_a_worker_as_what_it_is(tmp_path, spark):
    write_history(tmp_path, Shape(sends=2_000, partitions=2, producers=3))
    path = damage_pages(unit_path(tmp_path, "reads", TOPIC, 0))
    with pytest.raises(MalformedHistory) as caught:
        verify(tmp_path, spark)
    assert caught.value.file == path


def test_a_worker_that_dies_is_an_error_of_one_line(spark):
    """A Java stack trace would help nobody."""
    with pytest.raises(SessionFailed, match="the Spark job failed: ") as caught:
        run(spark, os._exit, [3], weight=int)
    assert str(caught.value).count("\n") == 0
    assert run(spark, len, ["still"], weight=len) == [5], "the session outlives its workers"
