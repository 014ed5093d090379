"""Power loss: what was never synced is gone, on one node or on several at one instant, and later a restart.

All nodes are paused first, so that none acts on another's end and none meets the errors of its own disk. Then
every file system drops what it has not written and answers nobody any more, then every process is killed.
Effect: exit code 137, and where log bytes had been unsynced, the log is shorter when it is mounted again.
Where none had been, as with `flush.messages=1`, all there is to see is the file system's silence, which
`Cluster.drop_unsynced` reads back.
Recovery: the nodes answer again; the ISR is what it was.

A node that is down already is left out: its disk was unmounted, and so written, when it died.
"""

from dataclasses import dataclass, field
from functools import partial

from faults.kinds.base import Site, Toll, alive, by_name, seconds, try_all
from faults.kinds.evidence import Finding, NotYet, Proven
from faults.kinds.outage import back, bring_back, close_edges, exit_codes, forget_holds, let_loose
from faults.kinds.process.kill import SIGKILLED


@dataclass(slots=True)
class PowerLoss:
    """Holds the site's nodes down after a power cut."""

    site: Site
    toll: Toll = field(default_factory=Toll)
    _nodes: tuple[int, ...] = ()
    _unsynced: dict[int, int] = field(default_factory=dict)
    _logs: dict[int, int] = field(default_factory=dict)
    _pausing_ns: int = 0

    def prepare(self) -> None:
        """Only a node that is up has a power supply to lose."""
        self._nodes = alive(self.site, what="cut off from power", fit=("running", "paused"))

    def inject(self) -> None:
        """Pause all; drop unsynced pages on all; close the edges to all; kill all."""
        cluster, clock = self.site.cluster, self.site.clock
        began_ns = clock.now_ns()
        for node in self._nodes:
            cluster.pause(node)
        self._pausing_ns = clock.now_ns() - began_ns
        for node in self._nodes:
            let_loose(self.site, node)
            self._logs[node] = cluster.log_bytes(node)
            self._unsynced[node] = cluster.unsynced_bytes(node)
        for node in self._nodes:
            self.toll.unclean.add(node)
            cluster.drop_unsynced(node)
            if self._unsynced[node] > 0:
                self.toll.data_lost.add(node)
        for node in self._nodes:
            close_edges(self.site, node)
        for node in self._nodes:
            cluster.kill(node)
            forget_holds(self.site, node)

    def effect(self) -> Finding:
        """Did all die, and are the logs shorter that had bytes to lose?"""
        codes = exit_codes(self.site, self._nodes)
        if any(code != SIGKILLED for code in codes.values()):
            return NotYet(seen=f"exit codes: {by_name(codes)}")
        seen_ns = self.site.clock.now_ns()
        lost = {node: self._logs[node] - self.site.cluster.log_bytes(node) for node in self._nodes}
        self.toll.data_lost |= {node for node in self._nodes if lost[node] > 0}
        kept = [node for node in self._nodes if self._unsynced[node] > 0 and lost[node] <= 0]
        if kept:
            return NotYet(seen=f"node {kept[0]} had {self._unsynced[kept[0]]} unsynced bytes and lost none")
        evidence = {
            "exit_codes": by_name(codes),
            "unsynced_log_bytes_before": by_name(self._unsynced),
            "lost_log_bytes": by_name(lost),
            "all_paused_within_s": seconds(self._pausing_ns),
        }
        return Proven(since_ns=seen_ns, evidence=evidence)

    def heal(self) -> None:
        """Start again, once every disk can be read again: a node would not start on one that was cut off."""
        try_all(partial(self._end_half_way, node) for node in self._nodes)
        for node in self._nodes:
            self.site.cluster.log_bytes(node)
        bring_back(self.site, self._nodes)

    def _end_half_way(self, node: int) -> None:
        """If the injection failed while `node` was paused: let it go on, or die if its disk is gone."""
        if self.site.cluster.state(node).status == "paused":
            end = self.site.cluster.kill if node in self.toll.unclean else self.site.cluster.unpause
            end(node)

    def recovery(self) -> Finding:
        """Are all back?"""
        return back(self.site, self._nodes)
