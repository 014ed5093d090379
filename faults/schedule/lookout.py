"""Reads counters while a step is near, so that each injection knows what it was like before."""

from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from functools import partial

from faults.clock import Clock
from faults.kinds.evidence import Snapshot
from faults.plan.targets import candidates
from faults.schedule.event_loop import Agenda
from faults.schedule.outlook import earliest
from faults.schedule.probes import AHEAD_NS, COUNTERS, EVERY_S, Isr, Watch
from faults.schedule.step_state import Course


@dataclass(slots=True, kw_only=True)
class Lookout:
    """Looks every half second, but not while its last look still goes on: one at counters, one at ISRs.

    They are apart because the brokers' answers take seconds when one of them does not answer.
    """

    clock: Clock
    agenda: Agenda
    watch: Watch
    courses: Sequence[Course]
    start_ns: int
    _counting: Future[Snapshot] | None = None
    _asking: Future[Isr] | None = None

    def keep(self) -> None:
        """Look if a step is near, and come again while a step is left."""
        times = earliest(self.courses, self.start_ns)
        waiting = [each for each in self.courses if each.inject_ns < 0 and not each.is_over]
        horizon_ns = self.clock.now_ns() + AHEAD_NS
        near = [each for each in waiting if times[each.index] <= horizon_ns]
        self._count(near)
        if near and (self._asking is None or self._asking.done()):
            self._asking = self.agenda.look(self.watch.read_isr, self.watch.keep_isr)
        if waiting:
            self.agenda.soon(EVERY_S, self.keep)

    def _count(self, near: Sequence[Course]) -> None:
        counters = {COUNTERS[each.step.kind] for each in near if each.step.kind in COUNTERS}
        if counters and (self._counting is None or self._counting.done()):
            cluster = self.watch.cluster
            targets = [each.step.target for each in near if each.step.target]
            nodes = {
                n for target in targets for n in candidates(target, cluster.brokers, cluster.controllers)
            }
            self._counting = self.agenda.look(partial(self.watch.read, counters, nodes), self.watch.keep)
