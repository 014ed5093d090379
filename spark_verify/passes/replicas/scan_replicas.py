"""The replicas of one partition, on a worker: their batches against what was read and against each other.

Memory: 75 bytes a batch of every judged replica, and what is wrong. The final log and the sends pass by.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from checkers.history.records.digest import mix
from checkers.history.rows import ProducerState, Replica
from checkers.history.tables import Outcome
from checkers.places import place_of
from spark_verify.kernels.final_log import LOG_COLUMNS
from spark_verify.kernels.replicas.between import AgainstRead, Compared
from spark_verify.kernels.replicas.checkpoints import contradictions
from spark_verify.kernels.replicas.log import BatchLog, ReplicaLog, Runs, read_columns, whole
from spark_verify.kernels.replicas.within import damaged, falling_epochs, out_of_sequence
from spark_verify.partition_task import Ints, PartitionTask, Window


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplicaTask:
    """One partition and what is known of its replicas before any batch is read."""

    partition: PartitionTask
    replicas: Sequence[Replica]
    states: Sequence[ProducerState]
    files: Mapping[int, Sequence[str]]
    """By broker, in the order of the log."""
    named: frozenset[int]
    """The brokers that the proof names."""
    compacted: bool
    rows: int
    """In all files that are read: the weight of the task."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplicaUnits:
    """How many units of each kind there are."""

    replicas: int = 0
    batches: int = 0
    below: int = 0
    """Batches below the high watermark."""
    epochs: int = 0

    def __add__(self, other: "ReplicaUnits") -> "ReplicaUnits":
        return ReplicaUnits(
            replicas=self.replicas + other.replicas,
            batches=self.batches + other.batches,
            below=self.below + other.below,
            epochs=self.epochs + other.epochs,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplicaScan:
    """What was found in the replicas of one partition. `runs` are by property, and none is empty."""

    every: ReplicaUnits = ReplicaUnits()
    examined: ReplicaUnits = ReplicaUnits()
    runs: Mapping[str, Sequence[Runs]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Read:
    """The replicas of a partition as read: judged ones, and of the others the number of batches."""

    judged: Sequence[ReplicaLog]
    others: Sequence[int]
    epochs: frozenset[int]
    """Of all batches of all of them."""


def scan_replicas(task: ReplicaTask) -> ReplicaScan:
    """Judge the replicas of one partition; raises MalformedHistory."""
    read = _read(task)
    window = task.partition.window
    every = _unjudged(read.others) + ReplicaUnits(epochs=len(read.epochs))
    if not (window and read.judged):
        return ReplicaScan(every=every)
    against = _against_read(task.partition, read.judged, window)
    units = [_units(each, window) for each in against]
    examined = sum((examined for _, examined in units), ReplicaUnits())
    if not read.others:
        examined += ReplicaUnits(epochs=len(_epochs(read.judged)))
    return ReplicaScan(
        every=sum((its for its, _ in units), every),
        examined=examined,
        runs=_runs(task.partition, against, window),
    )


def _read(task: ReplicaTask) -> _Read:
    rows = {row.broker: row for row in task.replicas}
    judged, others, epochs = [], [], set()
    for broker in sorted({*rows, *task.files, *task.named}):
        row, paths = rows.get(broker), [place_of(path) for path in task.files.get(broker, ())]
        if row and row.complete and task.partition.window and not task.compacted:
            columns = read_columns(paths, task.partition.tp, broker)
            judged.append(_log(task, row, task.partition.window, columns))
        else:
            columns = read_columns(paths, task.partition.tp, broker, ("leader_epoch",))
            others.append(len(columns["leader_epoch"]))
        epochs.update(np.unique(columns["leader_epoch"]).tolist())
    return _Read(judged=judged, others=others, epochs=frozenset(epochs))


def _log(task: ReplicaTask, row: Replica, window: Window, columns: Mapping[str, Ints]) -> ReplicaLog:
    return ReplicaLog(
        replica=row,
        states=[state for state in task.states if state.broker == row.broker],
        batches=BatchLog(whole(dict(columns), clean=row.clean)),
        read=len(columns["base_offset"]),
        high_watermark=window.high_watermark,
    )


def _against_read(task: PartitionTask, logs: Sequence[ReplicaLog], window: Window) -> list[AgainstRead]:
    against = [AgainstRead(log, window.log_start) for log in logs]
    for batch in task.batches("final_log", LOG_COLUMNS):
        mixed = mix(*(batch[name] for name in ("offset", "producer", "sequence", "checksum")))
        for each in against:
            each.add(batch["offset"], mixed)
    return against


def _runs(task: PartitionTask, against: Sequence[AgainstRead], window: Window) -> dict[str, tuple[Runs, ...]]:
    compared, logs = Compared(against), [each.log for each in against]
    diverging = [found for found in compared.divergence(window.log_start) if len(found.first)]
    every = {
        "divergence": list(_with_acks(task, diverging)),
        "log-matching": list(compared.log_matching()),
        "one-leader": list(compared.one_leader()),
        "crc": [damaged(log) for log in logs],
        "epoch-monotone": [falling_epochs(log) for log in logs],
        "sequence-dense": [out_of_sequence(log) for log in logs],
        "checkpoint-sane": [contradictions(log) for log in logs],
    }
    some = {name: tuple(each for each in found if len(each.first)) for name, found in every.items()}
    return {name: found for name, found in some.items() if found}


def _with_acks(task: PartitionTask, diverging: Sequence[Runs]) -> Iterator[Runs]:
    """The runs with one more evidence: how many sends were acknowledged at their offsets."""
    acked = [np.zeros(len(each.first), np.int64) for each in diverging]
    for batch in task.batches("sends", ("outcome", "offset")) if diverging else ():
        offset = np.sort(batch["offset"][batch["outcome"] == Outcome.OK])
        for count, each in zip(acked, diverging, strict=True):
            count += np.searchsorted(offset, each.last, "right") - np.searchsorted(offset, each.first)
    for count, each in zip(acked, diverging, strict=True):
        yield replace(each, evidence={**each.evidence, "acked": count})


def _unjudged(others: Sequence[int]) -> ReplicaUnits:
    """Replicas that could not be judged, from the number of their batches: each counts as one at least."""
    batches = sum(max(1, rows) for rows in others)
    return ReplicaUnits(replicas=len(others), batches=batches, below=batches)


def _units(against: AgainstRead, window: Window) -> tuple[ReplicaUnits, ReplicaUnits]:
    """All units of a judged replica, and the examined ones; both without epochs."""
    log = against.log
    above_start = int(np.count_nonzero(log.batches.base >= window.log_start))
    cut = int(log.limit < window.high_watermark)
    torn = log.read - len(log.batches)
    return (
        ReplicaUnits(replicas=1, batches=log.read, below=above_start + torn + cut),
        ReplicaUnits(
            replicas=int(log.replica.clean),
            batches=len(log.batches),
            below=int(np.count_nonzero(against.comparable())),
        ),
    )


def _epochs(logs: Sequence[ReplicaLog]) -> set[int]:
    return {epoch for log in logs for epoch in np.unique(log.batches.leader_epoch).tolist()}
