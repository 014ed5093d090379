"""Disk stall: the node's file system is frozen, so every write blocks, without an error, until it is thawed.

Effect: the file system says that it is frozen, and the node's log, which grew before, stands still.
Recovery: the log grows, the node answers; the ISR is what it was.
"""

from dataclasses import dataclass, field
from functools import partial

from faults.errors import NoTarget
from faults.kinds.base import Site, Toll, alive, by_name, seconds, try_all
from faults.kinds.evidence import Finding, NotYet, Proven, Stillness, moved
from faults.kinds.recovery import not_back


@dataclass(slots=True)
class DiskStall:
    """Holds the file systems of the site's nodes frozen."""

    site: Site
    toll: Toll = field(default_factory=Toll)
    _nodes: tuple[int, ...] = ()
    _still: Stillness[int] = field(default_factory=Stillness)
    _at_heal: dict[int, int] = field(default_factory=dict)

    def prepare(self) -> None:
        """Only a running node writes, and only one whose disk is not frozen already."""
        self._nodes = alive(self.site, what="stall")
        for node in self._nodes:
            if self.site.cluster.is_frozen(node):
                raise NoTarget(f"nothing to stall: the disk of node {node} is frozen already")

    def inject(self) -> None:
        """Freeze."""
        for node in self._nodes:
            self.site.holds.take("frozen", node, self.site.owner)
            self.site.cluster.freeze(node)

    def effect(self) -> Finding:
        """Is it frozen, and does the log stand still that grew before?"""
        frozen = {node: self.site.cluster.is_frozen(node) for node in self._nodes}
        if not all(frozen.values()):
            return NotYet(seen=f"frozen: {by_name(frozen)}")
        grown = moved(self.site.before.log_bytes, self.site.now.log_bytes)
        if any(node not in grown for node in self._nodes):
            return NotYet(seen=f"the log did not grow before the stall either: {by_name(grown)}")
        logs = self._logs()
        self._still.see(self.site.clock.now_ns(), logs)
        if not self._still.proven:
            return NotYet(seen=f"log bytes {by_name(self._still.values)} not still for long enough")
        evidence = {
            "frozen": list(self._nodes),
            "log_bytes_grown_before": by_name({node: grown[node] for node in self._nodes}),
            "log_bytes_grown_before_over_s": seconds(self.site.now.at_ns - self.site.before.at_ns),
            "log_still_for_s": seconds(self._still.last_ns - self._still.since_ns),
        }
        return Proven(since_ns=self._still.since_ns, evidence=evidence)

    def heal(self) -> None:
        """Thaw, but for those that another fault holds frozen."""
        try_all(partial(self._let_go, node) for node in self._nodes)
        self._at_heal = self._at_heal or self._logs()

    def _let_go(self, node: int) -> None:
        if self.site.holds.release("frozen", node, self.site.owner):
            self.site.cluster.thaw(node)

    def recovery(self) -> Finding:
        """Does the log grow, do all serve, and is the ISR what it was?"""
        grown = moved(self._at_heal, self._logs())
        still = [node for node in self._nodes if node not in grown]
        if still:
            return NotYet(seen=f"log of node {still[0]} has not grown since the thaw")
        if lacking := not_back(self.site, self._nodes):
            return NotYet(seen=lacking)
        evidence = {"log_bytes_since_heal": by_name(grown)}
        return Proven(since_ns=self.site.clock.now_ns(), evidence=evidence)

    def _logs(self) -> dict[int, int]:
        return {node: self.site.cluster.log_bytes(node) for node in self._nodes}
