"""The final logs of some partitions, read here: some at a time, each in a thread of its own."""

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event
from typing import NamedTuple, Protocol

from checkers.history.rows import TopicPartition
from checkers.history.tables import NONE
from workloads.clients.protocol import OpenLogReader
from workloads.observe.leaders import LeaderState
from workloads.observe.partition_log import PartitionLog

AT_ONCE = 3
"""Partitions read at the same time: the decoding holds the interpreter's lock, more would only queue."""


class Reached(NamedTuple):
    """The next offset after what was read of a partition, -1 before anything was; why that is not its high
    watermark, "" if it is."""

    read_to: int = NONE
    short: str = ""


class PartitionLogs(Protocol):
    """Reads partitions to their ends, and writes each down as one file of the final log."""

    def read(
        self, states: Sequence[LeaderState], deadline: float, stop: Event
    ) -> Mapping[TopicPartition, Reached]:
        """Go on with each of these to its high watermark; see PartitionLog.read."""

    def finish(self) -> None:
        """Close the files, those of partitions of which nothing was read too."""

    def close(self) -> None:
        """End whatever goes on, finished or not; a second call does nothing."""


class LogsHere:
    """Implements PartitionLogs in this process."""

    def __init__(
        self, partitions: Sequence[TopicPartition], history: Path, open_reader: OpenLogReader, run: str
    ) -> None:
        """`run` is the run's id, which the files carry."""
        self._logs = {tp: PartitionLog(tp, history, open_reader, run) for tp in partitions}
        self._pool = ThreadPoolExecutor(AT_ONCE, "final-read")

    def read(
        self, states: Sequence[LeaderState], deadline: float, stop: Event
    ) -> dict[TopicPartition, Reached]:
        """As PartitionLogs."""

        def reached(state: LeaderState) -> Reached:
            short = self._logs[state.tp].read(state, deadline, stop)
            return Reached(self._logs[state.tp].read_to, short)

        tps = [state.tp for state in states]
        return dict(zip(tps, self._pool.map(reached, states), strict=True))

    def finish(self) -> None:
        """As PartitionLogs."""
        for log in self._logs.values():
            log.finish()

    def close(self) -> None:
        """As PartitionLogs; what is being read is read to its end."""
        self._pool.shutdown(cancel_futures=True)
