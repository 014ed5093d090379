"""Pause: every process of the node is stopped in place by the freezer, and later goes on where it was.

Effect: the container is paused, and its CPU time, which rose before, stands still.
Recovery: it runs, uses CPU time and answers; the ISR is what it was.
"""

from dataclasses import dataclass, field
from functools import partial

from faults.kinds.base import Site, Toll, alive, by_name, seconds, try_all
from faults.kinds.evidence import Finding, NotYet, Proven, Stillness, moved
from faults.kinds.recovery import not_back


@dataclass(slots=True)
class Pause:
    """Holds the site's nodes paused."""

    site: Site
    toll: Toll = field(default_factory=Toll)
    _nodes: tuple[int, ...] = ()
    _still: Stillness[int] = field(default_factory=Stillness)

    def prepare(self) -> None:
        """Only a running node can be paused."""
        self._nodes = alive(self.site, what="pause")

    def inject(self) -> None:
        """Pause."""
        for node in self._nodes:
            self.site.holds.take("paused", node, self.site.owner)
            self.site.cluster.pause(node)

    def effect(self) -> Finding:
        """Is it paused, and does its CPU time stand still?"""
        states = {node: self.site.cluster.state(node).status for node in self._nodes}
        if any(status != "paused" for status in states.values()):
            return NotYet(seen=f"states: {by_name(states)}")
        used = moved(self.site.before.cpu_ns, self.site.now.cpu_ns)
        if any(node not in used for node in self._nodes):
            return NotYet(seen=f"CPU time did not rise before the pause either: {by_name(used)}")
        times = {node: self.site.cluster.cpu_ns(node) for node in self._nodes}
        self._still.see(self.site.clock.now_ns(), times)
        if not self._still.proven:
            return NotYet(seen=f"CPU time {by_name(self._still.values)} not still for long enough")
        evidence = {
            "states": by_name(states),
            "cpu_ns_before": by_name({node: used[node] for node in self._nodes}),
            "no_cpu_for_s": seconds(self._still.last_ns - self._still.since_ns),
        }
        return Proven(since_ns=self._still.since_ns, evidence=evidence)

    def heal(self) -> None:
        """Let the nodes go on, but for those that another fault holds paused."""
        try_all(partial(self._let_go, node) for node in self._nodes)

    def _let_go(self, node: int) -> None:
        if self.site.holds.release("paused", node, self.site.owner):
            self.site.cluster.unpause(node)

    def recovery(self) -> Finding:
        """Do all serve again, and is the ISR what it was?"""
        if lacking := not_back(self.site, self._nodes):
            return NotYet(seen=lacking)
        return Proven(since_ns=self.site.clock.now_ns(), evidence={"answering": list(self._nodes)})
