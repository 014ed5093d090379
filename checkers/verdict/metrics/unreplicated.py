"""How many offsets a leader had that its in-sync replicas did not have yet.

Invariant: a leader's high watermark does not fall under one leader epoch. So a log end that was measured
before a high watermark of the same leader and epoch was asked for lay at least their difference beyond the
high watermark of its own time.
Evidence: the samples of log ends and of watermarks; both ask each broker by itself.
Counterexample to "log end and high watermark of one sample may be subtracted":
    the high watermark 100 is measured, 50 records are appended and replicated, the log end 150 is measured:
    at no time was there a record that the followers lacked
"""

from collections.abc import Mapping, Sequence

import numpy as np

from checkers.history.columnar import Array, Ints, columns_of
from checkers.history.rows import ReplicaOffset, TopicPartition, Watermark
from checkers.history.tables import NONE
from checkers.verdict.metrics.metric import Measured

PLACED = ("topic", "partition", "leader_epoch", "at_ns", "asked_ns")


def most_unreplicated(watermarks: Sequence[Watermark], log_ends: Sequence[ReplicaOffset]) -> Measured:
    """Offsets, a lower bound, with the partition; unknown where no high watermark was asked for after a log
    end of the same leader. Takes the memory of some columns of the samples."""
    ends = columns_of(log_ends, (*PLACED, "broker", "log_end", "source"))
    marks = columns_of(watermarks, (*PLACED, "leader", "high_watermark"))
    ends = _where(ends, (ends["source"] == "live") & _known(ends, "leader_epoch", "log_end"))
    marks = _where(marks, _known(marks, "leader", "leader_epoch", "high_watermark"))
    asked_ns = np.where(marks["asked_ns"] == NONE, marks["at_ns"], marks["asked_ns"])
    by_leader = _leaders([ends, marks], ["broker", "leader"])
    at_ns = np.concatenate([ends["at_ns"], asked_ns])
    is_mark = np.arange(len(at_ns)) >= len(ends["at_ns"])
    offsets = np.concatenate([ends["log_end"], marks["high_watermark"]])
    order = np.lexsort([is_mark, at_ns, by_leader])
    following = _next_mark(is_mark[order])
    known = ~is_mark[order] & (following < len(order))
    end, mark = order[known], order[following[known]]
    same = by_leader[end] == by_leader[mark]
    end, mark = end[same], mark[same]
    if not len(end):
        return Measured(value=None, unknown="no high watermark was sampled after a log end of its leader")
    beyond = offsets[end] - offsets[mark]
    most = int(beyond.argmax())
    if beyond[most] <= 0:
        return Measured(value=0.0)
    tp = TopicPartition(str(ends["topic"][end[most]]), int(ends["partition"][end[most]]))
    return Measured(value=float(beyond[most]), where=str(tp))


def _where(columns: Mapping[str, Array], keep: Array) -> Mapping[str, Array]:
    return {name: column[keep] for name, column in columns.items()}


def _known(columns: Mapping[str, Array], *names: str) -> Array:
    known: Array = np.all([columns[name] != NONE for name in names], axis=0)
    return known


def _leaders(tables: Sequence[Mapping[str, Array]], brokers: Sequence[str]) -> Ints:
    """A number for each row of the tables, one after the other: equal for one broker, partition and epoch."""
    topics: dict[str, int] = {}
    keys = [
        np.stack(
            [
                np.array([topics.setdefault(name, len(topics)) for name in its["topic"].tolist()], np.int64),
                *(its[name].astype(np.int64) for name in ("partition", "leader_epoch", broker)),
            ]
        )
        for its, broker in zip(tables, brokers, strict=True)
    ]
    _, numbers = np.unique(np.concatenate(keys, axis=1), axis=1, return_inverse=True)
    return numbers.reshape(-1).astype(np.int64)


def _next_mark(is_mark: Array) -> Ints:
    """The place of the first mark at or after each place, shape (rows,); behind the last place for none."""
    places = np.where(is_mark, np.arange(len(is_mark)), len(is_mark))
    return np.minimum.accumulate(places[::-1])[::-1].astype(np.int64)
