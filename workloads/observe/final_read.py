"""The final read: what is in every partition after all is healed, and the proof that it is all.

A partition is proven iff, in this order,
    1. every broker answers and names the same leader and epoch, and every replica is in sync;
    2. that leader reports log start, last stable offset, high watermark and log end in that epoch;
    3. a fresh consumer has read from the log start to the high watermark;
    4. every broker answers again, and 1 and 2 give the same: leader, epoch, log start and high watermark;
    5. the last stable offset is the high watermark: no transaction is open.
Nobody may write meanwhile. Until the deadline, which follows from what there is to read, whatever does not
hold is tried again; then the proof is incomplete, with the last reason, and the verdict UNKNOWN: never a
guess.

All replicas being in sync, the high watermark comes to the leader's log end by itself, and that is waited
for too. If it has not by the deadline, the proof is complete all the same: what lies between is on the
leader's disk, is undecided, and shows in the proof's log_end.
"""

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from threading import Event

import pyarrow as pa

from checkers.history.rows import Proof, TopicPartition
from checkers.history.tables import NONE, TABLES, unit_path, write_table
from compose.kafka.brokers import Brokers
from workloads.clients.consumer import exact_reader
from workloads.clients.protocol import OpenLogReader
from workloads.observe.leaders import LeaderState
from workloads.observe.partition_logs import LogsHere, PartitionLogs, Reached
from workloads.observe.read_apart import LogsApart, processors
from workloads.observe.replica_offsets import ReplicaState, columns
from workloads.observe.survey import Survey, survey
from workloads.record.journal import Journal

APART_RECORDS = 1_000_000
"""So many take longer to read here, at 2 us each, than other processes take to start, a second for two."""

LEAST_READ_PER_S = 10_000
"""Records a second, of all partitions together: two busy processors read more than ten times as many."""

ROUND_S = 0.1
ANSWER_WITHIN_S = 4.0
"""A survey asks a broker six questions in a row."""


def final_read(
    bootstrap: str,
    partitions: Sequence[TopicPartition],
    history: Path,
    *,
    within_s: float,
    run: str = "",
    open_reader: OpenLogReader | None = None,
    replica_offsets: Journal | None = None,
    stop: Event | None = None,
) -> tuple[Proof, ...]:
    """Read `partitions` to a proven end; one proof each, in their order.

    It may take `within_s` seconds, and as long as reading the records that there are takes a slow machine.
    Once `stop` is set it is broken off: what has no proof by then gets none.

    Writes `history`/final_log, one file for each partition, whole or as far as it was read, stamped with the
    run's id `run`. The proofs are only returned: see `write_proofs`. `open_reader` None: librdkafka's. How
    far each replica reached when the read ended goes to `replica_offsets`.
    """

    def open_logs(records: Mapping[TopicPartition, int]) -> PartitionLogs:
        if open_reader is None and processors() > 1 and sum(records.values()) >= APART_RECORDS:
            return LogsApart(records, bootstrap, history, run, count=processors())
        return LogsHere(partitions, history, open_reader or exact_reader(bootstrap), run)

    begin, stop = time.monotonic(), stop or Event()
    with (
        _FinalRead(partitions, open_logs, stop) as reading,
        Brokers(bootstrap, within_s=ANSWER_WITHIN_S) as brokers,
    ):
        while reading.open and time.monotonic() < (deadline := begin + within_s + reading.takes_s):
            reading.round(brokers, deadline)
            if stop.wait(0 if reading.moved else ROUND_S):
                break
        if replica_offsets is not None and reading.replicas:
            replica_offsets.write(columns(list(reading.replicas.values())))
        return reading.finish()


def write_proofs(history: Path, proofs: Sequence[Proof], run: str = "") -> None:
    """Write `history`/proofs.parquet."""
    rows = pa.Table.from_pylist([asdict(proof) for proof in proofs], TABLES["proofs"])
    write_table(unit_path(history, "proofs"), "proofs", rows, run=run)


OpenLogs = Callable[[Mapping[TopicPartition, int]], PartitionLogs]
"""By how many records there are of each partition."""


class _FinalRead:
    """What is known so far of each partition."""

    def __init__(self, partitions: Sequence[TopicPartition], open_logs: OpenLogs, stop: Event) -> None:
        self._partitions, self._open_logs, self._stop = partitions, open_logs, stop
        self.moved = False
        """Whether the last round has proven anything."""
        self._logs: PartitionLogs | None = None
        self._reached = dict.fromkeys(partitions, Reached())
        self._proven: dict[TopicPartition, Proof] = {}
        self._reasons = dict.fromkeys(partitions, "the time was up before the first question")
        self._newest: dict[TopicPartition, LeaderState] = {}
        self._unreplicated: dict[TopicPartition, Proof] = {}
        self.replicas: dict[tuple[TopicPartition, int], tuple[int, ReplicaState]] = {}
        """The newest state of each replica, and when it was asked for."""

    @property
    def open(self) -> list[TopicPartition]:
        """Partitions without a proof."""
        return [tp for tp in self._partitions if tp not in self._proven]

    @property
    def takes_s(self) -> float:
        """How long reading all that is there takes a slow machine, as far as it is known yet."""
        return sum(_records(state) for state in self._newest.values()) / LEAST_READ_PER_S

    def round(self, brokers: Brokers, deadline: float) -> None:
        """Survey, read what is settled, survey again; then a partition that is as it was is proven."""
        self._unreplicated.clear()
        before = self._survey(brokers, self.open)
        self._newest |= before.newest
        self._reasons |= before.unsettled
        ready = list(before.settled.values())
        if ready:
            self._reached |= self._opened().read(ready, deadline, self._stop)
            after = self._survey(brokers, [state.tp for state in ready])
            for state in ready:
                self._decide(state, after)
        self.moved = any(state.tp in self._proven for state in ready)

    def _opened(self) -> PartitionLogs:
        """The logs, opened when it is known how much there is to read."""
        if self._logs is None:
            records = {tp: _records(self._newest[tp]) if tp in self._newest else 0 for tp in self._partitions}
            self._logs = self._open_logs(records)
        return self._logs

    def _survey(self, brokers: Brokers, partitions: Collection[TopicPartition]) -> Survey:
        found = survey(brokers, partitions)
        self.replicas |= {(state.tp, state.broker): (found.at_ns, state) for state in found.replicas}
        return found

    def _decide(self, before: LeaderState, after: Survey) -> None:
        """Prove a partition that was read, or note why it is not proven."""
        tp = before.tp
        if reason := self._reached[tp].short or after.unsettled.get(tp) or moved(before, after.settled[tp]):
            self._reasons[tp] = reason
            return
        state = after.settled[tp]
        if state.last_stable != state.high_watermark:
            self._reasons[tp] = unstable(state)
            return
        proofs = self._unreplicated if state.log_end > state.high_watermark else self._proven
        proofs[tp] = self._proof(tp, after.at_ns, state, "")

    def finish(self) -> tuple[Proof, ...]:
        """Close the files; the proofs, incomplete ones for what is still open."""
        self._opened().finish()
        return tuple(
            self._proven.get(tp) or self._unreplicated.get(tp) or self._unproven(tp)
            for tp in self._partitions
        )

    def _unproven(self, tp: TopicPartition) -> Proof:
        """What was reported last, with the time of that: it may be long ago."""
        state = self._newest.get(tp)
        asked_ns = NONE if state is None else state.asked_ns
        at_ns = time.monotonic_ns() if asked_ns == NONE else asked_ns
        return self._proof(tp, at_ns, state, self._reasons[tp])

    def __enter__(self) -> "_FinalRead":
        """Nothing to do yet."""
        return self

    def __exit__(self, *_: object) -> None:
        """End what reads."""
        if self._logs is not None:
            self._logs.close()

    def _proof(self, tp: TopicPartition, at_ns: int, state: LeaderState | None, reason: str) -> Proof:
        return Proof(
            **tp._asdict(),
            at_ns=at_ns,
            log_start=state.log_start if state else NONE,
            high_watermark=state.high_watermark if state else NONE,
            last_stable=state.last_stable if state else NONE,
            log_end=max(state.high_watermark, state.log_end) if state else NONE,
            read_to=self._reached[tp].read_to,
            replicas=state.replicas if state else (),
            isr=state.isr if state else (),
            complete=not reason,
            reason=reason,
        )


def _records(state: LeaderState) -> int:
    """Offsets from the log start to the high watermark; 0 if they were not reported."""
    return max(0, state.high_watermark - max(0, state.log_start))


def unstable(state: LeaderState) -> str:
    """Why a partition whose last stable offset is not its high watermark has no proof."""
    stable, high_watermark = state.last_stable, state.high_watermark
    return f"the last stable offset is {stable}, the high watermark {high_watermark}: a transaction is open"


def moved(before: LeaderState, after: LeaderState) -> str:
    """What changed while the partition was read; "" if nothing did."""
    names = ("leader", "leader_epoch", "log_start", "high_watermark")
    moved = [name for name in names if getattr(before, name) != getattr(after, name)]
    changes = (f"{name} {getattr(before, name)} became {getattr(after, name)}" for name in moved)
    return ", ".join(changes) + " while it was read" if moved else ""
