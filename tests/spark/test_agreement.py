"""The Spark verdict is the reference's verdict, on random histories and on large ones whose damage is
known."""

from collections import Counter
from random import Random

import pyarrow.compute as pc
import pyarrow.parquet as pq
from fakes.inline_spark import InlineSpark

from checkers.damage import random_history, write
from checkers.history.load import load
from checkers.history.tables import unit_path, write_table
from checkers.properties import Property
from checkers.reference import check
from spark_verify.selftest.fuzz import fuzz
from spark_verify.synthetic import TOPIC, Shape, write_history
from spark_verify.verify import verify


def test_60_random_damaged_histories_are_judged_as_the_reference_judges_them(spark, tmp_path):
    outcome = fuzz(11, range(60), spark, tmp_path)
    assert outcome.mismatches == []
    assert outcome.survivors == []
    assert (outcome.compared, outcome.alone) == (60, 1)
    assert outcome.violated > 25


def test_a_history_in_memory_and_its_files_are_judged_alike(tmp_path):
    """The fuzz compares with the history that was written; this one with what the reference reads back."""
    history = random_history(Random(3))
    write(history, tmp_path)
    assert verify(tmp_path, InlineSpark()).key() == check(load(tmp_path)).key()


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


def test_a_partition_without_proof_is_counted_and_otherwise_left_alone(tmp_path):
    write_history(tmp_path, Shape(sends=4_000, partitions=2))
    path = unit_path(tmp_path, "proofs")
    proofs = pq.read_table(path)
    write_table(path, "proofs", proofs.slice(0, 1))
    judgement = verify(tmp_path, InlineSpark())
    assert judgement.key() == check(load(tmp_path)).key()
    assert [(u.topic, u.partition, u.reason) for u in judgement.undecided_partitions] == [
        (TOPIC, 1, "no final read")
    ]
    assert judgement.totals.sends == 4_000
    assert 1_900 < judgement.undecided[Property.ACKED_LOSS] <= 2_000
