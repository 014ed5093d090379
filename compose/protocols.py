"""What a cluster offers: `Cluster`, `Mesh`, `View`, `Watch`, and the plain data that they return.

The real ones are `compose.cluster.start.DockerCluster`, `compose.mesh.mesh.ToxiproxyMesh` and
`compose.kafka.view.ClusterView`.
In-memory ones are in `tests/fakes/world/cluster.py`, so that a schedule of faults is tested without Docker.
Every call that changes something is idempotent and returns only after the change was read back.
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol

from compose.admin_protocol import Admin
from compose.impairments import BOTH, Direction, Impairment

CLIENT = "client"

CutMode = Literal["refuse", "blackhole"]
"""`refuse` closes connections and refuses new ones; `blackhole` accepts and swallows every byte."""

Status = Literal["running", "paused", "exited", "created", "missing"]

PROXY = -1
"""The proxy's number where processes are counted together: it is no node."""

Role = Literal["broker", "controller", "combined", "proxy"]

MetadataLog = Callable[[], list[dict[str, object]]]
"""Decodes a copy of the metadata log: dicts of offset, timestamp_ms, type, data, in order of offset."""


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Edge:
    """One direction of opening connections: `source` is a node id or "client", `target` a node id.

    `str(edge)` is "2->1". Both directions of bytes of such a connection cross this edge.
    """

    source: str
    target: int

    def __str__(self) -> str:
        return f"{self.source}->{self.target}"

    @classmethod
    def parse(cls, text: str) -> "Edge":
        """Read "2->1" or "client->1"; ValueError for any other text."""
        source, arrow, target = text.partition("->")
        if not arrow or not target.isdecimal() or not (source == CLIENT or source.isdecimal()):
            raise ValueError(f"not an edge: {text!r}; write SOURCE->TARGET, as in '2->1' or 'client->1'")
        return cls(source=source, target=int(target))


Reached = Literal["refused", "reset", "closed", "proxy", "target", "source"]
"""How far a request came over an edge: there was no connection; it was reset (RST), or closed (FIN); the
proxy has taken the request; the target has it too, and has answered; the source has the answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Timed:
    """How long something takes through an edge, and at the same moment past its proxy, both in seconds.

    A node that is busy, or has just started, is slow in both; what the edge adds is the difference.
    """

    took_s: float
    direct_s: float

    @property
    def added_s(self) -> float:
        """By how much it takes longer through the edge, 0 if it does not."""
        return max(0.0, round(self.took_s - self.direct_s, 3))


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundTrip(Timed):
    """A small request, until its answer comes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Transfer(Timed):
    """A large request, until the end of its answer, which is as large and costs the node little work.

    `small`: a small one just before it, until the end of its answer.
    """

    request_bytes: int
    answer_bytes: int
    small: RoundTrip


@dataclass(frozen=True, slots=True, kw_only=True)
class ContainerState:
    """The state of one node's container as Docker reports it.

    `exit_code` is None while it lives; `pid` is None when no process lives; `started_at` (Docker's text)
    differs from one life of the container to the next; `restarts` counts its starts by `Cluster.start`.
    """

    status: Status
    exit_code: int | None = None
    pid: int | None = None
    started_at: str = ""
    restarts: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionOffsets:
    """How far a partition's logs reach: the leader's high watermark, and the log end of each replica that
    answers, as (broker, offset).

    The leader's log end is read first, then the rest: what is found to lag behind it did lag.
    """

    high_watermark: int
    log_ends: tuple[tuple[int, int], ...]

    def log_end(self, broker: int) -> int:
        """The log end of one replica; -1 if it does not answer."""
        return dict(self.log_ends).get(broker, -1)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessEvent:
    """A process of the cluster started or ended at `at_ns`, on the harness's monotonic clock.

    `node` is PROXY for the proxy. `exit_code` is -1 of a start, or where it is not known. `planned`: this
    cluster was asked to do it, or to allow it, for `owner` ("": the harness itself). `detail`, of an end that
    is not planned: the last lines of its log that say why.
    """

    at_ns: int
    node: int
    role: Role
    event: Literal["started", "exited", "oom-killed"]
    exit_code: int = -1
    planned: bool = False
    owner: str = ""
    detail: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClockReading:
    """The clocks at one moment: the harness's two and the engine's wall clock (-1: no answer).

    `error_ns` is half of the time that the question took: the engine's clock showed `engine_ns` at `at_ns`,
    sooner or later by at most so much.
    """

    at_ns: int
    wall_ns: int
    engine_ns: int
    error_ns: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ClockAhead:
    """A node's wall clock, as its own process shows it, is `least_ms` to `most_ms` ahead of the engine's."""

    least_ms: int
    most_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionState:
    """One partition as brokers report it; `leader` -1: none; `leader_epoch` -1, `elr` empty: not reported.

    `offsets` None: not asked for, or the leader does not answer.
    """

    topic: str
    partition: int
    leader: int
    leader_epoch: int
    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    elr: tuple[int, ...] = ()
    offsets: PartitionOffsets | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LogExtent:
    """The first offset of one replica's log, and the offset after its last whole batch."""

    log_start: int
    log_end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryUse:
    """The memory of a node's processes: what they hold themselves, which is no cache of files and cannot be
    dropped; and how often they have met the limit of what they may have, cache included."""

    held_bytes: int
    limit_met: int


@dataclass(frozen=True, slots=True, kw_only=True)
class StartTimings:
    """Seconds from the beginning of the start to the end of each step; steps run side by side.

    `appcds`: whether the nodes' JVMs were started with the class-data archive.
    """

    proxy_s: float
    networks_s: float
    format_s: float
    disks_s: float
    nodes_s: float
    mesh_s: float
    ready_s: float
    appcds: bool


class Mesh(Protocol):
    """Every connection of the cluster crosses one edge. An edge is open iff no owner holds it.

    Several owners may hold one edge, each in its own way: it is then all of that at once (mesh/toxics.py).
    """

    @property
    def edges(self) -> tuple[Edge, ...]:
        """All edges of the topology."""

    def cut(
        self,
        edges: Iterable[Edge],
        *,
        mode: CutMode,
        owner: str,
        directions: tuple[Direction, ...] = BOTH,
    ) -> None:
        """Hold `edges` cut for `owner`; where several owners hold one edge, `refuse` outranks `blackhole`.

        `directions` are those that a black hole swallows; a refusal knows no direction.
        """

    def impair(self, edges: Iterable[Edge], impairment: Impairment, *, owner: str) -> None:
        """Hold `edges` so for `owner`, instead of how it held them before."""

    def mend(self, edges: Iterable[Edge], *, owner: str) -> None:
        """Release `edges` for `owner`; an edge opens when its last owner has released it."""

    def mend_all(self) -> None:
        """Open every edge, whoever holds it."""

    def is_cut(self, edge: Edge) -> bool:
        """Whether any owner holds `edge` so that no request over it is answered."""

    def disturbed(self) -> Mapping[Edge, str]:
        """Edges that are not simply open, by the word of the proxies themselves, and how."""

    def bytes(self) -> Mapping[Edge, int]:
        """Bytes of answers that came back over each edge since the start of the cluster; never falls.

        Not counted: requests (into a black hole they are still sent), and connections too short to be read.
        """

    def probe(self, edges: Collection[Edge], *, within_s: float) -> frozenset[Edge]:
        """Those of `edges` through which a Kafka request was answered in time; all are asked at once."""

    def round_trips(self, edges: Collection[Edge], *, within_s: float) -> Mapping[Edge, RoundTrip]:
        """Send a Kafka request through each of `edges`, and past it; those that were answered both ways."""

    def reached(self, edges: Collection[Edge], *, within_s: float) -> Mapping[Edge, Reached]:
        """How far one Kafka request came through each of `edges` in time; all are sent at once."""

    def transfers(
        self, edges: Collection[Edge], size_bytes: int, *, within_s: float
    ) -> Mapping[Edge, Transfer]:
        """Let at least so much pass each way through each of `edges`, and past it; those that passed all."""


class Watch(Protocol):
    """Watches the processes of a cluster until it is closed."""

    def check(self) -> None:
        """Raise NodeStateError if the watch itself has died: then nobody knows of an end."""

    def silent_s(self) -> float:
        """For how many seconds the engine has not said how each process is."""

    def close(self) -> None:
        """Look at every process once more, then end; a second call does nothing. Raises as `check` does."""


class Cluster(Protocol):
    """A running KRaft cluster. Brokers are 1.., controllers 101..; with combined roles both are 1.. .

    Who ends or starts a node says for whom (`owner`: a fault's name; "": the harness itself). What nobody
    asked for is an unplanned end, which `watch` reports.
    """

    @property
    def run_id(self) -> str:
        """The run this cluster belongs to."""

    @property
    def brokers(self) -> tuple[int, ...]:
        """Ids of the nodes that carry the broker role."""

    @property
    def controllers(self) -> tuple[int, ...]:
        """Ids of the nodes that carry the controller role."""

    @property
    def bootstrap(self) -> str:
        """`host:port,…` of the client edges."""

    @property
    def mesh(self) -> Mesh:
        """The edges between the nodes and from the clients."""

    @property
    def admin(self) -> Admin:
        """What can be changed in the running cluster: topics, leaders, settings, features."""

    @property
    def timings(self) -> StartTimings | None:
        """How long each step of the start took; None while the cluster is not ready yet."""

    def release_of(self, node: int) -> str:
        """Kafka release of the node, as "4.3.1"; where it was changed, that of the node's next start on."""

    def change_release(self, node: int, release: str) -> None:
        """Let a node that has exited run another Kafka release from its next start on, on the same disk.

        NodeStateError if it has not exited, or if this cluster was not started for that release too.
        """

    def reported_release(self, node: int) -> str:
        """The Kafka release that the node's present process names in its own log; "" if it has not yet."""

    def state(self, node: int) -> ContainerState:
        """The state of the node's container now; one that is gone is `missing`, not an error."""

    def pause(self, node: int) -> None:
        """Stop every process of the node in place (freezer)."""

    def unpause(self, node: int) -> None:
        """Let a paused node go on; nothing to do if it is not paused, or gone."""

    def kill(self, node: int, *, owner: str = "") -> None:
        """SIGKILL, also of a paused node; returns when it has exited."""

    def stop(self, node: int, *, within_s: float, owner: str = "") -> None:
        """SIGTERM (controlled shutdown); NodeStateError if it has not exited `within_s` seconds later."""

    def start(self, node: int, *, owner: str = "") -> None:
        """Start an exited node (mounts its volume again); returns when its process runs, before it serves."""

    def allow_end(self, node: int, *, owner: str) -> None:
        """The node may halt by itself because of what `owner` does to it, until `disallow_end`."""

    def disallow_end(self, node: int, *, owner: str) -> None:
        """Undo `allow_end`."""

    def allowed_ends(self, node: int) -> tuple[str, ...]:
        """For whom the node may halt by itself now."""

    def ended_by(self, node: int) -> str | None:
        """For whom the node was ended that has exited now; None: nobody asked for its end."""

    def watch(self, on_event: Callable[[ProcessEvent], None]) -> Watch:
        """Report every start and end of a process from now on; first each that runs, as started.

        `on_event` is called on a thread of the watch, as it happens.
        """

    def check_helper(self) -> None:
        """Raise DiskError if nothing answers that does the work on the nodes' disks; takes up to a minute.

        Any other ComposeError says that the engine does not answer, which decides nothing.
        """

    def read_clocks(self) -> ClockReading:
        """The harness's clocks and the engine's at one moment; 10 to 14 ms if that is on another machine."""

    def set_clock(self, node: int, ahead_ms: int) -> None:
        """Let the node's wall clock be so far ahead of the engine's (behind: negative), over restarts too.

        NodeStateError for a node of whose topology it cannot be set. The monotonic clock is left alone.
        """

    def clock_setting(self, node: int) -> int | None:
        """How far ahead the node's clock was set, in ms; None: it cannot be set."""

    def clock_ahead(self, node: int) -> ClockAhead:
        """How far ahead it is, by the word of the node's own process.

        NodeStateError where it cannot be set, or where the process gives no answer.
        """

    def log_dirs(self, node: int) -> tuple[str, ...]:
        """The paths of the node's log directories, each on a disk of its own: number 1 first, which has the
        node's metadata log too. `log_dir` below is such a number; None: all of them."""

    def freeze(self, node: int, *, log_dir: int | None = None) -> None:
        """Freeze the file system: every write blocks until `thaw`."""

    def thaw(self, node: int, *, log_dir: int | None = None) -> None:
        """Undo `freeze`; nothing to do if it is not frozen, or gone."""

    def is_frozen(self, node: int) -> bool:
        """Whether a file system of the node is frozen now."""

    def drop_unsynced(self, node: int) -> tuple[str, ...]:
        """Power cut of the node's file systems: what was never synced is gone; the caller has paused the
        node.

        Every later read or write fails with EIO until the node was killed and started again. Returns what
        each of them has answered since to a read, by log directory; DiskError if one can still be read.
        """

    def fail_log_dir(self, node: int, *, log_dir: int) -> None:
        """Cut one file system off from a running broker that has another: every later read or write there
        fails with EIO, and what was never synced is gone; so it is until the broker was ended and started
        again.

        Not that of the metadata log, without which the broker halts: NodeStateError.
        """

    def fill_up(self, node: int, *, log_dir: int = 1) -> None:
        """Leave no room on the file system: what needs a new block fails with ENOSPC. Takes what has become
        free since, if asked again."""

    def free_up(self, node: int, *, log_dir: int = 1) -> None:
        """Undo `fill_up`; nothing to do if there is room."""

    def wipe(self, node: int, *, new: bool, log_dir: int | None = None) -> None:
        """Empty the disk of a broker that has exited; what is left is formatted for the same broker.

        `new`: with another directory id (KIP-858), as that of a disk that was replaced.
        NodeStateError for a node that has not exited, or is a controller, which would forget its vote.
        """

    def room_bytes(self, node: int, *, log_dir: int = 1) -> int:
        """Bytes that are free on the file system, which must be readable. Raises DiskError."""

    def log_sizes(self, node: int, *, log_dir: int | None = None) -> Mapping[str, int]:
        """Bytes of each `*.log` file, by its log directory's number and its path there, as the disk has it.

        A broker's metadata log is left out, here and below: it grows all by itself. So are replicas that the
        broker has put aside to delete them.
        """

    def log_bytes(self, node: int, *, log_dir: int | None = None) -> int:
        """The sum of `log_sizes`."""

    def unsynced_bytes(self, node: int, *, log_dir: int | None = None) -> int:
        """Bytes of `*.log` files that a power cut would drop now, at least: they have no place on disk."""

    def log_ends(self, node: int, *, log_dir: int | None = None) -> Mapping[tuple[str, int], LogExtent]:
        """What the node's own disks hold of each partition, by topic and number, without asking the node.

        For a node that is down or paused: of one that runs, the log may grow meanwhile. Kafka's internal
        topics are left out. DiskError if a disk cannot be read.
        """

    def save_replicas(
        self, topics: Collection[str], into: Path, *, of: Literal["exited", "running"] = "exited"
    ) -> Mapping[int, str]:
        """Copy each broker's replicas of `topics`, and its checkpoints, from its first log directory to
        `into`/<broker>/, from the second to `into`/<broker>-2/, and so on.

        For brokers that have ended; or for brokers that run, if nobody writes to `topics` any more. Returns
        by broker why its replicas could not be copied as a whole, "" if they were; of a broker that failed,
        nothing stays in `into`.
        """

    def cpu_ns(self, node: int) -> int:
        """CPU time that the node has used in its present life; stands still while it is paused."""

    def limit_cpu(self, node: int, cpus: float | None) -> None:
        """Let the node use so many processors at most, as 0.2; None: no limit. Holds over its restarts."""

    def cpu_limit(self, node: int) -> float | None:
        """How many processors the node may use at most; None: no limit."""

    def throttled_ns(self, node: int) -> int:
        """For how long the node's processes have had to wait for its limit, in its present life.

        NodeStateError if it does not run, or where this machine's kernel does not count that.
        """

    def limit_memory(self, node: int, most_bytes: int | None) -> None:
        """Let the node have so much memory at most, its cache of files included; None: no limit.

        What it holds itself above that the kernel ends it for. Holds over its restarts.
        """

    def memory_limit(self, node: int) -> int | None:
        """How many bytes of memory the node may have at most; None: no limit."""

    def memory_use(self, node: int) -> MemoryUse:
        """The memory of the node's processes, in its present life.

        NodeStateError if it does not run, or where this machine's kernel does not count that.
        """

    def broker_epoch(self, node: int) -> int:
        """The epoch under which the node's present process has registered, by its own log; -1: not yet."""

    def tail(self, node: int, lines: int = 40) -> str:
        """The last lines of the node's output; a reason in brackets if they cannot be had."""

    def active_controller(self) -> int | None:
        """The leader of the greatest epoch in the quorum members' states; None while there is none."""

    def copy_metadata(self) -> MetadataLog:
        """Copy the KRaft metadata log as it is now; while the cluster is there, the result decodes it."""

    def metadata_records(self) -> list[dict[str, object]]:
        """The decoded KRaft metadata log: dicts of offset, timestamp_ms, type, data, in order of offset."""

    def begin_run(self) -> None:
        """Another run begins: the nodes' logs are collected from now on, and nothing is announced."""

    def collect(self, into: Path) -> None:
        """Write each node's log (since the last `begin_run`) and server.properties to `into`/<node>/."""


class View(Protocol):
    """Topics as the brokers report them, each broker asked by itself."""

    def describe(self, *topics: str) -> tuple[PartitionState, ...]:
        """All partitions of `topics`, each as reported by the brokers with the greatest leader epoch.

        One question for all of them, so that a broker that is silent is waited for once. ComposeError if no
        broker answers.
        """

    def with_offsets(self, state: PartitionState) -> PartitionState:
        """The same state with the offsets that its replicas report at its leader epoch now."""

    def leaders(self) -> Mapping[tuple[str, int], int]:
        """Leader of every partition of every topic that is not internal."""

    def fenced(self) -> Mapping[int, bool]:
        """Whether each broker is fenced; one on which the brokers that answer are divided is left out."""

    def log_dirs(self, broker: int) -> Mapping[str, bool]:
        """Whether each log directory of a broker is online, by its own word, by path. ComposeError if it does
        not answer."""

    def coordinator(self, group: str) -> int | None:
        """The broker that coordinates a consumer group; None if there is none now, or was no group yet."""

    def wait_until_settled(self, topic: str, *, within_s: float) -> None:
        """Return when every reachable broker itself knows a leader of every partition, the same for all."""

    def wait_for_full_isr(self, topics: Iterable[str], *, within_s: float) -> None:
        """Return when every replica of every partition of `topics` is in sync."""
