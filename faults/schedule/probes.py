"""Reads the counters and the ISRs that evidence compares with, from about a second before each injection."""

from collections import deque
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from compose.errors import ComposeError
from compose.protocols import Cluster, View
from faults.clock import Clock, ns
from faults.kinds.evidence import Counter, CounterSample

_STALE_NS = ns(2.5)
"""A counter that moved longer ago than this proves little about now."""

Isr = Mapping[tuple[str, int], tuple[int, ...]]
"""The replicas in sync, by topic and partition."""

Key = TypeVar("Key")
Value = TypeVar("Value")


@dataclass(slots=True)
class Probes:
    """Reads the cluster, and keeps the last samples, oldest first; `isr` is the last one that was read."""

    cluster: Cluster
    view: View
    clock: Clock
    isr: Isr = field(default_factory=dict)
    _kept: deque[CounterSample] = field(default_factory=lambda: deque(maxlen=8))

    def keep(self, sample: CounterSample) -> None:
        """Add the newest sample."""
        self._kept.append(sample)

    def before(self, now: CounterSample) -> CounterSample | None:
        """The oldest sample that is not stale at `now` and has its counters."""
        fresh = (each for each in self._kept if now.at_ns - each.at_ns <= _STALE_NS)
        return next((each for each in fresh if _covers(each, now)), None)

    def read(self, counters: Collection[Counter], nodes: Collection[int]) -> CounterSample:
        """Counters now. What cannot be read, because a node is down, is left out."""
        cluster = self.cluster
        return CounterSample(
            at_ns=self.clock.now_ns(),
            edge_bytes=_or_nothing(cluster.mesh.bytes) if "edges" in counters else {},
            cpu_ns=_each(nodes, cluster.cpu_ns) if "cpu" in counters else {},
            log_bytes=_each(nodes, cluster.log_bytes) if "logs" in counters else {},
        )

    def read_isr(self) -> Isr:
        """Which replicas are in sync now; empty if no broker answers. Takes seconds if one does not."""
        return _or_nothing(self._isr)

    def _isr(self) -> Isr:
        topics = dict.fromkeys(topic for topic, _ in sorted(self.view.leaders()))
        states = (state for topic in topics for state in self.view.describe(topic))
        return {(state.topic, state.partition): state.isr for state in states}


def _covers(before: CounterSample, now: CounterSample) -> bool:
    """Whether every kind of counter that was read now was read before; other steps need other kinds."""
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
