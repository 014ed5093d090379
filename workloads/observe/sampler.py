"""Samples of what each broker reports, several times a second; one thread for each broker.

Of the partitions that it leads: the offsets that only a leader knows, into the watermarks journal. Of every
replica that it has: how far its log reaches, into the replica_offsets journal. Samples of one question have
one time in both; the log end is asked last, so the high watermark of the same time is not above it.

A broker that is dead, paused or cut off costs its own thread a time-out and the other threads nothing.
"""

import threading
import time
from collections.abc import Callable, Sequence
from threading import Event

import numpy as np
import pyarrow as pa

from checkers.history.rows import TopicPartition
from checkers.history.tables import NONE, TABLES
from compose.errors import BrokerSilent
from compose.kafka.brokers import Brokers
from workloads.observe.leaders import LeaderState, state_of
from workloads.observe.replica_offsets import ReplicaOffsets
from workloads.record.journal import Journal

EVERY_S = 0.25
ANSWER_WITHIN_S = 1.0
OLDEST_NS = 1_000_000_000
"""A sample is stamped with the end of its question. One whose question took longer is too old: dropped."""


class Sampler:
    """Writes both journals, and keeps the newest state of each partition for the readers."""

    def __init__(
        self,
        brokers: Brokers,
        partitions: Sequence[TopicPartition],
        watermarks: Journal,
        replicas: ReplicaOffsets,
    ) -> None:
        self._brokers, self._partitions = brokers, partitions
        self._watermarks, self._replicas = watermarks, replicas
        self._question = state_of(partitions)
        self._latest: dict[TopicPartition, LeaderState] = {}
        self._lock = threading.Lock()
        self.samples = 0

    def high_watermark(self, tp: TopicPartition) -> int:
        """The newest high watermark of the greatest leader epoch; -1 before the first sample."""
        state = self._latest.get(tp)
        return NONE if state is None else state.high_watermark

    def last_stable(self, tp: TopicPartition) -> int:
        """The same of the last stable offset."""
        state = self._latest.get(tp)
        return NONE if state is None else state.last_stable

    def states(self) -> tuple[LeaderState, ...]:
        """The newest state of each partition that was sampled yet."""
        return tuple(self._latest.copy().values())

    def sampling(self, number: int) -> Callable[[Event], None]:
        """What one thread does: sample the partitions and replicas of broker `number`, until stopped."""

        def run(stop: Event) -> None:
            while not stop.wait(EVERY_S):
                self._sample(number)
            self._replicas.interrupted(number)

        return run

    def _sample(self, number: int) -> None:
        begin_ns = time.monotonic_ns()
        try:
            report = self._brokers.ask(number, self._question)
        except BrokerSilent:
            self._replicas.interrupted(number)
            return
        at_ns = time.monotonic_ns()
        if at_ns - begin_ns > OLDEST_NS:
            self._replicas.interrupted(number)
            return
        self._replicas.sampled(at_ns, report.replicas)
        if report.led:
            self._record(at_ns, report.led)

    def _record(self, at_ns: int, states: Sequence[LeaderState]) -> None:
        with self._lock:
            for state in states:
                before = self._latest.get(state.tp)
                if before is None or state.leader_epoch >= before.leader_epoch:
                    self._latest[state.tp] = state
            self._watermarks.write(_columns(at_ns, states))
            self.samples += len(states)


def _columns(at_ns: int, states: Sequence[LeaderState]) -> list[pa.Array]:
    """The samples in the columns of the watermarks table."""
    columns = {
        "at_ns": np.full(len(states), at_ns),
        "topic": [state.tp.topic for state in states],
        "partition": [state.tp.partition for state in states],
        **{
            name: [getattr(state, name) for state in states]
            for name in (
                *("leader", "leader_epoch", "isr"),
                *("log_start", "high_watermark", "last_stable", "asked_ns"),
            )
        },
    }
    return [pa.array(columns[field.name], field.type) for field in TABLES["watermarks"]]
