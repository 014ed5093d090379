"""Kill: SIGKILL, and later a restart. The page cache survives, so nothing that was written is lost.

Effect: exit code 137, no process.
Recovery: the node answers again; the ISR is what it was.
"""

from dataclasses import dataclass, field

from faults.kinds.base import Site, Toll, alive, by_name
from faults.kinds.evidence import Finding, NotYet, Proven
from faults.kinds.outage import back, bring_back, close_edges, exit_codes, forget_holds

SIGKILLED = 137


@dataclass(slots=True)
class Kill:
    """Holds the site's nodes down after SIGKILL."""

    site: Site
    toll: Toll = field(default_factory=Toll)
    _nodes: tuple[int, ...] = ()

    def prepare(self) -> None:
        """Only a living node can be killed."""
        self._nodes = alive(self.site, what="kill", fit=("running", "paused"))

    def inject(self) -> None:
        """Close the edges, then kill at once. `Cluster.kill` thaws a frozen disk, behind a pause."""
        for node in self._nodes:
            close_edges(self.site, node)
            self.toll.unclean.add(node)
            self.site.cluster.kill(node)
            forget_holds(self.site, node)

    def effect(self) -> Finding:
        """Did all die of SIGKILL?"""
        codes = exit_codes(self.site, self._nodes)
        if any(code != SIGKILLED for code in codes.values()):
            return NotYet(seen=f"exit codes: {by_name(codes)}")
        return Proven(since_ns=self.site.clock.now_ns(), evidence={"exit_codes": by_name(codes)})

    def heal(self) -> None:
        """Start again."""
        bring_back(self.site, self._nodes)

    def recovery(self) -> Finding:
        """Are all back?"""
        return back(self.site, self._nodes)
