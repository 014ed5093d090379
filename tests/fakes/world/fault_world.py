"""A cluster in which time matters: bytes cross open edges, logs grow, nodes boot, replicas fall behind.

It lives on a virtual clock. Put a name into `ignores` ("pause", "cut", ...) and that call returns as if it
had worked, and changes nothing: then no fault may count as proven.
"""

from collections.abc import Collection, Mapping
from concurrent.futures import Executor, Future
from dataclasses import dataclass, field, replace
from typing import Any

from compose.admin_protocol import METADATA_VERSION, ElectionKind, Place, Quorum
from compose.errors import DiskError, ViewError
from compose.impairments import BOTH
from compose.protocols import ContainerState, Edge, MemoryUse, PartitionOffsets, PartitionState
from fakes.world.admin import FakeAdmin
from fakes.world.cluster import FakeCluster, FakeMesh, full_mesh
from fakes.world.virtual_clock import VirtualClock
from faults.clock import ns

ORDERS = ("orders", 0)
CALL_NS = ns(0.05)
LAG_NS = ns(3.0)
HALT_NS = ns(0.3)


class Inline(Executor):
    """Runs a job at once, where it is submitted."""

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> "Future[Any]":
        future: Future[Any] = Future()
        try:
            future.set_result(fn(*args, **kwargs))
        except Exception as error:
            future.set_exception(error)
        return future


def late(future: "Future[Any]", done_ns: int, clock: VirtualClock) -> "Future[Any]":
    """The same future, done when the clock has reached `done_ns`."""
    result = future.result

    def wait(timeout: float | None = None) -> Any:
        until_ns = done_ns if timeout is None else clock.now_ns() + ns(timeout)
        clock.sleep_until(min(done_ns, until_ns))
        if done_ns > until_ns:
            raise TimeoutError
        return result()

    future.done = lambda: clock.now_ns() >= done_ns  # type: ignore[method-assign]
    future.result = wait  # type: ignore[method-assign]
    return future


@dataclass
class Slow(Inline):
    """Jobs that take `latency_ns` of the world's time; what they read is from their beginning."""

    clock: VirtualClock
    latency_ns: int = ns(0.3)

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> "Future[Any]":
        future = super().submit(fn, *args, **kwargs)
        return late(future, self.clock.now_ns() + self.latency_ns, self.clock)


@dataclass
class Aside(Inline):
    """Jobs that take as long as they advance the clock, while the clock goes on with whatever else runs."""

    clock: VirtualClock

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> "Future[Any]":
        took_ns: list[int] = []
        self.clock.advance = took_ns.append  # type: ignore[method-assign]
        try:
            future = super().submit(fn, *args, **kwargs)
        finally:
            del self.clock.advance
        return late(future, self.clock.now_ns() + sum(took_ns), self.clock)


@dataclass
class WorldMesh(FakeMesh):
    """Edges that pass a byte each microsecond while they are open, used, and both ends run."""

    world: "World" = field(kw_only=True)
    quiet: set[Edge] = field(default_factory=set)

    def cut(self, edges: Any, *, mode: Any, owner: str, directions: Any = BOTH) -> None:
        self.world.settle()
        if "cut" not in self.world.ignores:
            super().cut(edges, mode=mode, owner=owner, directions=directions)

    def impair(self, edges: Any, impairment: Any, *, owner: str) -> None:
        self.world.settle()
        if "impair" not in self.world.ignores:
            super().impair(edges, impairment, owner=owner)

    def mend(self, edges: Any, *, owner: str) -> None:
        self.world.settle()
        self.world.fail("mend")
        if "mend" not in self.world.ignores:
            super().mend(edges, owner=owner)

    def passes(self, edge: Edge) -> bool:
        ends = [node for node in (edge.source, str(edge.target)) if node.isdecimal()]
        return not self.is_cut(edge) and all(self.world.serves(int(node)) for node in ends)

    def probe(self, edges: Collection[Edge], *, within_s: float) -> frozenset[Edge]:
        return frozenset(edge for edge in edges if self.passes(edge))

    def bytes(self) -> Mapping[Edge, int]:
        self.world.settle()
        return super().bytes()


@dataclass
class WorldAdmin(FakeAdmin):
    """Changes of orders-0 move the world's leader."""

    world: "World" = field(kw_only=True)
    log_ends: dict[int, int] = field(default_factory=dict)

    def moved(self, place: Place) -> None:
        if place == ORDERS and self.world.leader not in self.replicas[place]:
            self.world.lead(self.world.isr()[0])

    def elected(self, place: Place, kind: ElectionKind) -> None:
        preferred, *others = self.replicas[place]
        if kind == "preferred" and preferred in self.world.isr():
            self.world.lead(preferred)
        running = [node for node in (preferred, *others) if self.world.serves(node)]
        if kind == "unclean" and not self.world.serves(self.world.leader):
            self.world.lead(running[0])

    def quorum(self) -> Quorum:
        """The first controller that serves is active. The log grows twice a second, and all that serve follow
        but those that are `stuck`."""
        serving = [node for node in self.world.controllers if self.world.serves(node)]
        if not serving:
            raise ViewError("no controller is active")
        now = self.world.clock.now_ns() // ns(0.5)
        self.log_ends |= {node: now for node in serving if node not in self.world.stuck}
        return Quorum(leader=serving[0], log_ends=dict(self.log_ends))


@dataclass
class World(FakeCluster):
    """Three brokers and controllers; orders-0 is led by `leader` until it dies, then by the next in sync.

    Its log grows by a record each millisecond; whoever can fetch holds all of it, and nobody waits for acks.
    `stop_ns` is how long a stop takes; a node whose disk is full `halts`. With several log directories, a
    node that loses another one than the first goes on without its replicas, or is one of those that
    `stumble`: it halts.
    """

    clock: VirtualClock = field(default_factory=VirtualClock)
    leader: int = 1
    epoch: int = 0
    ignores: set[str] = field(default_factory=set)
    failing: dict[str, list[Exception]] = field(default_factory=dict)
    flushed: bool = False
    boot_ns: int = ns(3.0)
    rejoin_ns: int = ns(0.5)
    lingers_ns: int = 0
    stop_ns: int = 0
    halts: bool = True
    stuck: set[int] = field(default_factory=set)
    stumble: set[int] = field(default_factory=set)

    def __post_init__(self) -> None:
        super().__post_init__()
        edges = full_mesh(self.brokers, self.controllers)
        self.mesh: WorldMesh = WorldMesh(edges, calls=self.calls, world=self)
        self.admin: WorldAdmin = WorldAdmin(
            brokers=self.brokers, calls=self.calls, ignores=self.ignores, named=self.named, world=self
        )
        self.boots: dict[int, int] = dict.fromkeys((*self.brokers, *self.controllers), -ns(3600))
        self.clocks = self.clocks or dict.fromkeys((*self.brokers, *self.controllers), 0)
        self.well: dict[int, bool] = dict.fromkeys(self.brokers, True)
        self.in_sync: dict[int, bool] = dict.fromkeys(self.brokers, True)
        self.well_or_ill_since_ns: dict[int, int] = dict.fromkeys(self.brokers, -ns(3600))
        self.cut_off: set[int] = set()
        self.failed: set[int] = set()
        self.died_ns: dict[int, int] = {}
        self.ends_us: dict[int, int] = dict.fromkeys(self.brokers, 0)
        self._settled_ns = self.clock.now_ns()

    def settle(self) -> None:
        """Let what has happened since the last call show in the counters."""
        now_ns = self.clock.now_ns()
        passed_us = (now_ns - self._settled_ns) // 1000
        self._settled_ns = now_ns
        for edge in self.mesh.edges:
            if edge not in self.mesh.quiet and self.mesh.passes(edge):
                self.mesh.traffic[edge] = self.mesh.traffic.get(edge, 0) + passed_us
        for node, state in self.states.items():
            if state.status == "running":
                self.cpu[node] += passed_us
                self.met[node] += passed_us // 1000 if node in self.memory_limits else 0
                self.throttled[node] += passed_us * 1000 if node in self.cpu_limits else 0
                if node not in self.frozen | self.failed and self._has_room(node):
                    self.logs[node] += passed_us
                    self.unsynced[node] = 0 if self.flushed else self.unsynced[node] + passed_us
        self._settle_isr(now_ns)
        self._settle_ends(passed_us)

    def _has_room(self, node: int) -> bool:
        return self.room[node] > 0 and self.other_rooms[node, self.log_dir_count] > 0

    def _settle_ends(self, passed_us: int) -> None:
        self.ends_us[self.leader] += passed_us if self.serves(self.leader) else 0
        for node in self.brokers:
            if self._well(node):
                self.ends_us[node] = self.ends_us[self.leader]

    def offsets(self) -> PartitionOffsets:
        isr = self.isr()
        ends = {node: end_us // 1000 for node, end_us in self.ends_us.items()}
        return PartitionOffsets(
            high_watermark=min(ends[node] for node in isr),
            log_ends=tuple((node, end) for node, end in ends.items() if self.serves(node)),
        )

    def serves(self, node: int) -> bool:
        booted = self.clock.now_ns() - self.boots[node] >= self.boot_ns
        return self.states[node].status == "running" and booted and node not in self.cut_off

    def _well(self, node: int) -> bool:
        fetches = Edge(source=str(node), target=self.leader)
        return (
            self.serves(node)
            and not self.offline[node]
            and (node == self.leader or not self.mesh.is_cut(fetches))
        )

    def _settle_isr(self, now_ns: int) -> None:
        for node in self.brokers:
            well = self._well(node)
            if well != self.well[node]:
                self.well[node], self.well_or_ill_since_ns[node] = well, now_ns
            lasted_ns = now_ns - self.well_or_ill_since_ns[node]
            gone = self.states[node].status == "exited" or bool(self.offline[node])
            if gone or (not well and lasted_ns >= LAG_NS):
                self.in_sync[node] = False
            elif well and lasted_ns >= self.rejoin_ns:
                self.in_sync[node] = True

    def isr(self) -> tuple[int, ...]:
        self.settle()
        here = self.admin.replicas[ORDERS]
        return tuple(node for node in sorted(here) if node == self.leader or self.in_sync[node])

    def lead(self, node: int) -> None:
        """Another leader of orders-0, under a new epoch."""
        if node != self.leader:
            self.leader, self.epoch = node, self.epoch + 1

    def fail(self, name: str) -> None:
        if self.failing.get(name):
            raise self.failing[name].pop(0)

    def _do(self, name: str, node: int, log_dir: int | None = None) -> None:
        super()._do(name, node, log_dir)
        self.fail(name)
        self.clock.advance(CALL_NS)
        self.settle()

    def pause(self, node: int) -> None:
        self._unless_ignored("pause", node)

    def freeze(self, node: int, *, log_dir: int | None = None) -> None:
        self._unless_ignored("freeze", node, log_dir=log_dir)

    def thaw(self, node: int, *, log_dir: int | None = None) -> None:
        self._unless_ignored("thaw", node, log_dir=log_dir)

    def unpause(self, node: int) -> None:
        self._unless_ignored("unpause", node)

    def kill(self, node: int, *, owner: str = "") -> None:
        if node in self.frozen:
            self.thaw(node)
        self._unless_ignored("kill", node, owner=owner)
        self.died_ns[node] = self.clock.now_ns()
        self._elect()

    def start(self, node: int, *, owner: str = "") -> None:
        was = self.states[node].status
        assert was != "exited" or self._readable(node), "a node does not start on a disk that is cut off"
        self._unless_ignored("start", node, owner=owner)
        if was == "exited" and self.states[node].status == "running":
            self.boots[node] = self.clock.now_ns()
            self.cut_off.discard(node)
            self.failed.discard(node)

    def stop(self, node: int, *, within_s: float, owner: str = "") -> None:
        assert node not in self.frozen, "a process that waits for a frozen disk cannot end"
        if self.stop_ns:
            self.clock.call_at(self.clock.now_ns() + self.stop_ns, lambda: self._exit(node, owner))
            self._do("stop", node)
            self.clock.advance(self.stop_ns)
            return
        if "stop" in self.ignores:
            self._do("stop", node)
        else:
            super().stop(node, within_s=within_s, owner=owner)
        self._elect()

    def _exit(self, node: int, owner: str) -> None:
        self._end(node, 143, owner)
        self._elect()

    def drop_unsynced(self, node: int) -> tuple[str, ...]:
        assert self.states[node].status == "paused", "the power is cut while the node is paused"
        assert node not in self.frozen, "a frozen disk cannot be cut off"
        answers: tuple[str, ...] = self._unless_ignored("drop_unsynced", node)
        self.cut_off.add(node)
        return answers

    def fail_log_dir(self, node: int, *, log_dir: int) -> None:
        """The broker finds out when it writes there."""
        assert self.states[node].status == "running", "a directory fails under a broker that runs"
        assert 1 < log_dir <= self.log_dir_count, "without the metadata log the broker halts"
        self._do("fail_log_dir", node, log_dir)
        if "fail_log_dir" not in self.ignores:
            self._lose_unsynced(node)
            self.failed.add(node)
            self.clock.call_at(self.clock.now_ns() + HALT_NS, lambda: self._go_on_without(node, log_dir))

    def _go_on_without(self, node: int, log_dir: int) -> None:
        self.settle()
        if self.states[node].status != "running" or (self._has_room(node) and node not in self.failed):
            return
        if node in self.stumble:
            self.die(node)
            self.died_ns[node] = self.clock.now_ns()
        else:
            self.offline[node].add(log_dir)
            self.in_sync[node] = False
        self._elect()

    def fill_up(self, node: int, *, log_dir: int = 1) -> None:
        """Kafka halts when it cannot append, unless it has nothing to append, or has another directory."""
        assert node not in self.frozen, "who writes to a frozen disk waits"
        self._unless_ignored("fill_up", node, log_dir=log_dir)
        if not self._has_room(node) and self.halts:
            then = self._halt if log_dir == 1 else lambda node: self._go_on_without(node, log_dir)
            self.clock.call_at(self.clock.now_ns() + HALT_NS, lambda: then(node))

    def _halt(self, node: int) -> None:
        self.settle()
        if self.states[node].status == "running" and self.room[node] == 0:
            self.die(node)
            self.died_ns[node] = self.clock.now_ns()
            self._elect()

    def free_up(self, node: int, *, log_dir: int = 1) -> None:
        self._unless_ignored("free_up", node, log_dir=log_dir)

    def wipe(self, node: int, *, new: bool, log_dir: int | None = None) -> None:
        assert self.states[node].status == "exited", "a disk is replaced while its node is down"
        if "wipe" not in self.ignores:
            super().wipe(node, new=new, log_dir=log_dir)

    def _unless_ignored(self, name: str, node: int, **more: Any) -> Any:
        if name in self.ignores:
            self._do(name, node)
            return None
        return getattr(super(), name)(node, **more)

    def leads(self, node: int) -> bool:
        """Whether the node could lead what lies in its log directories."""
        return self.states[node].status != "exited" and not self.offline[node]

    def _elect(self) -> None:
        if not self.leads(self.leader):
            alive = [
                node for node in self.isr() if self.states[node].status == "running" and self.leads(node)
            ]
            self.leader, self.epoch = (alive or [self.leader])[0], self.epoch + 1

    def log_sizes(self, node: int, *, log_dir: int | None = None) -> Mapping[str, int]:
        self.settle()
        if not self._readable(node):
            raise DiskError(f"node {node}: the file system answers with an I/O error")
        return super().log_sizes(node, log_dir=log_dir)

    def _readable(self, node: int) -> bool:
        """Whether the disk was not cut off, or was mounted anew since, some time after the node's death."""
        if node not in self.cut_off | self.failed:
            return True
        dead_for_ns = self.clock.now_ns() - self.died_ns.get(node, self.clock.now_ns())
        return self.states[node].status == "exited" and dead_for_ns >= self.lingers_ns

    def unsynced_bytes(self, node: int, *, log_dir: int | None = None) -> int:
        self.settle()
        return super().unsynced_bytes(node, log_dir=log_dir)

    def set_clock(self, node: int, ahead_ms: int) -> None:
        if "set_clock" not in self.ignores:
            super().set_clock(node, ahead_ms)

    def limit_cpu(self, node: int, cpus: float | None) -> None:
        if "limit_cpu" not in self.ignores:
            super().limit_cpu(node, cpus)

    def throttled_ns(self, node: int) -> int:
        self.settle()
        return super().throttled_ns(node)

    def limit_memory(self, node: int, most_bytes: int | None) -> None:
        if "limit_memory" not in self.ignores:
            super().limit_memory(node, most_bytes)

    def memory_use(self, node: int) -> MemoryUse:
        self.settle()
        return super().memory_use(node)

    def change_release(self, node: int, release: str) -> None:
        if "change_release" not in self.ignores:
            super().change_release(node, release)

    def reported_release(self, node: int) -> str:
        """Named once it has booted."""
        return super().reported_release(node) if self.serves(node) else ""

    def broker_epoch(self, node: int) -> int:
        """Registered once it has booted."""
        return super().broker_epoch(node) if self.serves(node) else -1

    def cpu_ns(self, node: int) -> int:
        self.settle()
        return self.cpu[node]

    def state(self, node: int) -> ContainerState:
        self.settle()
        return super().state(node)


def not_finalized() -> World:
    """Every broker knows newer levels than those at which the features are."""
    world = World()
    world.admin.levels = {METADATA_VERSION: 25}
    return world


def without_way_back() -> World:
    """Kafka takes no lower level."""
    world = World()
    world.admin.refuses["set_feature"] = "INVALID_UPDATE_VERSION, Unsupported metadata.version downgrade"
    return world


@dataclass
class WorldView:
    """What the world's brokers report of orders-0."""

    world: World

    def describe(self, *topics: str) -> tuple[PartitionState, ...]:
        places = [place for place in sorted(self.world.admin.replicas) if place[0] in topics]
        return tuple(self._orders() if place == ORDERS else self._other(place) for place in places)

    def _orders(self) -> PartitionState:
        world = self.world
        return PartitionState(
            topic="orders",
            partition=0,
            leader=world.leader if world.leads(world.leader) else -1,
            leader_epoch=world.epoch,
            replicas=world.admin.replicas[ORDERS],
            isr=world.isr(),
        )

    def _other(self, place: Place) -> PartitionState:
        """Nobody writes to it."""
        replicas = self.world.admin.replicas[place]
        return PartitionState(
            topic=place[0],
            partition=place[1],
            leader=replicas[0],
            leader_epoch=0,
            replicas=replicas,
            isr=tuple(sorted(replicas)),
        )

    def with_offsets(self, state: PartitionState) -> PartitionState:
        return replace(state, offsets=self.world.offsets() if state.leader >= 0 else None)

    def leaders(self) -> Mapping[tuple[str, int], int]:
        topics = {topic for topic, _ in self.world.admin.replicas}
        return {(s.topic, s.partition): s.leader for s in self.describe(*topics)}

    def fenced(self) -> Mapping[int, bool]:
        return {node: not self.world.serves(node) for node in self.world.brokers}

    def log_dirs(self, broker: int) -> Mapping[str, bool]:
        if not self.world.serves(broker):
            raise ViewError(f"broker {broker} does not answer")
        paths = enumerate(self.world.log_dirs(broker), start=1)
        return {path: number not in self.world.offline[broker] for number, path in paths}

    def coordinator(self, group: str) -> int | None:
        """Whoever leads orders-0 coordinates every group."""
        leader = self.describe("orders")[0].leader
        return leader if leader >= 0 else None

    def wait_until_settled(self, topic: str, *, within_s: float) -> None:
        if not self.describe(topic):
            raise ViewError(f"topic {topic}: no broker knows it")

    def wait_for_full_isr(self, topics: Any, *, within_s: float) -> None:
        raise NotImplementedError
