"""Reading the counters that tell before from after, about a second ahead of each injection."""

from collections import deque
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeVar

from compose.errors import ComposeError
from compose.protocols import Cluster, View
from faults.clock import Clock, ns
from faults.kinds.evidence import Snapshot
from faults.plan.steps import FaultKind

EVERY_S = 0.5
AHEAD_NS = ns(1.2)
"""How long before a step can be due its counters are read for the first time."""

_STALE_NS = ns(2.5)
"""A counter that moved longer ago than this says little about now."""

Counter = Literal["edges", "cpu", "logs"]
COUNTERS: Mapping[FaultKind, Counter] = {"partition": "edges", "pause": "cpu", "disk-stall": "logs"}
"""What a kind of fault is proven by, if it is a counter."""

Isr = Mapping[tuple[str, int], tuple[int, ...]]

Key = TypeVar("Key")
Value = TypeVar("Value")


@dataclass(slots=True)
class Watch:
    """The last snapshots, oldest first; `isr`: who was in sync at the last look, by topic and partition."""

    cluster: Cluster
    view: View
    clock: Clock
    isr: Isr = field(default_factory=dict)
    _kept: deque[Snapshot] = field(default_factory=lambda: deque(maxlen=8))

    def keep(self, snapshot: Snapshot) -> None:
        """Add the newest."""
        self._kept.append(snapshot)

    def keep_isr(self, isr: Isr) -> None:
        """Which replicas were in sync at the last look."""
        self.isr = isr

    def before(self, now: Snapshot) -> Snapshot | None:
        """The oldest that is not stale at `now` and has its counters."""
        fresh = (each for each in self._kept if now.at_ns - each.at_ns <= _STALE_NS)
        return next((each for each in fresh if _covers(each, now)), None)

    def read(self, counters: Collection[Counter], nodes: Collection[int]) -> Snapshot:
        """Look now. What cannot be read, because a node is down, is left out."""
        cluster = self.cluster
        return Snapshot(
            at_ns=self.clock.now_ns(),
            edge_bytes=_or_nothing(cluster.mesh.bytes) if "edges" in counters else {},
            cpu_ns=_each(nodes, cluster.cpu_ns) if "cpu" in counters else {},
            log_bytes=_each(nodes, cluster.log_bytes) if "logs" in counters else {},
        )

    def read_isr(self) -> Isr:
        """Who is in sync now; empty if nobody tells. Takes seconds if a broker does not answer."""
        return _or_nothing(self._isr)

    def _isr(self) -> Isr:
        topics = dict.fromkeys(topic for topic, _ in sorted(self.view.leaders()))
        states = (state for topic in topics for state in self.view.describe(topic))
        return {(state.topic, state.partition): state.isr for state in states}


def _covers(before: Snapshot, now: Snapshot) -> bool:
    """Whether every kind of counter that was read now was read before; other steps ask for other kinds."""
    return (
        before.edge_bytes.keys() >= now.edge_bytes.keys()
        and before.cpu_ns.keys() >= now.cpu_ns.keys()
        and before.log_bytes.keys() >= now.log_bytes.keys()
    )


def _each(nodes: Iterable[int], read: Callable[[int], int]) -> dict[int, int]:
    found: dict[int, int] = {}
    for node in nodes:
        try:
            found[node] = read(node)
        except ComposeError:
            continue
    return found


def _or_nothing(read: Callable[[], Mapping[Key, Value]]) -> Mapping[Key, Value]:
    try:
        return read()
    except ComposeError:
        return {}
