"""One replica's own log, by arrays: CRCs, leader epochs along it, sequences of each producer id.

All arrays of batches have shape (n,), in the order of the log.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from spark_verify.kernels.replicas.log import BatchLog, ReplicaLog, Runs, runs
from spark_verify.partition_task import Bools, Ints

SEQUENCES = 1 << 31
"""How many sequences there are before they begin again at 0."""


def damaged(log: ReplicaLog) -> Runs:
    """Batches with a wrong CRC; evidence: segment, position."""
    batches = log.batches
    rows = np.flatnonzero(~batches.crc_ok)
    return _runs(log, rows, {"segment": batches.segment[rows], "position": batches.position[rows]})


def falling_epochs(log: ReplicaLog) -> Runs:
    """Batches under a lower epoch than the batch before; evidence: epoch, before."""
    epoch = log.batches.leader_epoch
    rows = np.flatnonzero(epoch[1:] < epoch[:-1]) + 1
    return _runs(log, rows, {"epoch": epoch[rows], "before": epoch[rows - 1]})


def out_of_sequence(log: ReplicaLog) -> Runs:
    """Batches that a leader would have refused for their sequence or producer epoch.

    Evidence: producer_id, producer_epoch, sequence; `fenced_by` is the higher producer epoch before it, -1
    if there is none, and then `wanted` is the sequence that was next.
    """
    batches = log.batches
    rows = np.flatnonzero((batches.producer_id >= 0) & ((batches.base_sequence >= 0) | batches.control))
    rows = rows[np.argsort(batches.producer_id[rows], kind="stable")]
    producer, epoch = batches.producer_id[rows], batches.producer_epoch[rows].astype(np.int64)
    opens = np.ones(len(rows), bool)
    opens[1:] = producer[1:] != producer[:-1]
    changes = opens.copy()
    changes[1:] |= epoch[1:] != epoch[:-1]
    before = np.concatenate(([-1], epoch[:-1]))[: len(rows)]
    fenced = changes & ~opens & (epoch < before)
    wanted, known = _wanted(batches, rows, opens, changes)
    data = ~batches.control[rows]
    sequence = batches.base_sequence[rows].astype(np.int64)
    found = np.flatnonzero(fenced | (data & known & (sequence != wanted)))
    found = found[np.argsort(rows[found], kind="stable")]
    evidence = {
        "producer_id": producer,
        "producer_epoch": epoch,
        "sequence": sequence,
        "wanted": wanted,
        "fenced_by": np.where(fenced, before, -1),
    }
    return _runs(log, rows[found], {name: column[found] for name, column in evidence.items()})


def _wanted(batches: BatchLog, rows: Ints, opens: Bools, changes: Bools) -> tuple[Ints, Bools]:
    """For each of k rows, by producer id and then in log order, which sequence comes next, and whether that
    is known; both of shape (k,).

    `opens`: the first row of its producer id; `changes`: the first one of its producer epoch in a row. It
    goes on behind the last data batch of that epoch; without one it is 0, and unknown under the first epoch.
    """
    place = np.arange(len(rows))
    data = ~batches.control[rows]
    last_data = np.concatenate(([-1], np.maximum.accumulate(np.where(data, place, -1))))[: len(rows)]
    begin = np.maximum.accumulate(np.where(changes, place, -1))
    goes_on = last_data >= begin
    source = rows[np.maximum(last_data, 0)] if len(rows) else rows
    length = np.maximum(batches.last_offset_delta[source].astype(np.int64), 0) + 1
    following = (batches.base_sequence[source].astype(np.int64) + length) % SEQUENCES
    return np.where(goes_on, following, 0), goes_on | ~opens[np.maximum(begin, 0)]


def _runs(log: ReplicaLog, rows: Ints, evidence: Mapping[str, npt.NDArray[Any]]) -> Runs:
    first, last = log.batches.base[rows], log.batches.last[rows]
    return runs(log.broker, first, last, np.zeros(len(rows), np.int64), evidence)
