"""A stand-in for a Spark session that runs jobs in this process: what is tested with it is our code, in
milliseconds.

It pickles what goes to a task and what comes back, as Spark does.
"""

import pickle
from dataclasses import dataclass, field


class InlineSpark:
    """The part of a session that spark_verify uses; `jobs` counts what it was asked to run."""

    def __init__(self) -> None:
        self.sparkContext = _Context()

    @property
    def jobs(self) -> int:
        return self.sparkContext.jobs


@dataclass
class _Context:
    defaultParallelism: int = 2  # noqa: N815 - Spark's name
    jobs: int = 0

    def parallelize(self, items, slices):
        assert slices == len(items)
        return _Rdd(self, pickle.loads(pickle.dumps(list(items))))

    def broadcast(self, value):
        return _Broadcast(pickle.loads(pickle.dumps(value)))


@dataclass
class _Rdd:
    context: _Context
    items: list
    functions: list = field(default_factory=list)

    def flatMap(self, function):  # noqa: N802 - Spark's name
        return _Rdd(self.context, [made for item in self.items for made in function(item)])

    def collect(self):
        self.context.jobs += 1
        return pickle.loads(pickle.dumps(self.items))


@dataclass
class _Broadcast:
    value: object

    def destroy(self) -> None:
        del self.value
