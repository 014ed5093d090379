"""The running load as a run uses it: its deadlines, and its figures for the view."""

import time
from collections.abc import Mapping

from faults.targets.target import TopicPartition
from harness.scenario.load.load_plan import WARM_S
from harness.terminal.progress import LoadFigures
from workloads.record.recorder import RecordedSends
from workloads.run import Workload

STOP_S = 15.0
READ_S = 2.0
"""Readers are some tenths of a second behind; one that is cut off still is no reason to wait."""


class LiveLoad:
    """A running workload, with its figures as the view wants them."""

    def __init__(self, workload: Workload, active: dict[int, str]) -> None:
        """`active` has the faults in force, by their index; the steps that run the faults keep it."""
        self._workload, self._active = workload, active
        self._last = (time.monotonic(), 0)

    def wait_warm(self) -> None:
        """Return when every producer has an ack on every partition."""
        self._workload.wait_warm(within_s=WARM_S)

    def check(self) -> None:
        """Raise if a thread of the load has died."""
        self._workload.check()

    def figures(self) -> LoadFigures:
        """The figures now; the rate is that since the last call."""
        stats, now = self._workload.stats(), time.monotonic()
        (then, acked), self._last = self._last, (now, stats.acked)
        states = self._workload.states()
        return LoadFigures(
            acked=stats.acked,
            failed=stats.failed,
            indeterminate=stats.unknown,
            acks_per_s=(stats.acked - acked) / max(now - then, 0.001),
            isr={str(state.tp): len(state.isr) for state in states},
            replication={str(state.tp): len(state.replicas) for state in states},
            faults=tuple(self._active.values()),
        )

    def last_ack_ns(self, of: TopicPartition | None) -> int:
        """When a record of a partition (None: of any) was acknowledged last, monotonic; -1: never."""
        last = self._workload.stats().last_ack_ns
        if of is None:
            return max(last.values(), default=-1)
        return next((at for tp, at in last.items() if str(tp) == str(of)), -1)

    def last_fencing_ns(self) -> int:
        """When a producer was told last that it is fenced, monotonic; -1: never."""
        return self._workload.stats().last_fencing_ns

    def stop_producers(self) -> None:
        """End the sending; what is outstanding after STOP_S is indeterminate."""
        self._workload.stop_producers(within_s=STOP_S)

    def stop(self) -> None:
        """End everything, the readers when they have read what there is."""
        self._workload.wait_read(within_s=READ_S)
        self._workload.stop()

    def abandon(self) -> None:
        """End everything at once; what is outstanding is indeterminate."""
        self._workload.stop(within_s=0.0)

    def recorded(self) -> Mapping[int, RecordedSends]:
        """What each producer instance has sent, as counted in memory."""
        return self._workload.recorded()
