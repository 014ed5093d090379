"""Runs of steps against the shared cluster, or against what stands for it."""

from collections.abc import Callable, Mapping
from threading import Event
from typing import Any

from compose.kafka.view import ClusterView
from faults.clock import SystemClock
from faults.plan.parse import parse_steps
from faults.schedule.events import LastAck, LastFencing, no_acks, no_fencings
from faults.schedule.record import FaultEvent, FaultRecord
from faults.schedule.scheduler import run_schedule


def run(
    cluster: Any,
    view: ClusterView,
    *words: Mapping[str, object],
    stop: Event | None = None,
    on_event: Callable[[FaultEvent], None] = print,
    last_ack_ns: LastAck = no_acks,
    last_fencing_ns: LastFencing = no_fencings,
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
        last_fencing_ns=last_fencing_ns,
    )
