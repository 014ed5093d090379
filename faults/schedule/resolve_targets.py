"""From a step that is due to a fault that is ready: roles become nodes and edges, and counters are read."""

from dataclasses import dataclass

from compose.errors import ComposeError
from compose.protocols import Cluster, Edge, PartitionState, View
from faults.clock import Clock, ns
from faults.errors import NoTarget
from faults.kinds.base import Fault, Site
from faults.kinds.disk.disk_stall import DiskStall
from faults.kinds.disk.power_loss import PowerLoss
from faults.kinds.evidence import Snapshot
from faults.kinds.network.partition import Partition
from faults.kinds.node_holds import Holds
from faults.kinds.process.kill import Kill
from faults.kinds.process.pause import Pause
from faults.kinds.process.stop import Stop
from faults.plan.edges import resolve_edges
from faults.plan.steps import FaultKind, FaultStep, When
from faults.plan.targets import Roles, TopicPartition
from faults.schedule.probes import COUNTERS, Watch

SHORTEST_NS = ns(0.3)
"""A counter is read over at least this time before an injection."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Aimed:
    """A fault that is ready, and whom it will hit.

    `awaited` is the state of the partition of which the next step awaits an event, if it does and it is told.
    """

    fault: Fault
    nodes: tuple[int, ...]
    edges: tuple[Edge, ...]
    awaited: PartitionState | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Missed:
    """Nobody to hit now; `reason` says why."""

    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Sights:
    """What aiming needs besides the step."""

    cluster: Cluster
    view: View
    clock: Clock
    holds: Holds
    watch: Watch

    def aim(self, step: FaultStep, following: When | None) -> Aimed | Missed:
        """Resolve the step's roles, make its fault, and look where the `following` step awaits an event."""
        awaited = None if following is None else self.partition(following.condition.of)
        roles = Roles(cluster=self.cluster, view=self.view)
        try:
            nodes, edges = _whom(step, roles)
            fault = make(step.kind, self._site(step, nodes, edges))
            fault.prepare()
        except (NoTarget, ComposeError) as error:
            return Missed(reason=str(error))
        return Aimed(fault=fault, nodes=nodes, edges=edges, awaited=awaited)

    def partition(self, of: TopicPartition | None) -> PartitionState | None:
        """What the brokers tell of a partition now; None if they do not."""
        try:
            return Roles(cluster=self.cluster, view=self.view).partition(of)
        except (NoTarget, ComposeError):
            return None

    def _site(self, step: FaultStep, nodes: tuple[int, ...], edges: tuple[Edge, ...]) -> Site:
        before, now = self._before_and_now(step.kind, nodes)
        return Site(
            cluster=self.cluster,
            view=self.view,
            clock=self.clock,
            holds=self.holds,
            owner=step.name,
            nodes=nodes,
            edges=edges,
            mode=step.mode,
            before=before,
            now=now,
            isr=self.watch.isr or self.watch.read_isr(),
        )

    def _before_and_now(self, kind: FaultKind, nodes: tuple[int, ...]) -> tuple[Snapshot, Snapshot]:
        """Counters from some time before, and from now; better late than never proven."""
        counters = {COUNTERS[kind]} if kind in COUNTERS else set()
        if not counters:
            return (nothing := Snapshot(at_ns=self.clock.now_ns())), nothing
        now = self.watch.read(counters, nodes)
        before = self.watch.before(now)
        if before is not None and now.at_ns - before.at_ns >= SHORTEST_NS:
            return before, now
        before = before or now
        self.clock.sleep_until(before.at_ns + SHORTEST_NS)
        return before, self.watch.read(counters, nodes)


def _whom(step: FaultStep, roles: Roles) -> tuple[tuple[int, ...], tuple[Edge, ...]]:
    """Nodes and edges that the step means now; a partition's nodes are those at the ends of its edges."""
    if step.edges is None:
        assert step.target is not None, "a step has a target or edges"
        return roles.nodes(step.target), ()
    edges = resolve_edges(step.edges, roles)
    ends = {edge.target for edge in edges} | {int(edge.source) for edge in edges if edge.source.isdecimal()}
    return tuple(sorted(ends)), edges


def make(kind: FaultKind, site: Site) -> Fault:
    """The fault of this kind."""
    match kind:
        case "partition":
            return Partition(site)
        case "pause":
            return Pause(site)
        case "kill":
            return Kill(site)
        case "stop":
            return Stop(site)
        case "disk-stall":
            return DiskStall(site)
        case "power-loss":
            return PowerLoss(site)
