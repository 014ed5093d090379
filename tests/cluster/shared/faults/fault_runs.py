"""Runs of steps against the shared cluster, or against one on which some calls change nothing."""

from collections.abc import Callable, Mapping
from threading import Event
from typing import Any

from compose.kafka.view import ClusterView
from faults.clock import SystemClock
from faults.plan.parse import parse_steps
from faults.schedule.events import LastAck, no_acks
from faults.schedule.record import FaultEvent, FaultRecord
from faults.schedule.scheduler import run_schedule


def run(
    cluster: Any,
    view: ClusterView,
    *words: Mapping[str, object],
    stop: Event | None = None,
    on_event: Callable[[FaultEvent], None] = print,
    last_ack_ns: LastAck = no_acks,
) -> tuple[FaultRecord, ...]:
    """Run steps against the cluster, or what stands for it."""
    steps = parse_steps(words)
    return run_schedule(
        steps,
        cluster,
        view,
        SystemClock(),
        stop=stop or Event(),
        on_event=on_event,
        last_ack_ns=last_ack_ns,
    )


class Ignoring:
    """Stands for a cluster or a mesh, on which calls of these names return and change nothing."""

    def __init__(self, real: Any, *names: str) -> None:
        self._real, self._names = real, names

    def __getattr__(self, name: str) -> Any:
        if name in self._names:
            return lambda *_, **__: None
        return getattr(self._real, name)

    @property
    def mesh(self) -> Any:
        """The mesh, on which the same calls change nothing."""
        return Ignoring(self._real.mesh, *self._names)

    @property
    def admin(self) -> Any:
        """Kafka's administration, on which the same calls change nothing."""
        return Ignoring(self._real.admin, *self._names)
