"""The watch over a run: the processes of its cluster, the clocks, and the machine that it runs on.

It begins when the cluster is ready and ends just before the history is sealed, so that whatever happens while
there is something to observe is in the history, also of a run that is killed. It changes nothing.
"""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from threading import Event

from checkers.history.rows import NodeEvent, TopicPartition
from checkers.verdict import node_ends
from compose.host import memory
from compose.host.array_cache import fill_array_cache
from compose.protocols import Cluster, ProcessEvent
from harness.errors import StepFailed
from harness.run.steps import OnEvent
from harness.run.watch.helper_pulse import HelperPulse
from harness.run.watch.room import Room
from workloads.observe.machine_sampler import MachineSampler
from workloads.record.recorder import Recorder
from workloads.watched_thread import Worker, end

STOP_S = 70.0
"""A question to an engine that does not answer takes a minute."""
GIVE_BACK_S = 10.0
MOST_SILENT_S = 20.0
"""Without an answer of the engine for so long, no fault is healed in time either."""


class LiveWatch:
    """Watches from when it is made until `stop`."""

    def __init__(
        self, cluster: Cluster, recorder: Recorder, room: Room, on_event: OnEvent, *, new: bool = True
    ) -> None:
        """`on_event` gets a sentence at once for each start or end that nobody had planned.

        Of a cluster that is not `new`, a process that was started before the watch has run since then, as far
        as the run is concerned.
        """
        self._on_event, self._recorder, self._room = on_event, recorder, room
        self._since_ns = 0 if new else time.monotonic_ns()
        self._ended_proxy = ""
        self._node_events = recorder.table("node_events")
        clocks, pressures = recorder.table("clocks"), recorder.table("pressure")
        fill_array_cache()
        memory.set_aside()
        self._watch = cluster.watch(self._note)
        sampler = MachineSampler(cluster.read_clocks, clocks=clocks, pressures=pressures)
        self._pulse = HelperPulse(cluster.check_helper)
        self._workers = [
            Worker("sampler of the clocks and the machine", sampler),
            Worker("pulse of the helper", self._pulse),
            Worker("memory that is free", _give_back),
        ]

    def check(self) -> None:
        """Raise if nobody would know of an end, if no fault can be injected or healed, or a disk is full."""
        self._watch.check()
        for worker in self._workers:
            worker.check()
        self._pulse.check()
        if self._ended_proxy:
            raise StepFailed("watch", f"{self._ended_proxy}; without it no edge between nodes is left")
        if (silent_s := self._watch.silent_s()) > MOST_SILENT_S:
            raise StepFailed("watch", f"the Docker Engine has not answered for {silent_s:.0f} s")
        self._room.check()

    def stop(self) -> None:
        """Look at every process once more, and end: its journals are whole. A second call does nothing."""
        try:
            self._watch.close()
        finally:
            end(self._workers, within_s=STOP_S)
            self._recorder.close()
            memory.take_back()

    def _note(self, event: ProcessEvent) -> None:
        row = replace(row_of(event), at_ns=max(event.at_ns, self._since_ns))
        self._node_events.write_rows([asdict(row)])
        if not row.planned:
            text = node_ends.sentence(row, at="just now")
            if row.role == "proxy" and row.event != "started":
                self._ended_proxy = text
            self._on_event(text)


def _give_back(stop: Event) -> None:
    while not stop.wait(GIVE_BACK_S):
        memory.give_back()


@contextmanager
def watch(
    cluster: Cluster,
    run_dir: Path,
    partitions: Sequence[TopicPartition],
    on_event: OnEvent,
    run: str,
    *,
    room: Room,
    new: bool = True,
) -> Iterator[LiveWatch]:
    """Watch for the length of a `with` block, or until `stop`; all is recorded in the run's journals."""
    with Recorder(run_dir, partitions, run) as recorder:
        made = LiveWatch(cluster, recorder, room, on_event, new=new)
        try:
            yield made
        finally:
            made.stop()


def row_of(event: ProcessEvent) -> NodeEvent:
    """An event as a row of the history."""
    return NodeEvent(
        at_ns=event.at_ns,
        node=event.node,
        role=event.role,
        event=event.event,
        exit_code=event.exit_code,
        planned=event.planned,
        fault=event.owner,
        detail=event.detail,
    )
