"""Runs a function on many items as one Spark job, each task with about the same weight, and brings the
results back.

What goes wrong on a worker comes back as data: a broken history as the MalformedHistory it is, and a
defect of ours with its own traceback, instead of a page of Java's.
"""

import gc
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import count
from typing import TYPE_CHECKING, TypeVar

from checkers.errors import MalformedHistory
from spark_verify.errors import SessionFailed, WorkerFailed

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Item = TypeVar("Item")
Result = TypeVar("Result")

_TASKS_PER_CORE = 4
"""The most: fewer leave a core idle at the end, more cost 10 ms each."""
_TASKS_BEGUN = count()
"""In this process, if it is a worker."""
_LEAST_WEIGHT = 200_000
"""Of a task, if a core has several: so many rows take some 60 ms."""


@dataclass(frozen=True, slots=True)
class _Failure:
    error: MalformedHistory | WorkerFailed


def run(
    spark: "SparkSession",
    function: Callable[[Item], Result],
    items: Sequence[Item],
    weight: Callable[[Item], int],
) -> list[Result]:
    """The function's result for each item, in order; raises what went wrong with the first item that failed.

    The function must be importable on workers (not a closure), its items and results picklable.
    """
    if not items:
        return []
    context = spark.sparkContext
    with spark_errors():
        weights = [weight(item) for item in items]
        groups = balanced(weights, most_tasks(sum(weights), cores(spark)))
        tasks = [[(index, items[index]) for index in group] for group in groups]
        answers = context.parallelize(tasks, len(tasks)).flatMap(partial(_work, function)).collect()
    answers.sort(key=lambda answer: answer[0])
    return [_value(answer) for _, answer in answers]


@contextmanager
def spark_errors() -> Iterator[None]:
    """What py4j raises when a job fails or the JVM is gone becomes SessionFailed, in one line."""
    from py4j.protocol import Py4JError  # type: ignore[import-untyped]

    try:
        yield
    except (Py4JError, OSError) as error:
        lines = str(getattr(error, "java_exception", error)).splitlines() or [type(error).__name__]
        raise SessionFailed(f"the Spark job failed: {lines[0]}") from None


def cores(spark: "SparkSession") -> int:
    """How many tasks run side by side; SessionFailed if the JVM is gone."""
    with spark_errors():
        return int(spark.sparkContext.defaultParallelism)


def _value(answer: Result | _Failure) -> Result:
    if isinstance(answer, _Failure):
        raise answer.error
    return answer


def most_tasks(weight: int, on_cores: int) -> int:
    """Into how many tasks items of so much weight in all are divided: as many for each core."""
    return on_cores * max(1, min(_TASKS_PER_CORE, weight // (on_cores * _LEAST_WEIGHT)))


def balanced(weights: Sequence[int], most: int) -> list[list[int]]:
    """Up to `most` groups of the indexes of the weights, of about equal weight, the heaviest first."""
    groups: list[list[int]] = [[] for _ in range(min(most, len(weights)))]
    loads = [0] * len(groups)
    for index in sorted(range(len(weights)), key=lambda index: -weights[index]):
        lightest = loads.index(min(loads))
        groups[lightest].append(index)
        loads[lightest] += weights[index] + 1
    return groups


def _work(
    function: Callable[[Item], Result], items: Sequence[tuple[int, Item]]
) -> Iterator[tuple[int, Result | _Failure]]:
    _keep_modules()
    for index, item in items:
        try:
            yield index, function(item)
        except MalformedHistory as error:
            yield index, _Failure(error)
        except Exception:  # it would come back as a Java stack trace of a hundred lines
            yield index, _Failure(WorkerFailed(f"a worker failed at {item}:\n{traceback.format_exc()}"))


def _keep_modules() -> None:
    """Take what a worker has imported, also on the way through its first task, out of the garbage collector's
    sight: Spark has it collect garbage after every task, and to look at 80,000 objects that never go costs
    20 to 45 ms each time."""
    from pyspark import TaskContext

    if TaskContext.get() is not None and next(_TASKS_BEGUN) < 2:
        gc.freeze()
