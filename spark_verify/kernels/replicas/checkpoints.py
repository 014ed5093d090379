"""A replica's checkpoints against its batches. What is compared is small: epochs, and producer ids.

What it finds has the offset where they differ, and a text for people.
"""

from collections.abc import Iterator

import numpy as np

from checkers.history.tables import NONE
from spark_verify.kernels.replicas.log import BatchLog, ReplicaLog, Runs
from spark_verify.kernels.replicas.within import SEQUENCES

Epochs = list[tuple[int, int]]
"""Leader epochs, and where each begins."""
Found = tuple[int, str]


def contradictions(log: ReplicaLog) -> Runs:
    """What the checkpoints say and the log does not; none of a replica that did not stop cleanly."""
    found = [*_offsets(log), *_epochs(log), *_producers(log)] if log.replica.clean else []
    offsets = np.array([offset for offset, _ in found], np.int64)
    texts = np.array([text for _, text in found], object)
    return Runs(broker=log.broker, first=offsets, last=offsets, evidence={"text": texts})


def _offsets(log: ReplicaLog) -> Iterator[Found]:
    row = log.replica
    prefix = f"broker {row.broker}, log from {row.log_start} to {row.log_end}: "
    if row.log_end < row.log_start:
        yield row.log_start, prefix + "it starts behind its end"
    point = row.recovery_point
    if point != NONE and (point < row.log_start or point > row.log_end):
        yield point, prefix + f"its recovery point is {point}"
    if row.log_end < row.hw_checkpoint:
        yield row.hw_checkpoint, prefix + f"its high watermark is {row.hw_checkpoint}"
    if row.torn_bytes > 0:
        yield row.log_end, prefix + f"{row.torn_bytes} bytes follow the last whole batch"


def _epochs(log: ReplicaLog) -> Iterator[Found]:
    batches, row = log.batches, log.replica
    if not batches.in_place.all() or (np.diff(batches.leader_epoch) < 0).any():
        return
    cache: Epochs = list(zip(row.epochs, row.epoch_starts, strict=False))
    for at in range(1, len(cache)):
        if cache[at][0] <= cache[at - 1][0] or cache[at][1] <= cache[at - 1][1]:
            yield (
                cache[at][1],
                f"broker {row.broker}: its epoch cache goes from {cache[at - 1][0]} to {cache[at][0]}",
            )
            return
    logged, cached = _of_batches(batches, row.log_start), _from(cache, row.log_start)
    if len(cached) > len(logged) and cached[len(logged)][1] == row.log_end:
        del cached[len(logged)]
    for at in range(max(len(logged), len(cached))):
        its, noted = logged[at : at + 1], cached[at : at + 1]
        if its != noted:
            text = f"its log has {_words(its)}, its epoch cache {_words(noted)}"
            yield min(start for _, start in its + noted), f"broker {row.broker}: {text}"
            return


def _of_batches(batches: BatchLog, log_start: int) -> Epochs:
    rows = np.flatnonzero((batches.last >= log_start) & (batches.leader_epoch >= 0))
    epoch = batches.leader_epoch[rows]
    changes = np.ones(len(rows), bool)
    changes[1:] = epoch[1:] != epoch[:-1]
    starts = np.maximum(batches.base[rows[changes]], log_start)
    return list(zip(epoch[changes].tolist(), starts.tolist(), strict=True))


def _from(cache: Epochs, log_start: int) -> Epochs:
    """The entries that reach above the log start, the first of them cut off there."""
    below = [at for at, (_, start) in enumerate(cache) if start <= log_start]
    kept = cache[below[-1] :] if below else cache
    return [(epoch, max(start, log_start)) for epoch, start in kept]


def _words(entry: Epochs) -> str:
    return f"epoch {entry[0][0]} from offset {entry[0][1]}" if entry else "no other epoch"


def _producers(log: ReplicaLog) -> Iterator[Found]:
    batches = log.batches
    order = np.argsort(batches.producer_id, kind="stable")
    ids = batches.producer_id[order]
    for state in sorted(log.states, key=lambda each: each.producer_id):
        begin, end = np.searchsorted(ids, (state.producer_id, state.producer_id + 1)).tolist()
        its = order[begin:end]
        if batches.control[its].any():
            continue
        its = its[batches.last[its] < state.snapshot_offset]
        if not its.size or batches.base_sequence[its[-1]] < 0:
            continue
        at = int(its[-1])
        length = max(0, int(batches.last_offset_delta[at]))
        last_sequence = (int(batches.base_sequence[at]) + length) % SEQUENCES
        ended = (int(batches.producer_epoch[at]), last_sequence, int(batches.last[at]))
        noted = (state.producer_epoch, state.last_sequence, state.last_offset)
        if ended != noted:
            yield (
                ended[2],
                f"broker {log.broker}: the log of producer id {state.producer_id} ends with epoch, sequence "
                f"and offset {ended}, the producer snapshot has {noted}",
            )
