"""From a step that is due to a fault that is ready: roles become nodes and edges, and counters are read.

All of it only reads, and may take seconds where a node does not answer: it runs on background threads.
"""

from dataclasses import dataclass, replace

from compose.errors import ComposeError
from compose.protocols import Cluster, PartitionState, View
from faults.clock import Clock, ns
from faults.errors import NoTarget
from faults.kinds.base import Fault, Injection, Outages
from faults.kinds.evidence import Counter, CounterSample
from faults.kinds.node_holds import Holds
from faults.kinds.registry import kind_of
from faults.kinds.step import ResolvedTargets, Step, When
from faults.schedule.probes import Probes
from faults.targets.conditions import Condition, OffsetCondition
from faults.targets.roles import Roles
from faults.targets.target import TopicPartition

SHORTEST_NS = ns(0.3)
"""A counter is read over at least this time before an injection."""

FRESH_NS = ns(0.5)
"""A role that was resolved longer ago than this may have moved: a controlled shutdown moves it in 0.1 s."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ready:
    """A fault that is ready, and what it will hit, which was resolved at `resolved_ns`.

    `awaited` is the partition of which the next step awaits an event, if it does and a broker answers.
    """

    fault: Fault
    outages: Outages
    targets: ResolvedTargets
    resolved_ns: int
    awaited: PartitionState | None


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

    def ready(self, step: Step, following: When | None) -> Ready | Vacant:
        """Resolve the step's roles, make its fault, and read the partition of the event of `following`."""
        awaited = self._awaited(following)
        try:
            targets = step.resolve(Roles(cluster=self.cluster, view=self.view))
            resolved_ns = self.clock.now_ns()
            injection = self._injection(step, targets)
            fault = kind_of(step).make(injection)
            fault.prepare()
        except (NoTarget, ComposeError) as error:
            return Vacant(reason=str(error))
        return Ready(
            fault=fault,
            outages=injection.outages,
            targets=targets,
            resolved_ns=resolved_ns,
            awaited=awaited,
        )

    def is_stale(self, ready: Ready) -> bool:
        """Whether the roles were resolved too long ago to inject."""
        return self.clock.now_ns() - ready.resolved_ns > FRESH_NS

    def again(self, step: Step, following: When | None, ready: Ready) -> Ready | Vacant:
        """Resolve the roles again: `ready`, if they are held by the same nodes as before."""
        awaited = self._awaited(following)
        try:
            targets = step.resolve(Roles(cluster=self.cluster, view=self.view))
        except (NoTarget, ComposeError) as error:
            return Vacant(reason=str(error))
        if targets != ready.targets:
            moved = f"nodes {list(ready.targets.nodes)} became {list(targets.nodes)}"
            return Vacant(reason=f"{step.asked}: {moved} while the injection was prepared")
        return replace(ready, awaited=awaited, resolved_ns=self.clock.now_ns())

    def partition(self, of: TopicPartition | None) -> PartitionState | None:
        """The state of a partition now; None if no broker reports it."""
        try:
            return Roles(cluster=self.cluster, view=self.view).partition(of)
        except (NoTarget, ComposeError):
            return None

    def awaited(self, condition: Condition) -> PartitionState | None:
        """The state of a condition's partition now, with its offsets if the condition is about them."""
        state = self.partition(condition.of)
        if state is None or not isinstance(condition, OffsetCondition):
            return state
        return self.view.with_offsets(state)

    def _awaited(self, following: When | None) -> PartitionState | None:
        return None if following is None else self.partition(following.condition.of)

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
            isr=self.probes.isr or self.probes.read_isr(),
        )

    def _before_and_now(
        self, counter: Counter | None, nodes: tuple[int, ...]
    ) -> tuple[CounterSample, CounterSample]:
        """Counters from some time before, and from now; an injection that is late can still be proven."""
        if counter is None:
            return (nothing := CounterSample(at_ns=self.clock.now_ns())), nothing
        now = self.probes.read({counter}, nodes)
        before = self.probes.before(now)
        if before is not None and now.at_ns - before.at_ns >= SHORTEST_NS:
            return before, now
        before = before or now
        self.clock.sleep_until(before.at_ns + SHORTEST_NS)
        return before, self.probes.read({counter}, nodes)
