"""What goes wrong on a worker reaches the user in words, not as a Java stack trace."""

import os

import pytest

from spark_verify.errors import SessionFailed, WorkerFailed
from spark_verify.session.jobs import run


def test_results_come_back_in_the_order_of_the_items(spark):
    items = [f"{number:b}" for number in range(100)]
    assert run(spark, len, items, weight=len) == [len(item) for item in items]
    assert run(spark, len, [], weight=len) == []


def test_a_defect_on_a_worker_comes_back_with_its_own_traceback_only(spark):
    with pytest.raises(WorkerFailed, match=r"invalid literal for int") as caught:
        run(spark, int, ["1", "no number"], weight=len)
    assert "java" not in str(caught.value)


def test_a_worker_that_dies_is_an_error_of_one_line(spark):
    with pytest.raises(SessionFailed, match="the Spark job failed: ") as caught:
        run(spark, os._exit, [3], weight=int)
    assert str(caught.value).count("\n") == 0
    assert run(spark, len, ["still"], weight=len) == [5], "the session outlives its workers"
