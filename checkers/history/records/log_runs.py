"""What a history shows of a partition's log without its records: which epochs it holds where, who wrote its
batches. Read from the files, in batches, and only of the partitions that somebody asks about."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from checkers.history.load import open_unit, read_unit, reading, replica_files
from checkers.history.rows import TopicPartition
from checkers.history.tables import REPLICA_BATCHES, unit_path
from checkers.places import Place

Ints = npt.NDArray[np.int64]
BATCH_ROWS = 65_536


class LogRun(NamedTuple):
    """Neighbouring records of the final log that have one leader epoch; offsets are inclusive."""

    epoch: int
    first: int
    last: int


class BatchProducers(NamedTuple):
    """Which idempotent producer wrote each batch of a partition, by offset; arrays of shape (n,), int64."""

    base_offset: Ints
    producer_id: Ints
    producer_epoch: Ints


def runs_of(offsets: Ints, epochs: Ints) -> list[LogRun]:
    """The runs of equal epochs; both of shape (n,), offsets ascending."""
    if not len(offsets):
        return []
    begins = np.concatenate(([0], np.flatnonzero(np.diff(epochs)) + 1))
    ends = np.append(begins[1:], len(offsets)) - 1
    return [
        LogRun(*run)
        for run in zip(*(c.tolist() for c in (epochs[begins], offsets[begins], offsets[ends])), strict=True)
    ]


def log_runs(history_dir: Place, tp: TopicPartition) -> Sequence[LogRun]:
    """The runs of a partition's final log; raises MalformedHistory."""
    found: list[LogRun] = []
    path = unit_path(history_dir, "final_log", *tp)
    with open_unit(path, "final_log", *tp) as file, reading(path):
        for batch in file.iter_batches(BATCH_ROWS, columns=["offset", "leader_epoch"], use_threads=False):
            columns = [batch.column(name).to_numpy() for name in ("offset", "leader_epoch")]
            for run in runs_of(*columns):
                if found and found[-1].epoch == run.epoch:
                    found[-1] = found[-1]._replace(last=run.last)
                else:
                    found.append(run)
    return found


def batch_producers(history_dir: Place, tp: TopicPartition) -> BatchProducers | None:
    """Who wrote the batches of a partition, from the replica with most of them; None if none was read."""
    names = ["broker", "base_offset", "producer_id", "producer_epoch"]
    tables = [read_unit(path, REPLICA_BATCHES, *tp, columns=names) for path in replica_files(history_dir, tp)]
    by_broker: dict[int, list[Ints]] = {}
    for table in tables:
        rows = np.stack([table[name].to_numpy().astype(np.int64) for name in names])
        for broker in np.unique(rows[0]).tolist():
            by_broker.setdefault(broker, []).append(rows[1:, rows[0] == broker])
    return of_most_batches([np.concatenate(parts, axis=1) for parts in by_broker.values()])


def of_most_batches(replicas: Sequence[Ints]) -> BatchProducers | None:
    """From the replica with most batches; of each, its columns of `BatchProducers`, of shape (3, n)."""
    if not replicas:
        return None
    most = max(replicas, key=lambda rows: rows.shape[1])
    return BatchProducers(*most[:, np.argsort(most[0], kind="stable")])
