"""How far each replica's own log reaches, as the broker that has it reports.

ListOffsets with Kafka's debugging replica id is answered by every replica, not by the leader only, at the
epoch that it leads or follows. That shows who held which offset when, while all of them run.

A replica is sampled as often as the watermarks. Of a run of equal samples the first and the last are written,
and between them one every HEARTBEAT_NS: between two equal rows no further apart than that nothing else was
sampled, and between two that are further apart nothing was sampled at all.
"""

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from checkers.history.rows import TopicPartition
from checkers.history.tables import NONE, TABLES
from compose.kafka.broker_api import PartitionAnswer
from workloads.record.journal import Journal

HEARTBEAT_NS = 5_000_000_000
LIVE = "live"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplicaState:
    """One replica as its own broker reports it, at the leader epoch that this broker knows.

    `asked_ns` is when it was asked for the log end, which it measured then or later; no part of the state.
    """

    tp: TopicPartition
    broker: int
    leader_epoch: int
    log_start: int
    log_end: int
    asked_ns: int = field(default=NONE, compare=False)


def replicas_of(
    broker: int,
    known: Mapping[TopicPartition, PartitionAnswer],
    log_starts: Mapping[TopicPartition, int],
    log_ends: Mapping[TopicPartition, int],
    asked_ns: int,
) -> tuple[ReplicaState, ...]:
    """The replicas that a broker has, from its answers; without those of which it reports no log end."""
    return tuple(
        ReplicaState(
            tp=tp,
            broker=broker,
            leader_epoch=known[tp].leader_epoch,
            log_start=log_starts[tp],
            log_end=log_ends[tp],
            asked_ns=asked_ns,
        )
        for tp in sorted(log_starts.keys() & log_ends.keys())
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Sample:
    at_ns: int
    state: ReplicaState


class ReplicaOffsets:
    """Writes the samples of all brokers to one journal. Safe to use from threads."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._lock = threading.Lock()
        self._written: dict[tuple[TopicPartition, int], _Sample] = {}
        self._newest: dict[tuple[TopicPartition, int], _Sample] = {}

    def sampled(self, at_ns: int, states: Sequence[ReplicaState]) -> None:
        """Take one broker's samples; what has changed is written, and before it how it was until then."""
        with self._lock:
            self._write([row for state in states for row in self._due(_Sample(at_ns=at_ns, state=state))])

    def interrupted(self, broker: int) -> None:
        """The samples of a broker end for a while, or for good: write the last ones."""
        with self._lock:
            keys = [key for key in self._newest if key[1] == broker]
            last = [self._newest[key] for key in keys if self._newest[key] is not self._written[key]]
            self._write(last)
            for key in keys:
                del self._newest[key], self._written[key]

    def _due(self, now: _Sample) -> list[_Sample]:
        """What is to be written when this sample comes; the state of each replica is updated."""
        key = (now.state.tp, now.state.broker)
        newest, written = self._newest.get(key), self._written.get(key)
        self._newest[key] = now
        if newest is None or written is None:
            due = [now]
        elif newest.state != now.state:
            due = [now] if newest is written else [newest, now]
        else:
            due = [now] if now.at_ns - written.at_ns >= HEARTBEAT_NS else []
        if due:
            self._written[key] = now
        return due

    def _write(self, samples: Sequence[_Sample]) -> None:
        if samples:
            self._journal.write(columns([(sample.at_ns, sample.state) for sample in samples]))


def columns(samples: Sequence[tuple[int, ReplicaState]]) -> list[pa.Array]:
    """Samples, each with its time, in the columns of the replica_offsets table; their source is LIVE."""
    states = [state for _, state in samples]
    values = {
        "at_ns": [at_ns for at_ns, _ in samples],
        "topic": [state.tp.topic for state in states],
        "partition": [state.tp.partition for state in states],
        **{
            name: [getattr(state, name) for state in states]
            for name in ("asked_ns", "broker", "leader_epoch", "log_start", "log_end")
        },
        "source": [LIVE] * len(states),
    }
    return [pa.array(values[field.name], field.type) for field in TABLES["replica_offsets"]]
