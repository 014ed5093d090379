"""From a step that is near to a fault that is ready: roles become nodes and edges, and counters are read.

All of it only reads, and may take seconds where a node does not answer: it runs on background threads, before
the step is due. What it was based on is compared with what is known when the step is due, which takes no time.
"""

from dataclasses import dataclass

from compose.errors import ComposeError
from compose.protocols import Cluster, PartitionState, View
from faults.clock import Clock, ns
from faults.errors import NoTarget
from faults.kinds.base import Fault, Injection, Outages
from faults.kinds.evidence import Counter, CounterSample
from faults.kinds.node_holds import Holds
from faults.kinds.registry import kind_of
from faults.kinds.step import ResolvedTargets, Step
from faults.schedule.known import KnownRoles
from faults.schedule.probes import SHORTEST_NS, Isr, Probes
from faults.targets.conditions import Condition, OffsetCondition
from faults.targets.roles import Roles
from faults.targets.target import TopicPartition

FRESH_NS = ns(1.0)
"""What was read of a role longer ago than this may be over: it is asked for anew. The sampler asks every
0.25 s and waits for a silent broker for 0.5 s."""

MOST_AGE_NS = ns(2.5)
"""How long a preparation holds: the counters that it has read prove little about later."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ready:
    """A fault that is ready, and what it will hit.

    It was prepared from `since_ns` on; its roles are those of `resolved_ns`.
    """

    fault: Fault
    outages: Outages
    targets: ResolvedTargets
    since_ns: int
    resolved_ns: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Vacant:
    """There is nothing to hit now, for this `reason`."""

    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolver:
    """Resolves steps on a cluster. `holds` are shared by all injections of a schedule."""

    cluster: Cluster
    view: View
    clock: Clock
    holds: Holds
    probes: Probes

    def ready(self, step: Step) -> Ready | Vacant:
        """Resolve the step's roles, and make and prepare its fault."""
        since_ns = self.clock.now_ns()
        try:
            targets, resolved_ns = self._resolve(step)
            injection = self._injection(step, targets)
            fault = kind_of(step).make(injection)
            fault.prepare()
        except (NoTarget, ComposeError) as error:
            return Vacant(reason=str(error))
        return Ready(
            fault=fault,
            outages=injection.outages,
            targets=targets,
            since_ns=since_ns,
            resolved_ns=resolved_ns,
        )

    def still_holds(self, step: Step, ready: Ready) -> bool:
        """Whether the fault can be injected now as it was prepared: its roles have not moved. Takes no time."""
        now_ns = self.clock.now_ns()
        if now_ns - ready.since_ns > MOST_AGE_NS:
            return False
        source = KnownRoles(self.probes.known)
        try:
            targets = step.resolve(self._roles(source))
        except NoTarget:
            return not self._is_fresh(source.as_of_ns) and self._is_fresh(ready.resolved_ns)
        if self._is_fresh(source.as_of_ns):
            return targets == ready.targets
        return self._is_fresh(ready.resolved_ns)

    def _resolve(self, step: Step) -> tuple[ResolvedTargets, int]:
        """What the step hits, and when that was so: from what is known, or from the cluster if that is old."""
        source = KnownRoles(self.probes.known)
        try:
            targets = step.resolve(self._roles(source))
        except NoTarget:
            if self._is_fresh(source.as_of_ns):
                raise
        else:
            if self._is_fresh(source.as_of_ns):
                return targets, min(source.as_of_ns, self.clock.now_ns())
        asked_ns = self.clock.now_ns()
        return step.resolve(Roles(cluster=self.cluster, view=self.view)), asked_ns

    def _roles(self, source: KnownRoles) -> Roles:
        return Roles(cluster=self.cluster, view=source, active_controller=source.active_controller)

    def _is_fresh(self, as_of_ns: int) -> bool:
        return as_of_ns >= 0 and self.clock.now_ns() - as_of_ns <= FRESH_NS

    def partition(self, of: TopicPartition | None) -> PartitionState | None:
        """The state of a partition now; None if no broker reports it."""
        try:
            return Roles(cluster=self.cluster, view=self.view).partition(of)
        except (NoTarget, ComposeError):
            return None

    def known_partition(self, of: TopicPartition | None) -> PartitionState | None:
        """The state of a partition as it was read last; None if that is long ago. Takes no time."""
        source = KnownRoles(self.probes.known)
        try:
            state = self._roles(source).partition(of)
        except NoTarget:
            return None
        return state if self._is_fresh(source.as_of_ns) else None

    def awaited(self, condition: Condition) -> PartitionState | None:
        """The state of a condition's partition now, with its offsets if the condition is about them."""
        state = self.partition(condition.of)
        if state is None or not isinstance(condition, OffsetCondition):
            return state
        return self.view.with_offsets(state)

    def _injection(self, step: Step, targets: ResolvedTargets) -> Injection[Step]:
        before, now = self._before_and_now(kind_of(step).counter, targets.nodes)
        return Injection(
            step=step,
            cluster=self.cluster,
            view=self.view,
            clock=self.clock,
            holds=self.holds,
            nodes=targets.nodes,
            edges=targets.edges,
            before=before,
            now=now,
            isr=self._isr(),
        )

    def _isr(self) -> Isr:
        known = self.probes.known
        return known.isr if self._is_fresh(known.partitions_ns) else self.probes.read_isr()

    def _before_and_now(
        self, counter: Counter | None, nodes: tuple[int, ...]
    ) -> tuple[CounterSample, CounterSample]:
        """Counters from some time before, and from now; those that are kept, else they are read here."""
        if counter is None:
            return (nothing := CounterSample(at_ns=self.clock.now_ns())), nothing
        if kept := self.probes.kept(counter, nodes):
            return kept
        now = self.probes.read({counter}, nodes)
        before = self.probes.before(now)
        if before is not None and now.at_ns - before.at_ns >= SHORTEST_NS:
            return before, now
        before = before or now
        self.clock.sleep_until(before.at_ns + SHORTEST_NS)
        return before, self.probes.read({counter}, nodes)
