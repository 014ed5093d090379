"""Stop: SIGTERM, a controlled shutdown that hands leadership over, and later a restart.

Effect: the process has ended by itself, exit code 143 (128 + SIGTERM) or 0.
Recovery: the node answers again; the ISR is what it was.
"""

from dataclasses import dataclass, field

from compose.errors import ComposeError
from faults.kinds.base import Site, Toll, alive, by_name
from faults.kinds.evidence import Finding, NotYet, Proven
from faults.kinds.outage import back, bring_back, close_edges, exit_codes, let_loose

CLEAN = (0, 143)

WITHIN_S = 30.0
"""A broker gives up handing over leadership after three tries, 5 s apart; then it still closes its logs."""


@dataclass(slots=True)
class Stop:
    """Holds the site's nodes down after SIGTERM."""

    site: Site
    toll: Toll = field(default_factory=Toll)
    _nodes: tuple[int, ...] = ()

    def prepare(self) -> None:
        """Only a running node can be told to stop."""
        self._nodes = alive(self.site, what="stop")

    def inject(self) -> None:
        """Tell to stop, one after the other; a node that does not stop is killed.

        Its edges are closed only then, since it needs them to hand over what it leads.
        """
        for node in self._nodes:
            let_loose(self.site, node)
            self._stop(node)
            close_edges(self.site, node)

    def _stop(self, node: int) -> None:
        try:
            self.site.cluster.stop(node, within_s=WITHIN_S)
        except ComposeError:
            # Killed, so that it cannot end later, after it was healed.
            self.site.cluster.kill(node)
            self.toll.unclean.add(node)

    def effect(self) -> Finding:
        """Did all end by themselves?"""
        codes = exit_codes(self.site, self._nodes)
        if any(code not in CLEAN for code in codes.values()):
            return NotYet(seen=f"exit codes: {by_name(codes)}")
        return Proven(since_ns=self.site.clock.now_ns(), evidence={"exit_codes": by_name(codes)})

    def heal(self) -> None:
        """Start again."""
        bring_back(self.site, self._nodes)

    def recovery(self) -> Finding:
        """Are all back?"""
        return back(self.site, self._nodes)
