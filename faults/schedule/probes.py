"""Reads the counters, the partitions and the active controller, and keeps what it has read.

Evidence compares with counters from about a second before each injection, and roles are resolved from what
was read last: so that all of it is there when a step is due.
"""

from collections import deque
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TypeVar

from compose.errors import ComposeError
from compose.protocols import Cluster, PartitionState, View
from faults.clock import Clock, ns
from faults.kinds.fault.evidence import Counter, CounterSample, moved
from faults.schedule.known import Known, Read, by_place, newest

_STALE_NS = ns(2.5)
"""A counter that moved longer ago than this proves little about now."""

RECENT_NS = ns(1.2)
"""A kept sample that is no older than this counts as the one from just before an injection: two periods of
the sampler, and the time that a reading takes."""

SHORTEST_NS = ns(0.3)
"""A counter is read over at least this time before an injection."""

UNREADABLE = -1
"""In place of the number of a controller."""

Isr = Mapping[tuple[str, int], tuple[int, ...]]
"""The replicas in sync, by topic and partition."""

Key = TypeVar("Key")
Value = TypeVar("Value")


@dataclass(slots=True)
class Probes:
    """Reads the cluster, and keeps the last samples, oldest first; `known` is what was read of the roles.

    `quick` is a view that does not wait long for a broker that is silent; `internal` are topics of Kafka's
    own that are read as those of the load are.
    """

    cluster: Cluster
    view: View
    clock: Clock
    quick: View | None = None
    internal: tuple[str, ...] = ()
    known: Known = field(default_factory=Known)
    _topics: tuple[str, ...] = ()
    _kept: deque[CounterSample] = field(default_factory=lambda: deque(maxlen=8))

    @property
    def quickest(self) -> View:
        """The view that answers sooner."""
        return self.quick or self.view

    def keep(self, sample: CounterSample) -> None:
        """Add the newest sample."""
        self._kept.append(sample)

    def before(self, now: CounterSample) -> CounterSample | None:
        """The oldest sample that is not stale at `now` and has its counters."""
        fresh = (each for each in tuple(self._kept) if now.at_ns - each.at_ns <= _STALE_NS)
        return next((each for each in fresh if _covers(each, now)), None)

    def kept(self, counter: Counter, nodes: Collection[int]) -> tuple[CounterSample, CounterSample] | None:
        """Two kept samples of the counter: from some time ago, and from just now.

        None if there are none, or if a node's counter stands still between them: it may move since.
        """
        having = [each for each in tuple(self._kept) if _has(each, counter, nodes)]
        if not having or self.clock.now_ns() - having[-1].at_ns > RECENT_NS:
            return None
        now = having[-1]
        fresh = (each for each in having if SHORTEST_NS <= now.at_ns - each.at_ns <= _STALE_NS)
        before = next(fresh, None)
        if before is None or not all_moved(counter, nodes, before, now):
            return None
        return before, now

    def read(self, counters: Collection[Counter], nodes: Collection[int]) -> CounterSample:
        """Counters now. What cannot be read, because a node is down, is left out."""
        cluster = self.cluster
        return CounterSample(
            at_ns=self.clock.now_ns(),
            edge_bytes=_or_nothing(cluster.mesh.bytes) if "edges" in counters else {},
            cpu_ns=_each(nodes, cluster.cpu_ns) if "cpu" in counters else {},
            log_bytes=_each(nodes, cluster.log_bytes) if "logs" in counters else {},
        )

    def read_partitions(self) -> tuple[Read, int]:
        """All partitions, empty if no broker answers; and when they were asked for.

        Takes as long as the quick view waits for a silent broker.
        """
        self.learn_topics()
        asked_ns = self.clock.now_ns()
        return _or_nothing(self._partitions), asked_ns

    def keep_partitions(self, read: Read, asked_ns: int) -> None:
        """These are known since then, if there are any, but for what is known to be newer."""
        if read:
            partitions = newest(self.known.partitions, read)
            self.known = replace(self.known, partitions=partitions, partitions_ns=asked_ns)

    def learn(self, state: PartitionState) -> None:
        """This is known of one partition besides what was read of all, unless something newer is."""
        known = self.known.partitions
        self.known = replace(self.known, partitions={**known, **newest(known, by_place([state]))})

    def keep_controller(self, active: int | None, asked_ns: int) -> None:
        """This one is known to be the active controller now, None: there is none; unless it is UNREADABLE."""
        if active != UNREADABLE:
            self.known = replace(self.known, controller=active, controller_ns=asked_ns)

    def read_controller(self) -> int | None:
        """The active controller now; UNREADABLE if nobody can say whether there is one."""
        try:
            return self.cluster.active_controller()
        except ComposeError:
            return UNREADABLE

    def read_coordinators(self, groups: Collection[str]) -> tuple[Mapping[str, int | None], int]:
        """The coordinator of each group, empty if no broker answers; and when they were asked for."""
        asked_ns = self.clock.now_ns()
        return _or_nothing(lambda: {group: self.quickest.coordinator(group) for group in groups}), asked_ns

    def keep_coordinators(self, read: Mapping[str, int | None], asked_ns: int) -> None:
        """These are known since then, if there are any."""
        if read:
            self.known = replace(self.known, coordinators=read, coordinators_ns=asked_ns)

    def read_isr(self) -> Isr:
        """Which replicas are in sync now; empty if no broker answers."""
        partitions, _ = self.read_partitions()
        return {place: state.isr for place, state in partitions.items()}

    def learn_topics(self) -> None:
        """Once: a run makes all its topics before its faults."""
        if not self._topics:
            leaders = _or_nothing(self.quickest.leaders)
            self._topics = tuple(dict.fromkeys(topic for topic, _ in sorted(leaders)))

    def _partitions(self) -> Read:
        return by_place(self.quickest.describe(*self._topics, *self.internal))


def _has(sample: CounterSample, counter: Counter, nodes: Collection[int]) -> bool:
    """Whether the sample has the counter, and of each of the nodes if it is one of nodes."""
    match counter:
        case "edges":
            return bool(sample.edge_bytes)
        case "cpu":
            return set(nodes) <= sample.cpu_ns.keys()
        case "logs":
            return set(nodes) <= sample.log_bytes.keys()


def all_moved(counter: Counter, nodes: Collection[int], before: CounterSample, now: CounterSample) -> bool:
    """Whether each node's counter has moved between two samples. Edges may be quiet: those are probed."""
    match counter:
        case "edges":
            return True
        case "cpu":
            return set(nodes) <= moved(before.cpu_ns, now.cpu_ns).keys()
        case "logs":
            return set(nodes) <= moved(before.log_bytes, now.log_bytes).keys()


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
