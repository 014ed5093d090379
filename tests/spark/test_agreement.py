"""The Spark verdict is the reference's verdict, on random histories and on large ones whose damage is
known."""

from random import Random

from inline_spark import InlineSpark

from checkers.damage import random_history, write
from checkers.judgement import Property
from checkers.load import load
from checkers.reference import check
from spark_verify.fuzz import fuzz, specimen
from spark_verify.synthetic import Shape, write_history
from spark_verify.verify import verify


def test_300_random_damaged_histories_are_judged_as_the_reference_judges_them(spark, tmp_path):
    outcome = fuzz((specimen(11, number) for number in range(300)), spark, tmp_path)
    assert outcome.mismatches == []
    assert outcome.survivors == []
    assert (outcome.compared, outcome.alone) == (300, 3)
    assert outcome.violated > 100


def test_2000_random_damaged_histories_are_judged_alike_without_a_jvm(tmp_path):
    outcome = fuzz((specimen(12, number) for number in range(500)), InlineSpark(), tmp_path)
    assert (outcome.mismatches, outcome.survivors) == ([], [])


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
