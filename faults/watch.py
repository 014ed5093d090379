"""Reading the counters that tell before from after, about a second ahead of each injection."""

from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeVar

from compose.errors import ComposeError
from compose.protocols import Cluster, View
from faults.clock import Clock, ns
from faults.evidence import Snapshot
from faults.schedule import FaultKind

EVERY_S = 0.5
AHEAD_NS = ns(1.2)
"""How long before a step can be due its counters are read for the first time."""

_STALE_NS = ns(2.5)
"""A counter that moved longer ago than this says little about now."""

Counter = Literal["edges", "cpu", "logs"]
COUNTERS: Mapping[FaultKind, Counter] = {"partition": "edges", "pause": "cpu", "disk-stall": "logs"}
"""What a kind of fault is proven by, if it is a counter."""

Key = TypeVar("Key")
Value = TypeVar("Value")


@dataclass(slots=True)
class Watch:
    """The last snapshots, oldest first."""

    cluster: Cluster
    view: View
    clock: Clock
    _kept: deque[Snapshot] = field(default_factory=lambda: deque(maxlen=6))

    def keep(self, snapshot: Snapshot) -> None:
        """Add the newest."""
        self._kept.append(snapshot)

    def before(self, now: Snapshot) -> Snapshot:
        """The oldest that is not stale at `now` and has its counters; `now` itself if there is none."""
        fresh = (each for each in self._kept if now.at_ns - each.at_ns <= _STALE_NS)
        return next((each for each in fresh if _covers(each, now)), now)

    def isr(self) -> Mapping[tuple[str, int], tuple[int, ...]]:
        """Which replicas were in sync at the last look, by topic and partition; empty before the first."""
        return self._kept[-1].isr if self._kept else {}

    def read(self, counters: Iterable[Counter], nodes: Iterable[int], *, with_isr: bool) -> Snapshot:
        """Look now. What cannot be read, because a node is down, is left out."""
        wanted, nodes = set(counters), tuple(nodes)
        cluster = self.cluster
        brokers = [node for node in nodes if node in cluster.brokers]
        return Snapshot(
            at_ns=self.clock.now_ns(),
            edge_bytes=_or_nothing(cluster.mesh.bytes) if "edges" in wanted else {},
            cpu_ns=_each(nodes, cluster.cpu_ns) if "cpu" in wanted else {},
            log_bytes=_each(brokers, cluster.log_bytes) if "logs" in wanted else {},
            isr=_or_nothing(self._isr) if with_isr else {},
        )

    def _isr(self) -> dict[tuple[str, int], tuple[int, ...]]:
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
