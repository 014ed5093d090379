"""A running cluster: nodes, disks and mesh as one `compose.protocols.Cluster`."""

import threading
import time
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Literal

from compose.docker import containers
from compose.docker.containers import Container
from compose.docker.events import engine_time_ns
from compose.docker.labels import RUN
from compose.errors import ComposeError, NodeStateError, Vanished
from compose.kafka import broker_log, metadata_dump, quorum
from compose.kafka.admin import ClusterAdmin
from compose.mesh.mesh import ToxiproxyMesh
from compose.nodes import control_group, cpu_time
from compose.nodes.clocks.clocks import Clocks
from compose.nodes.clocks.engine_clock import engine_clock
from compose.nodes.disks import replica_files
from compose.nodes.disks.disks import Disks
from compose.nodes.helper import Helper
from compose.nodes.node import Node, with_restarts
from compose.nodes.watch.node_watch import DockerEngine, NodeWatch, Watched
from compose.nodes.watch.planned_ends import KILLED, STOPPED, PlannedEnds
from compose.protocols import (
    PROXY,
    ClockAhead,
    ClockReading,
    ContainerState,
    LogExtent,
    MemoryUse,
    MetadataLog,
    ProcessEvent,
    Role,
    StartTimings,
)
from compose.spec.server_properties import log_dirs
from compose.spec.topology import Topology

StartNode = Callable[[int, str], Node]
"""Makes and starts the container of a node with the image of a Kafka release."""


class DockerCluster:
    """Made by `start`; see `compose.protocols.Cluster` for what each method promises."""

    def __init__(
        self,
        *,
        topology: Topology,
        labels: Mapping[str, str],
        proxy: Container,
        clients: Mapping[int, tuple[str, int]],
        nodes: Mapping[int, Node],
        start_node: StartNode,
        disks: Disks,
        clocks: Clocks,
        mesh: ToxiproxyMesh,
    ) -> None:
        self.topology, self.clients, self.mesh = topology, clients, mesh
        self.timings: StartTimings | None = None
        self._labels, self._nodes, self._start_node, self._disks = labels, dict(nodes), start_node, disks
        self._clocks = clocks
        self._proxy, self._planned, self._logs_since_ns = proxy, PlannedEnds(), 0
        self._clock = engine_clock(proxy.id)
        self._releases = {number: node.release for number, node in nodes.items()}
        self._limits: dict[int, tuple[float | None, int | None]] = {}
        self._earlier_logs = dict.fromkeys(nodes, "")
        self._restarts = dict.fromkeys(nodes, 0)
        self._addresses = {number: self.address(number) for number in nodes}
        self._starting = {number: threading.Lock() for number in nodes}
        self._dumping = threading.Lock()

    @property
    def helper(self) -> Helper:
        """The standing helper container of this cluster."""
        return self._disks.helper

    @property
    def run_id(self) -> str:
        """The run this cluster belongs to."""
        return self._labels[RUN]

    @property
    def bootstrap(self) -> str:
        """`host:port,…` of the client edges, in the order of the brokers."""
        return ",".join(f"{host}:{port}" for host, port in self.clients.values())

    @property
    def admin(self) -> ClusterAdmin:
        """Changes of topics, leaders, settings and features; opens its connections when it is asked."""
        return ClusterAdmin(self.bootstrap)

    @property
    def brokers(self) -> tuple[int, ...]:
        """Nodes with the broker role."""
        return self.topology.broker_ids

    @property
    def controllers(self) -> tuple[int, ...]:
        """Nodes with the controller role."""
        return self.topology.controller_ids

    def release_of(self, node: int) -> str:
        """Kafka release of the node, from its next start on if that was changed."""
        self._node(node)
        return self._releases[node]

    def change_release(self, node: int, release: str) -> None:
        """The node gets a container of that release's image with its next start."""
        status = self._node(node).state().status
        if status not in ("exited", "missing"):
            raise NodeStateError(f"node {node} is {status}; only one that has exited gets another release")
        if release not in self.topology.every_release:
            known = ", ".join(self.topology.every_release)
            raise NodeStateError(f"node {node}: this cluster has no image of {release}; it has {known}")
        self._releases[node] = release

    def reported_release(self, node: int) -> str:
        """The release that the node's present process names in its log."""
        return broker_log.release(self._log_of_this_life(node))

    def state(self, node: int) -> ContainerState:
        """The state of the node now, as the engine reports it."""
        return with_restarts(self._node(node).state(), self._restarts[node])

    def pause(self, node: int) -> None:
        """Stop every process of the node in place."""
        self._node(node).pause()

    def unpause(self, node: int) -> None:
        """Let a paused node go on."""
        self._node(node).unpause()

    def kill(self, node: int, *, owner: str = "") -> None:
        """SIGKILL. Who waits for a frozen disk cannot die, so such a disk is thawed, behind a pause."""
        if self._disks.is_frozen(node):
            if self._node(node).state().status == "running":
                self._node(node).pause()
            self._disks.thaw(node)
        self._announce_end(node, owner, KILLED)
        self._node(node).kill()

    def stop(self, node: int, *, within_s: float, owner: str = "") -> None:
        """SIGTERM, and wait for the exit."""
        self._announce_end(node, owner, STOPPED)
        self._node(node).stop(within_s=within_s)

    def _announce_end(self, node: int, owner: str, codes: tuple[int, ...]) -> None:
        """What has ended before was not ended by us."""
        if self._node(node).state().status in ("running", "paused"):
            self._planned.ending(node, owner=owner, codes=codes)

    def start(self, node: int, *, owner: str = "") -> None:
        """Start an exited node, and let the edges to it follow if its address has changed."""
        self._node(node)
        with self._starting[node]:
            if self._nodes[node].state().status != "running":
                self._planned.starting(node, owner=owner)
                self._start_process(node)
                self._restarts[node] += 1
            self._planned.runs(node)
            address = self.address(node)
            if address and address != self._addresses[node]:
                self.mesh.moved(node, address)
                self._addresses[node] = address

    def _start_process(self, node: int) -> None:
        """Start the node's container; if it gets another release, one of that takes its place."""
        one = self._nodes[node]
        if one.release == self._releases[node]:
            one.start()
        else:
            self._replace(one)

    def _replace(self, old: Node) -> None:
        """Another container under the same name, on the same disk and in the same network, with the limits of
        the old one. What that has logged goes with it, and is kept before. May be tried again."""
        node = old.number
        if old.state().status != "missing":
            self._limits[node] = old.cpu_limit(), old.memory_limit()
            log = self._log(node)
            self._earlier_logs[node] += self._named_before(node, log) + log
        with suppress(Vanished):
            containers.remove(old.name, name=old.name)
        new = self._nodes[node] = self._start_node(node, self._releases[node])
        cpus, most_bytes = self._limits.pop(node, (None, None))
        if cpus is not None:
            new.limit_cpu(cpus)
        if most_bytes is not None:
            new.limit_memory(most_bytes)

    def allow_end(self, node: int, *, owner: str) -> None:
        """The node may halt by itself."""
        self._planned.allow(node, owner=owner)

    def disallow_end(self, node: int, *, owner: str) -> None:
        """It may not, any more."""
        self._planned.disallow(node, owner=owner)

    def allowed_ends(self, node: int) -> tuple[str, ...]:
        """For whom the node may halt by itself now."""
        return self._planned.allowed(node)

    def ended_by(self, node: int) -> str | None:
        """For whom the node was ended."""
        code = self.state(node).exit_code
        return None if code is None else self._planned.owner_of_end(node, time.monotonic_ns(), code)

    def watch(self, on_event: Callable[[ProcessEvent], None]) -> NodeWatch:
        """Report every start and end of a node's process, and of the proxy's."""
        names = {number: node.name for number, node in self._nodes.items()} | {PROXY: self._proxy.name}
        watched = [Watched(container=name, node=node, role=self._role(node)) for node, name in names.items()]
        return NodeWatch(watched, DockerEngine(self.run_id, self._clock), self._planned, on_event)

    def _role(self, node: int) -> Role:
        if node == PROXY:
            return "proxy"
        if node in self.brokers and node in self.controllers:
            return "combined"
        return "broker" if node in self.brokers else "controller"

    def check_helper(self) -> None:
        """Whether the helper container answers."""
        self.helper.check()

    def read_clocks(self) -> ClockReading:
        """The harness's clocks and the engine's."""
        return self._clock.read()

    def set_clock(self, node: int, ahead_ms: int) -> None:
        """Set the node's wall clock."""
        self._node(node)
        self._clocks.set(node, ahead_ms)

    def clock_setting(self, node: int) -> int | None:
        """How far ahead the node's clock was set."""
        self._node(node)
        return self._clocks.setting(node)

    def clock_ahead(self, node: int) -> ClockAhead:
        """How far ahead it is: a process that does not run has no clock, and one that is paused no answer."""
        status = self._node(node).state().status
        if status != "running":
            raise NodeStateError(f"node {node} is {status}; what its clock shows is not known")
        return self._clocks.ahead(node)

    def log_dirs(self, node: int) -> tuple[str, ...]:
        """The paths of the node's log directories."""
        self._node(node)
        return log_dirs(self._disks.count(node))

    def freeze(self, node: int, *, log_dir: int | None = None) -> None:
        """Let every write to the node's disk block."""
        self._node(node)
        self._disks.freeze(node, log_dir)

    def thaw(self, node: int, *, log_dir: int | None = None) -> None:
        """Undo `freeze`."""
        self._node(node)
        self._disks.thaw(node, log_dir)

    def is_frozen(self, node: int) -> bool:
        """Whether a disk of the node is frozen."""
        self._node(node)
        return self._disks.is_frozen(node)

    def drop_unsynced(self, node: int) -> tuple[str, ...]:
        """Power cut of the node's disks."""
        status = self._node(node).state().status
        if status != "paused":
            raise NodeStateError(
                f"node {node} is {status}; pause it before its power cut, or it meets EIO and halts"
            )
        return self._disks.drop_unsynced(node)

    def fail_log_dir(self, node: int, *, log_dir: int) -> None:
        """Let one disk of a running broker fail."""
        status, count = self._node(node).state().status, self._disks.count(node)
        if status != "running" or not 2 <= log_dir <= count:
            raise NodeStateError(
                f"node {node} is {status} and has {count} log directories; only a running node can lose one, "
                f"and not the first, which has its metadata log: asked for number {log_dir}"
            )
        self._disks.drop_unsynced(node, log_dir)

    def fill_up(self, node: int, *, log_dir: int = 1) -> None:
        """Leave no room on a disk of the node."""
        self._node(node)
        self._disks.fill_up(node, log_dir)

    def free_up(self, node: int, *, log_dir: int = 1) -> None:
        """Undo `fill_up`."""
        self._node(node)
        self._disks.free_up(node, log_dir)

    def wipe(self, node: int, *, new: bool, log_dir: int | None = None) -> None:
        """Empty the disk of a broker that has exited."""
        status = self._node(node).state().status
        if status != "exited" or node in self.controllers:
            raise NodeStateError(f"node {node} is {status}; only a broker that has exited can be wiped")
        self._disks.wipe(node, log_dir, new=new)

    def log_sizes(self, node: int, *, log_dir: int | None = None) -> Mapping[str, int]:
        """Bytes of each `*.log` file; of a broker without its metadata log, which grows all by itself."""
        return self._disks.log_sizes(node, log_dir, with_metadata=node not in self.brokers)

    def log_bytes(self, node: int, *, log_dir: int | None = None) -> int:
        """Bytes of these files."""
        return sum(self.log_sizes(node, log_dir=log_dir).values())

    def unsynced_bytes(self, node: int, *, log_dir: int | None = None) -> int:
        """Bytes of `*.log` files that a power cut would take."""
        return self._disks.unsynced_bytes(node, log_dir, with_metadata=node not in self.brokers)

    def log_ends(self, node: int, *, log_dir: int | None = None) -> dict[tuple[str, int], LogExtent]:
        """What the node's own disks hold of each partition."""
        self._node(node)
        return self._disks.log_ends(node, log_dir)

    def room_bytes(self, node: int, *, log_dir: int = 1) -> int:
        """Bytes that are free on a disk of the node."""
        self._node(node)
        return self._disks.room_bytes(node, log_dir)

    def save_replicas(
        self, topics: Collection[str], into: Path, *, of: Literal["exited", "running"] = "exited"
    ) -> dict[int, str]:
        """Copy the replicas of `topics` from the disks of the brokers in that state; why not, by broker."""
        status = {node: self.state(node).status for node in self.brokers}
        ready = [node for node in self.brokers if status[node] == of]
        wanted = "it has not ended" if of == "exited" else "it does not run"
        others = {node: f"{wanted}: {status[node]}" for node in self.brokers if node not in ready}
        return others | replica_files.save(self._disks, ready, topics, into)

    def cpu_ns(self, node: int) -> int:
        """CPU time of the node in its present life: from the kernel, or else from the engine."""
        container_id, pid = self._node(node).container_id, self.state(node).pid
        used = cpu_time.of_container(container_id, pid) if pid else None
        return containers.cpu_ns(container_id) if used is None else used

    def limit_cpu(self, node: int, cpus: float | None) -> None:
        """Limit the node's processor time."""
        self._node(node).limit_cpu(cpus)

    def cpu_limit(self, node: int) -> float | None:
        """The limit of the node's processor time."""
        return self._node(node).cpu_limit()

    def throttled_ns(self, node: int) -> int:
        """For how long the node has had to wait for its limit, from the kernel."""
        group = self._group(node, "cpu")
        waited = control_group.throttled_ns(group) if group else None
        if waited is None:
            raise NodeStateError(
                f"node {node}: no throttled time of its processes is counted on this machine"
            )
        return waited

    def share_cpu(self, shares: int) -> None:
        """Set every node's weight where the processors do not suffice for all."""
        for node in self._nodes.values():
            node.share_cpu(shares)

    def limit_memory(self, node: int, most_bytes: int | None) -> None:
        """Limit the node's memory."""
        self._node(node).limit_memory(most_bytes)

    def memory_limit(self, node: int) -> int | None:
        """The limit of the node's memory."""
        return self._node(node).memory_limit()

    def memory_use(self, node: int) -> MemoryUse:
        """The memory of the node's processes, from the kernel."""
        group = self._group(node, "memory")
        used = control_group.memory_use(group) if group else None
        if used is None:
            raise NodeStateError(f"node {node}: the memory of its processes is not counted on this machine")
        return used

    def _group(self, node: int, controller: str) -> Path | None:
        container_id, pid = self._node(node).container_id, self.state(node).pid
        return control_group.directory(container_id, pid, controller) if pid else None

    def broker_epoch(self, node: int) -> int:
        """The epoch of the node's registration, from the log of its present life."""
        return broker_log.broker_epoch(self._log_of_this_life(node))

    def _log_of_this_life(self, node: int) -> str:
        """What the node's present process has logged; "" while it has none."""
        one = self._node(node)
        state = one.state()
        if state.pid is None:
            return ""
        return containers.logs(one.container_id, since_ns=engine_time_ns(state.started_at))

    def tail(self, node: int, lines: int = 40) -> str:
        """The last lines of the node's output."""
        try:
            return containers.logs(self._node(node).container_id, lines=lines)
        except ComposeError as error:
            return f"[no log of node {node}: {error}]"

    def active_controller(self) -> int | None:
        """The leader of the quorum, as its members have written it down."""
        alive = [n for n in self.controllers if self.state(n).status in ("running", "paused")]
        leader = quorum.leader(self._disks.show(quorum.STATE_FILE, alive)) if alive else None
        return leader if leader in alive else None

    def copy_metadata(self) -> MetadataLog:
        """A copy of the metadata log of the controller that has the most of it, to be decoded.

        The newest release decodes it: it knows every record that any other one has written.
        """
        newest = self.topology.every_release[-1]
        copy = metadata_dump.copied(self._labels, newest, self.controllers, self._disks)

        def decode() -> list[dict[str, object]]:
            with self._dumping:
                return copy.records()

        return decode

    def metadata_records(self) -> list[dict[str, object]]:
        """The decoded metadata log of the controller that has the most of it."""
        return self.copy_metadata()()

    def begin_run(self) -> None:
        """Collect the nodes' logs from now on; what a run before has announced is over with it."""
        clocks = self._clock.read()
        self._logs_since_ns = clocks.engine_ns if clocks.engine_ns >= 0 else clocks.wall_ns
        self._planned = PlannedEnds()
        self._earlier_logs = dict.fromkeys(self._nodes, "")

    def collect(self, into: Path) -> None:
        """Write `server.log` and `server.properties` of each node below `into`."""
        for number, node in self._nodes.items():
            directory = into / str(number)
            directory.mkdir(parents=True, exist_ok=True)
            (directory / "server.properties").write_text(node.properties)
            (directory / "server.log").write_text(self._earlier_logs[number] + self._log(number))

    def address(self, node: int) -> str:
        """The node's IP address in its own network, "" while it does not run."""
        one = self._node(node)
        return containers.addresses(one.container_id).get(one.network, "")

    def _named_before(self, number: int, log: str) -> str:
        """The line in which the node named its release, where that was before the run whose `log` it is."""
        if self._earlier_logs[number] or broker_log.release(log):
            return ""
        return broker_log.naming_release(containers.logs(self._nodes[number].container_id))

    def _log(self, number: int) -> str:
        try:
            return containers.logs(self._nodes[number].container_id, since_ns=self._logs_since_ns)
        except ComposeError as error:
            return f"[no log of node {number}: {error}]\n"

    def _node(self, number: int) -> Node:
        if number not in self._nodes:
            raise NodeStateError(
                f"no node {number} in this cluster; it has {', '.join(map(str, self._nodes))}"
            )
        return self._nodes[number]
