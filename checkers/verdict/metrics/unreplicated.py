"""How many offsets a leader had that were not replicated yet when another broker took its place.

Invariant: a leader's high watermark does not fall under one leader epoch. So a log end that was measured
before a high watermark of the same leader and epoch was asked for lay at least their difference beyond the
high watermark of its own time. Of each leader the last such pair counts, if another broker led after it.
Evidence: the samples of log ends and of watermarks; both ask each broker by itself.
Counterexample to "log end and high watermark of one sample may be subtracted":
    the high watermark 100 is measured, 50 records are appended and replicated, the log end 150 is measured:
    at no time was there a record that the followers lacked
Counterexample to "the most at any time is what the election found":
    broker 2 dies; partitions that it follows have 900 offsets beyond their high watermarks until it is out of
    their ISR, and keep their leaders; what it led itself was replicated to the last record
"""

from collections.abc import Mapping, Sequence

import numpy as np

from checkers.history.columnar import Array, Ints, columns_of
from checkers.history.rows import ReplicaOffset, TopicPartition, Watermark
from checkers.history.tables import NONE
from checkers.verdict.metrics.metric import Measured
from checkers.verdict.metrics.zombies import begun_ns, deposed

PLACED = ("topic", "partition", "leader_epoch", "at_ns", "asked_ns")


def unreplicated_at_election(watermarks: Sequence[Watermark], log_ends: Sequence[ReplicaOffset]) -> Measured:
    """Offsets, a lower bound, with the partition; unknown where no high watermark was asked for after a log
    end of the same leader. Takes the memory of some columns of the samples."""
    ends = columns_of(log_ends, (*PLACED, "broker", "log_end", "source"))
    marks = columns_of(watermarks, (*PLACED, "leader", "high_watermark"))
    ends = _where(ends, (ends["source"] == "live") & _known(ends, "leader_epoch", "log_end"))
    marks = _where(marks, _known(marks, "leader", "leader_epoch", "high_watermark"))
    leaders, of = np.unique(_leaders([ends, marks], ["broker", "leader"]), axis=1, return_inverse=True)
    of = of.reshape(-1)
    claims = np.unique(of[len(ends["at_ns"]) :])
    end, mark = _pairs(of, ends["at_ns"], begun_ns(marks))
    if not len(end):
        return Measured(value=None, unknown="no high watermark was sampled after a log end of its leader")
    replaced = claims[[at for at, _ in deposed(leaders[:, claims])]]
    last = np.append(of[end[1:]] != of[end[:-1]], True) & np.isin(of[end], replaced)
    beyond = ends["log_end"][end[last]] - marks["high_watermark"][mark[last]]
    if not len(beyond) or beyond.max() <= 0:
        return Measured(value=0.0)
    most = end[last][beyond.argmax()]
    tp = TopicPartition(str(ends["topic"][most]), int(ends["partition"][most]))
    return Measured(value=float(beyond.max()), where=str(tp))


def _where(columns: Mapping[str, Array], keep: Array) -> Mapping[str, Array]:
    return {name: column[keep] for name, column in columns.items()}


def _known(columns: Mapping[str, Array], *names: str) -> Array:
    known: Array = np.all([columns[name] != NONE for name in names], axis=0)
    return known


def _leaders(tables: Sequence[Mapping[str, Array]], brokers: Sequence[str]) -> Ints:
    """Topic, partition, epoch and broker of each row of the tables, one table after the other, shape
    (4, rows)."""
    topics: dict[str, int] = {}
    keys = [
        [
            np.array([topics.setdefault(name, len(topics)) for name in its["topic"].tolist()], np.int64),
            *(its[name].astype(np.int64) for name in ("partition", "leader_epoch", broker)),
        ]
        for its, broker in zip(tables, brokers, strict=True)
    ]
    return np.concatenate([np.stack(each) for each in keys], axis=1)


def _pairs(of: Ints, ends_ns: Array, marks_ns: Array) -> tuple[Ints, Ints]:
    """Places of log ends, and of the first high watermark of the same leader that was asked for after each,
    by leader and time; those without one are left out. `of` numbers the leaders of the ends, then the marks.
    """
    is_mark = np.arange(len(of)) >= len(ends_ns)
    order = np.lexsort([is_mark, np.concatenate([ends_ns, marks_ns]), of])
    places = np.where(is_mark[order], np.arange(len(order)), len(order))
    following = np.minimum.accumulate(places[::-1])[::-1]
    known = ~is_mark[order] & (following < len(order))
    end, mark = order[known], order[following[known]]
    same = of[end] == of[mark]
    return end[same], mark[same] - len(ends_ns)
