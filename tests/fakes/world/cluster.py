"""A cluster of names only: it records the calls that it gets, and changes state as the real one would."""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from compose.errors import NodeStateError
from compose.impairments import (
    BOTH,
    Delayed,
    Direction,
    Impairment,
    Refused,
    Reset,
    Sliced,
    Swallowed,
    Throttled,
    leaves_answers,
)
from compose.protocols import (
    CLIENT,
    ClockAhead,
    ClockReading,
    ContainerState,
    CutMode,
    Edge,
    LogExtent,
    MemoryUse,
    MetadataLog,
    ProcessEvent,
    Reached,
    Role,
    RoundTrip,
    StartTimings,
    Status,
    Transfer,
)
from fakes.world.admin import FakeAdmin


def full_mesh(brokers: Sequence[int], controllers: Sequence[int]) -> tuple[Edge, ...]:
    """Client→broker, broker→broker, broker→controller and controller→controller."""
    nodes = sorted({*brokers, *controllers})
    between = (Edge(source=str(a), target=b) for a in nodes for b in nodes if a != b)
    kept = (e for e in between if e.target in controllers or int(e.source) in brokers)
    return (*(Edge(source=CLIENT, target=b) for b in brokers), *kept)


DIRECT_S, SMALL_S = 0.05, 0.03
"""What the fake's brokers and controllers take for a large request, and for a small one."""


@dataclass
class FakeMesh:
    """Edges with owners; `traffic` is what `bytes()` answers, and `calls` records the changes, in order."""

    edges: tuple[Edge, ...]
    held: dict[Edge, dict[str, Impairment]] = field(default_factory=lambda: defaultdict(dict))
    traffic: dict[Edge, int] = field(default_factory=dict)
    calls: list[str] = field(default_factory=list)
    toxics: dict[Edge, str] = field(default_factory=dict)

    def cut(
        self,
        edges: Iterable[Edge],
        *,
        mode: CutMode,
        owner: str,
        directions: tuple[Direction, ...] = BOTH,
    ) -> None:
        how = Refused() if mode == "refuse" else Swallowed(directions=directions)
        self._hold(edges, how, f"{mode}{'' if directions == BOTH else ' ' + directions[0]}", "cut", owner)

    def impair(self, edges: Iterable[Edge], impairment: Impairment, *, owner: str) -> None:
        self._hold(edges, impairment, str(impairment), "impair", owner)

    def _hold(self, edges: Iterable[Edge], impairment: Impairment, shown: str, call: str, owner: str) -> None:
        for edge in edges:
            assert edge in self.edges, f"no such edge: {edge}"
            self.held[edge][owner] = impairment
            self.calls.append(f"{call} {edge} {shown} {owner}")

    def mend(self, edges: Iterable[Edge], *, owner: str) -> None:
        for edge in edges:
            if self.held[edge].pop(owner, None):
                self.calls.append(f"mend {edge} {owner}")

    def mend_all(self) -> None:
        self.held.clear()
        self.calls.append("mend_all")

    def is_cut(self, edge: Edge) -> bool:
        return not all(leaves_answers(each) for each in self.held[edge].values())

    def disturbed(self) -> Mapping[Edge, str]:
        held = {edge: ", ".join(self.held[edge]) for edge in self.edges}
        return {edge: f"held by {owners}" for edge, owners in held.items() if owners} | self.toxics

    def delay_s(self, edge: Edge) -> float:
        return sum(each.delay_s for each in self.held[edge].values() if isinstance(each, Delayed))

    def probe(self, edges: Collection[Edge], *, within_s: float) -> frozenset[Edge]:
        return frozenset(edge for edge in edges if not self.is_cut(edge))

    def round_trips(self, edges: Collection[Edge], *, within_s: float) -> Mapping[Edge, RoundTrip]:
        trips = {
            edge: RoundTrip(took_s=0.01 + self.delay_s(edge), direct_s=0.01)
            for edge in self.probe(edges, within_s=within_s)
        }
        return {edge: trip for edge, trip in trips.items() if trip.took_s < within_s}

    def reached(self, edges: Collection[Edge], *, within_s: float) -> Mapping[Edge, Reached]:
        answered = self.probe(edges, within_s=within_s)
        return {edge: "source" if edge in answered else self._reached(edge) for edge in edges}

    def _reached(self, edge: Edge) -> Reached:
        held = self.held[edge].values()
        if any(isinstance(each, Refused) for each in held):
            return "refused"
        if any(isinstance(each, Reset) for each in held):
            return "reset"
        swallowed = {
            direction for each in held if isinstance(each, Swallowed) for direction in each.directions
        }
        return "target" if swallowed == {"from"} else "proxy"

    def transfers(
        self, edges: Collection[Edge], size_bytes: int, *, within_s: float
    ) -> Mapping[Edge, Transfer]:
        found = {edge: self._transfer(edge, size_bytes) for edge in self.probe(edges, within_s=within_s)}
        return {edge: transfer for edge, transfer in found.items() if transfer.took_s < within_s}

    def _transfer(self, edge: Edge, size_bytes: int) -> Transfer:
        """The request is larger than its answer. What is slow passes while what is late is waited for."""
        its_bytes = {"to": size_bytes * 6 // 5, "from": size_bytes}
        slow_s = 0.0
        for each in self.held[edge].values():
            if isinstance(each, Throttled | Sliced):
                sliced = isinstance(each, Sliced)
                per_s = each.size_bytes / each.delay_s if sliced else each.bytes_per_s
                slow_s = max(slow_s, its_bytes[each.direction] / per_s)
        return Transfer(
            request_bytes=its_bytes["to"],
            answer_bytes=its_bytes["from"],
            small=RoundTrip(took_s=round(SMALL_S + self.delay_s(edge), 3), direct_s=SMALL_S),
            took_s=round(DIRECT_S + max(slow_s, self.delay_s(edge)), 3),
            direct_s=DIRECT_S,
        )

    def bytes(self) -> Mapping[Edge, int]:
        return {edge: self.traffic.get(edge, 0) for edge in self.edges}


@dataclass
class FakeWatch:
    """Passes on what happens to the fake's nodes; `dead` is the error that `check` raises."""

    on_event: Callable[[ProcessEvent], None]
    dead: Exception | None = None
    closed: bool = False
    engine_silent_s: float = 0.0

    def check(self) -> None:
        if self.dead is not None:
            raise self.dead

    def silent_s(self) -> float:
        return self.engine_silent_s

    def close(self) -> None:
        self.closed = True
        self.check()


@dataclass
class FakeCluster:
    """Nodes with a state each. Put a name into `fail_once` and the next call of it raises that error.

    `unsaved`: why the replicas of a broker cannot be copied. Each broker has `log_dir_count` log directories;
    all of its replicas lie in the last one. `offline` are those of a node that have failed. `owners` has for
    whom each node was ended; `die` ends one that nobody asked to end. `releases` has what each node runs from
    its next start on, `named` what its process has named in its log. `clocks` has the nodes whose clock can
    be set, and how far ahead each was set, in ms.
    """

    brokers: tuple[int, ...] = (1, 2, 3)
    controllers: tuple[int, ...] = (101, 102, 103)
    run_id: str = "fake"
    timings: StartTimings | None = None
    bootstrap: str = "127.0.0.1:1,127.0.0.1:2,127.0.0.1:3"
    controller: int | None = 101
    records: list[dict[str, object]] = field(default_factory=list)
    logs: dict[int, int] = field(default_factory=lambda: defaultdict(lambda: 1000))
    unsynced: dict[int, int] = field(default_factory=lambda: defaultdict(lambda: 100))
    cpu: dict[int, int] = field(default_factory=lambda: defaultdict(int))
    frozen: set[int] = field(default_factory=set)
    helper_trouble: Exception | None = None
    unsaved: dict[int, str] = field(default_factory=dict)
    room: dict[int, int] = field(default_factory=lambda: defaultdict(lambda: 1 << 30))
    log_dir_count: int = 1
    other_rooms: dict[tuple[int, int], int] = field(default_factory=lambda: defaultdict(lambda: 1 << 30))
    offline: dict[int, set[int]] = field(default_factory=lambda: defaultdict(set))
    fail_once: dict[str, Exception] = field(default_factory=dict)
    calls: list[str] = field(default_factory=list)
    owners: dict[int, str] = field(default_factory=dict)
    allowed: dict[int, set[str]] = field(default_factory=lambda: defaultdict(set))
    watches: list[FakeWatch] = field(default_factory=list)
    memory_limits: dict[int, int] = field(default_factory=dict)
    held: dict[int, int] = field(default_factory=lambda: defaultdict(lambda: 300 << 20))
    met: dict[int, int] = field(default_factory=lambda: defaultdict(int))
    cpu_limits: dict[int, float] = field(default_factory=dict)
    throttled: dict[int, int] = field(default_factory=lambda: defaultdict(int))
    epochs: dict[int, int] = field(default_factory=lambda: defaultdict(lambda: 10))
    releases: dict[int, str] = field(default_factory=dict)
    clocks: dict[int, int] = field(default_factory=dict)
    at_ns: int = 0

    def __post_init__(self) -> None:
        self.mesh = FakeMesh(full_mesh(self.brokers, self.controllers), calls=self.calls)
        nodes = {*self.brokers, *self.controllers}
        self.releases = dict.fromkeys(nodes, "4.3.1") | self.releases
        self.named = dict(self.releases)
        self.admin = FakeAdmin(brokers=self.brokers, calls=self.calls, named=self.named)
        self.states = {n: ContainerState(status="running", pid=1000 + n, started_at="1") for n in nodes}

    def _do(self, name: str, node: int, log_dir: int | None = None) -> None:
        self.calls.append(f"{name} {node}" + (f" dir {log_dir}" if log_dir not in (None, 1) else ""))
        if name in self.fail_once:
            raise self.fail_once.pop(name)

    def _become(self, node: int, status: Status, **change: object) -> None:
        self.states[node] = replace(self.states[node], status=status, **change)  # type: ignore[arg-type]

    def release_of(self, node: int) -> str:
        return self.releases[node]

    def change_release(self, node: int, release: str) -> None:
        self._do(f"change_release {release}", node)
        assert self.states[node].status == "exited", "a node changes its release while it is down"
        self.releases[node] = release

    def reported_release(self, node: int) -> str:
        return self.named[node] if self.state(node).status in ("running", "paused") else ""

    def state(self, node: int) -> ContainerState:
        return self.states.get(node, ContainerState(status="missing"))

    def pause(self, node: int) -> None:
        self._do("pause", node)
        if self.state(node).status not in ("running", "paused"):
            raise NodeStateError(f"node {node} is {self.state(node).status}, and cannot be paused")
        self._become(node, "paused")

    def unpause(self, node: int) -> None:
        self._do("unpause", node)
        if self.state(node).status == "paused":
            self._become(node, "running")

    def kill(self, node: int, *, owner: str = "") -> None:
        self._do("kill", node)
        self._end(node, 137, owner)

    def stop(self, node: int, *, within_s: float, owner: str = "") -> None:
        self._do("stop", node)
        self._end(node, 143, owner)

    def _end(self, node: int, exit_code: int, owner: str) -> None:
        if self.state(node).status in ("running", "paused"):
            self.owners[node] = owner
            self._become(node, "exited", exit_code=exit_code, pid=None)
            self._report(node, "exited", exit_code=exit_code, planned=True, owner=owner)

    def start(self, node: int, *, owner: str = "") -> None:
        self._do("start", node)
        before = self.states[node]
        if before.status == "exited":
            lives = before.restarts + 1
            self._become(node, "running", exit_code=None, pid=1000 + node + 500 * lives, restarts=lives)
            self.named[node] = self.releases[node]
            self.epochs[node] = max([10, *self.epochs.values()]) + 5
            self.offline[node].clear()
            self._report(node, "started", planned=True, owner=owner)
        self.owners.pop(node, None)

    def die(self, node: int, *, exit_code: int = 1, detail: str = "") -> None:
        """The node ends, and nobody had asked for it."""
        self._become(node, "exited", exit_code=exit_code, pid=None)
        owner = next(iter(self.allowed[node]), "")
        if owner:
            self.owners[node] = owner
        self._report(node, "exited", exit_code=exit_code, planned=bool(owner), owner=owner, detail=detail)

    def lose_proxy(self, *, exit_code: int) -> None:
        """The proxy ends, and nobody had asked for it."""
        self._report(-1, "exited", exit_code=exit_code, planned=False)

    def allow_end(self, node: int, *, owner: str) -> None:
        self.allowed[node].add(owner)

    def disallow_end(self, node: int, *, owner: str) -> None:
        self.allowed[node].discard(owner)

    def allowed_ends(self, node: int) -> tuple[str, ...]:
        return tuple(sorted(self.allowed[node]))

    def ended_by(self, node: int) -> str | None:
        return self.owners.get(node)

    def watch(self, on_event: Callable[[ProcessEvent], None]) -> FakeWatch:
        self.watches.append(FakeWatch(on_event))
        for node in (*self.brokers, *self.controllers):
            self._report(node, "started", planned=True)
        return self.watches[-1]

    def _report(self, node: int, event: Any, **more: Any) -> None:
        role: Role = "proxy" if node < 0 else "broker" if node in self.brokers else "controller"
        for watch in self.watches:
            watch.on_event(ProcessEvent(at_ns=self.at_ns, node=node, role=role, event=event, **more))

    def check_helper(self) -> None:
        if self.helper_trouble is not None:
            raise self.helper_trouble

    def read_clocks(self) -> ClockReading:
        return ClockReading(at_ns=self.at_ns, wall_ns=self.at_ns, engine_ns=self.at_ns, error_ns=0)

    def log_dirs(self, node: int) -> tuple[str, ...]:
        paths = ("/data/kafka", *(f"/data-{number}/kafka" for number in range(2, self.log_dir_count + 1)))
        return paths if node in self.brokers else paths[:1]

    def _holds_replicas(self, log_dir: int | None) -> bool:
        return log_dir in (None, self.log_dir_count)

    def set_clock(self, node: int, ahead_ms: int) -> None:
        self._settable(node)
        self._do(f"set_clock {ahead_ms}", node)
        self.clocks[node] = ahead_ms

    def clock_setting(self, node: int) -> int | None:
        return self.clocks.get(node)

    def clock_ahead(self, node: int) -> ClockAhead:
        """Read within 4 ms."""
        self._settable(node)
        if self.state(node).status != "running":
            raise NodeStateError(f"node {node} is {self.state(node).status}")
        return ClockAhead(least_ms=self.clocks[node] - 2, most_ms=self.clocks[node] + 2)

    def _settable(self, node: int) -> None:
        if node not in self.clocks:
            raise NodeStateError(f"node {node}: its clock cannot be set")

    def freeze(self, node: int, *, log_dir: int | None = None) -> None:
        self._do("freeze", node, log_dir)
        self.frozen.add(node)

    def thaw(self, node: int, *, log_dir: int | None = None) -> None:
        self._do("thaw", node, log_dir)
        self.frozen.discard(node)

    def is_frozen(self, node: int) -> bool:
        return node in self.frozen

    def drop_unsynced(self, node: int) -> tuple[str, ...]:
        self._do("drop_unsynced", node)
        self._lose_unsynced(node)
        return ("Input/output error",) * len(self.log_dirs(node))

    def _lose_unsynced(self, node: int) -> None:
        self.logs[node] -= self.unsynced[node]
        self.unsynced[node] = 0

    def fail_log_dir(self, node: int, *, log_dir: int) -> None:
        self._do("fail_log_dir", node, log_dir)
        self.offline[node].add(log_dir)
        if self._holds_replicas(log_dir):
            self._lose_unsynced(node)

    def fill_up(self, node: int, *, log_dir: int = 1) -> None:
        self._do("fill_up", node, log_dir)
        self._set_room(node, log_dir, 0)

    def free_up(self, node: int, *, log_dir: int = 1) -> None:
        self._do("free_up", node, log_dir)
        self._set_room(node, log_dir, 1 << 30)

    def _set_room(self, node: int, log_dir: int, room: int) -> None:
        if log_dir == 1:
            self.room[node] = room
        else:
            self.other_rooms[node, log_dir] = room

    def wipe(self, node: int, *, new: bool, log_dir: int | None = None) -> None:
        self._do("replace" if new else "wipe", node, log_dir)
        if self._holds_replicas(log_dir):
            self.logs[node] = self.unsynced[node] = 0

    def room_bytes(self, node: int, *, log_dir: int = 1) -> int:
        self._do("room_bytes", node, log_dir)
        return self.room[node] if log_dir == 1 else self.other_rooms[node, log_dir]

    def log_sizes(self, node: int, *, log_dir: int | None = None) -> Mapping[str, int]:
        held = self.logs[node] if self._holds_replicas(log_dir) else 0
        return {"orders-0/00000000000000000000.log": held}

    def log_bytes(self, node: int, *, log_dir: int | None = None) -> int:
        return sum(self.log_sizes(node, log_dir=log_dir).values())

    def unsynced_bytes(self, node: int, *, log_dir: int | None = None) -> int:
        return self.unsynced[node] if self._holds_replicas(log_dir) else 0

    def log_ends(self, node: int, *, log_dir: int | None = None) -> Mapping[tuple[str, int], LogExtent]:
        """orders-0, with a record a byte; nothing on an empty disk."""
        self._do("log_ends", node, log_dir)
        if not self.log_bytes(node, log_dir=log_dir):
            return {}
        return {("orders", 0): LogExtent(log_start=0, log_end=self.log_bytes(node))}

    def save_replicas(
        self, topics: Collection[str], into: Path, *, of: Status = "exited"
    ) -> Mapping[int, str]:
        self.calls.append(f"save_replicas {','.join(topics)}" + (" running" if of == "running" else ""))
        for node in self.brokers:
            if not self.unsaved.get(node):
                (into / str(node)).mkdir(parents=True)
        return {node: self.unsaved.get(node, "") for node in self.brokers}

    def cpu_ns(self, node: int) -> int:
        if self.state(node).status == "running":
            self.cpu[node] += 1_000_000
        return self.cpu[node]

    def limit_cpu(self, node: int, cpus: float | None) -> None:
        self._do("unlimit_cpu" if cpus is None else "limit_cpu", node)
        self.cpu_limits.pop(node, None)
        if cpus is not None:
            self.cpu_limits[node] = cpus

    def cpu_limit(self, node: int) -> float | None:
        return self.cpu_limits.get(node)

    def throttled_ns(self, node: int) -> int:
        return self.throttled[node]

    def limit_memory(self, node: int, most_bytes: int | None) -> None:
        self._do("unlimit_memory" if most_bytes is None else "limit_memory", node)
        self.memory_limits.pop(node, None)
        if most_bytes is not None:
            self.memory_limits[node] = most_bytes

    def memory_limit(self, node: int) -> int | None:
        return self.memory_limits.get(node)

    def memory_use(self, node: int) -> MemoryUse:
        return MemoryUse(held_bytes=self.held[node], limit_met=self.met[node])

    def broker_epoch(self, node: int) -> int:
        return self.epochs[node] if self.state(node).status in ("running", "paused") else -1

    def tail(self, node: int, lines: int = 40) -> str:
        return f"(log of node {node})"

    def active_controller(self) -> int | None:
        return self.controller

    def copy_metadata(self) -> MetadataLog:
        records = list(self.records)
        return lambda: records

    def metadata_records(self) -> list[dict[str, object]]:
        return self.records

    def begin_run(self) -> None:
        self.calls.append("begin_run")

    def collect(self, into: Path) -> None:
        into.mkdir(parents=True, exist_ok=True)
