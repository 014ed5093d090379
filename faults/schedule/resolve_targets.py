"""From a step that is near to a fault that is ready: roles become nodes and edges, and counters are read.

All of it only reads, and may take seconds where a node does not answer: it runs on background threads,
before the step is due. What it was based on is compared with what is known when it is due; that takes no
time.
"""

from dataclasses import dataclass, field
from threading import Event

from compose.errors import ComposeError
from compose.protocols import Cluster, View
from faults.clock import Clock, ns
from faults.errors import NoTarget
from faults.kinds.fault.base import Fault, Injection, Outages
from faults.kinds.fault.evidence import Counter, CounterSample
from faults.kinds.fault.node_holds import Holds
from faults.kinds.fault.step import ResolvedTargets, Step
from faults.kinds.registry import kind_of
from faults.schedule.known import PARTITIONS_GOOD_NS, KnownRoles, NewestRoles
from faults.schedule.probes import SHORTEST_NS, Isr, Probes, all_moved
from faults.targets.roles import Roles

MOST_AGE_NS = ns(2.5)
"""How long a preparation holds: the counters that it has read prove little about later."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ready:
    """A fault that is ready, and what it will hit.

    It was prepared from `since_ns` to `ready_ns`; its roles are good until `good_until_ns`.
    """

    fault: Fault
    outages: Outages
    targets: ResolvedTargets
    since_ns: int
    ready_ns: int
    good_until_ns: int

    def was_begun_late(self, due_ns: int) -> bool:
        """Whether the step was due already when its preparation began; -1: it is not known when it is due."""
        return 0 <= due_ns <= self.since_ns


@dataclass(frozen=True, slots=True, kw_only=True)
class Vacant:
    """There is nothing to hit now, for this `reason`."""

    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolver:
    """Resolves steps on a cluster. All injections of a schedule share `holds`, and when it is broken off."""

    cluster: Cluster
    view: View
    clock: Clock
    holds: Holds
    probes: Probes
    broken_off: Event = field(default_factory=Event)

    def ready(self, step: Step, due_ns: int) -> Ready | Vacant:
        """Resolve the roles, and make and prepare the fault. If that takes long, resolve them again."""
        since_ns = self.clock.now_ns()
        try:
            targets, good_until_ns = self._resolve(step)
            injection = self._injection(step, targets, due_ns)
            fault = kind_of(step).make(injection)
            fault.prepare()
            if not self._is_good(good_until_ns):
                now, good_until_ns = self._resolve(step)
                if now != targets:
                    moved = f"nodes {list(targets.nodes)} became {list(now.nodes)}"
                    return Vacant(reason=f"{step.asked}: {moved} while the injection was prepared")
        except (NoTarget, ComposeError) as error:
            return Vacant(reason=str(error))
        return Ready(
            fault=fault,
            outages=injection.outages,
            targets=targets,
            since_ns=since_ns,
            ready_ns=self.clock.now_ns(),
            good_until_ns=good_until_ns,
        )

    def still_holds(self, step: Step, ready: Ready, due_ns: int) -> bool:
        """Whether the fault can be injected now as it was prepared: its roles have not moved. Takes no time.

        A preparation that was begun when the step was due already is not too old: a later one is no better.
        """
        is_late = ready.was_begun_late(due_ns)
        targets, good_until_ns = self._as_known(step)
        if self._is_good(good_until_ns):
            is_up_to_date = targets == ready.targets
        else:
            is_up_to_date = is_late or self._is_good(ready.good_until_ns)
        return is_up_to_date and (is_late or self.clock.now_ns() - ready.ready_ns <= MOST_AGE_NS)

    def hits_the_same(self, step: Step, ready: Ready) -> bool:
        """Whether the roles, as they are known best, are still with those that were prepared for."""
        return self._as_known(step)[0] == ready.targets

    def _as_known(self, step: Step) -> tuple[ResolvedTargets | None, int]:
        """What the step hits as far as is known (None: nothing), and until when that is good."""
        source = KnownRoles(self.probes.known)
        try:
            return step.resolve(self._roles(source)), source.good_until_ns
        except NoTarget:
            return None, source.good_until_ns

    def _resolve(self, step: Step) -> tuple[ResolvedTargets, int]:
        """What the step hits, and until when that is good: from what is known, else from the cluster."""
        source = KnownRoles(self.probes.known)
        try:
            targets = step.resolve(self._roles(source))
        except NoTarget:
            if self._is_good(source.good_until_ns):
                raise
        else:
            if self._is_good(source.good_until_ns):
                return targets, source.good_until_ns
        asking = NewestRoles(view=self.probes.quickest, known=self.probes.known)
        targets = step.resolve(Roles(cluster=self.cluster, view=asking))
        return targets, self.clock.now_ns() + PARTITIONS_GOOD_NS

    def _roles(self, source: KnownRoles) -> Roles:
        return Roles(cluster=self.cluster, view=source, active_controller=source.active_controller)

    def _is_good(self, until_ns: int) -> bool:
        return self.clock.now_ns() <= until_ns

    def _injection(self, step: Step, targets: ResolvedTargets, due_ns: int) -> Injection[Step]:
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
            due_ns=due_ns,
            broken_off=self.broken_off,
        )

    def _isr(self) -> Isr:
        known = self.probes.known
        return (
            known.isr if self._is_good(known.partitions_ns + PARTITIONS_GOOD_NS) else self.probes.read_isr()
        )

    def _before_and_now(
        self, counter: Counter | None, nodes: tuple[int, ...]
    ) -> tuple[CounterSample, CounterSample]:
        """Counters from some time before, and from now; those that are kept, else they are read here.

        What stands still may have begun to move just now, as on a node that another fault has released.
        """
        if counter is None:
            return (nothing := CounterSample(at_ns=self.clock.now_ns())), nothing
        if kept := self.probes.kept(counter, nodes):
            return kept
        now = self.probes.read({counter}, nodes)
        before = self.probes.before(now)
        is_old = before is not None and now.at_ns - before.at_ns >= SHORTEST_NS
        if before is not None and is_old and all_moved(counter, nodes, before, now):
            return before, now
        self.clock.sleep_until(now.at_ns + SHORTEST_NS)
        return before or now, self.probes.read({counter}, nodes)
