"""Partition: a set of directed edges is cut, so that connections are refused, or swallowed without an answer.

Effect: bytes crossed the edges in the second before, and none do after. An edge that was quiet before cannot
show this; there a request is sent through it: answered before, not answered after. An edge that was quiet and
did not answer was shut already, and proves nothing.
Recovery: every edge that had worked passes bytes or answers again, and the ISR is what it was.
"""

from dataclasses import dataclass, field

from compose.protocols import Edge
from faults.kinds.base import Site, Toll, by_name, seconds
from faults.kinds.evidence import Finding, NotYet, Proven, Stillness, moved
from faults.kinds.recovery import PROBE_S, isr_is_short


@dataclass(slots=True)
class Partition:
    """Holds the site's edges cut."""

    site: Site
    toll: Toll = field(default_factory=Toll)
    _busy: dict[Edge, int] = field(default_factory=dict)
    _answering: tuple[Edge, ...] = ()
    _unanswered_ns: int = -1
    _still: Stillness[Edge] = field(default_factory=Stillness)
    _at_heal: dict[Edge, int] = field(default_factory=dict)

    def prepare(self) -> None:
        """Tell busy edges from quiet ones, and probe the quiet ones."""
        site = self.site
        mesh = site.cluster.mesh
        open_edges = tuple(edge for edge in site.edges if not mesh.is_cut(edge))
        crossed = moved(site.before.edge_bytes, site.now.edge_bytes)
        self._busy = {edge: crossed[edge] for edge in open_edges if edge in crossed}
        quiet = tuple(edge for edge in open_edges if edge not in crossed)
        answered = mesh.probe(quiet, within_s=PROBE_S)
        self._answering = tuple(edge for edge in quiet if edge in answered)

    def inject(self) -> None:
        """Cut."""
        self.site.cluster.mesh.cut(self.site.edges, mode=self.site.mode, owner=self.site.owner)

    def effect(self) -> Finding:
        """Have the busy edges fallen still, and the answering ones silent?"""
        if not self._busy and not self._answering:
            return NotYet(seen="no byte crossed these edges before the cut, and none of them answered")
        if self._busy:
            counters = self._counters()
            self._still.see(self.site.clock.now_ns(), {edge: counters[edge] for edge in self._busy})
        if answered := self._still_answering():
            return NotYet(seen=f"still answering: {', '.join(map(str, sorted(answered)))}")
        if self._busy and not self._still.proven:
            return NotYet(seen=f"bytes on {', '.join(map(str, self._busy))} not still for long enough")
        return Proven(since_ns=max(self._still.since_ns, self._unanswered_ns), evidence=self._evidence())

    def _still_answering(self) -> frozenset[Edge]:
        """Probe the edges that answered before, until once none does; busy edges meanwhile fall still."""
        if not self._answering or self._unanswered_ns >= 0:
            return frozenset()
        began_ns = self.site.clock.now_ns()
        answered = self.site.cluster.mesh.probe(self._answering, within_s=PROBE_S)
        self._unanswered_ns = -1 if answered else began_ns
        return answered

    def heal(self) -> None:
        """Let go of the cut; an edge that another fault holds stays cut."""
        self.site.cluster.mesh.mend(self.site.edges, owner=self.site.owner)
        self._at_heal = self._counters()

    def recovery(self) -> Finding:
        """Does every edge that had worked work again, and is the ISR what it was?"""
        crossed = moved(self._at_heal, self._counters())
        waiting = tuple(edge for edge in self._working() if edge not in crossed)
        answered = self.site.cluster.mesh.probe(waiting, within_s=PROBE_S)
        shut = [str(edge) for edge in waiting if edge not in answered]
        if shut:
            return NotYet(seen=f"no byte and no answer on {', '.join(shut)}")
        if lacking := isr_is_short(self.site):
            return NotYet(seen=lacking)
        evidence = {"bytes_since_heal": by_name(crossed), "answered_since_heal": sorted(map(str, answered))}
        return Proven(since_ns=self.site.clock.now_ns(), evidence=evidence)

    def _working(self) -> tuple[Edge, ...]:
        return (*self._busy, *self._answering)

    def _counters(self) -> dict[Edge, int]:
        now = self.site.cluster.mesh.bytes()
        return {edge: now[edge] for edge in self._working()}

    def _evidence(self) -> dict[str, object]:
        working = self._working()
        return {
            "bytes_before": by_name(self._busy),
            "bytes_before_over_s": seconds(self.site.now.at_ns - self.site.before.at_ns),
            "no_byte_for_s": seconds(self._still.last_ns - self._still.since_ns),
            "answered_before_not_after": sorted(map(str, self._answering)),
            "shut_before": sorted(str(edge) for edge in self.site.edges if edge not in working),
        }
