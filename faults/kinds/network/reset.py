"""Reset: every connection over a set of directed edges is reset (TCP RST) as soon as it is to pass a byte.

Of answers: the request has arrived and is carried out, and then the connection is gone, so the source cannot
know. Of requests: it has not arrived.

Effect: each edge answered a request before, and now resets the connection of one. Recovery: each edge that
answered before answers again, and the ISR is what it was.
"""

from dataclasses import dataclass
from random import Random
from typing import ClassVar, Self

from compose.impairments import Direction, Reset
from compose.protocols import Edge
from faults.kinds.fault.base import Injection
from faults.kinds.fault.evidence import Evidence, NotYet, Proven
from faults.kinds.fault.kind import FaultKind, StormRule
from faults.kinds.fault.step import EdgesStep, Head, Step, Words, edges_of
from faults.kinds.network.directions import parse_direction
from faults.kinds.shared.recovery import PROBE_S, isr_is_short
from faults.targets.draw import draw_edges_of
from faults.targets.facts import Facts
from faults.targets.target import Target
from faults.tasks import as_job


@dataclass(frozen=True, slots=True, kw_only=True)
class ResetStep(EdgesStep):
    """Reset the connections of edges."""

    kind: ClassVar[str] = "reset"
    keys: ClassVar[tuple[str, ...]] = (*EdgesStep.keys, "direction")
    direction: Direction = "from"

    @classmethod
    def parse(cls, head: Head, words: Words) -> Self:
        """Read edges and direction."""
        edges, direction = edges_of(words), parse_direction(words)
        return cls(name=head.name, start=head.start, hold_s=head.hold_s, edges=edges, direction=direction)

    def write(self) -> dict[str, str]:
        """Edges and direction."""
        return {"edges": str(self.edges), "direction": self.direction}


@dataclass(slots=True)
class ConnectionReset:
    """Keeps the injection's edges resetting."""

    injection: Injection[ResetStep]
    _answering: tuple[Edge, ...] = ()

    def prepare(self) -> None:
        """Which edges answer? Those that do not are asked twice: a busy machine may be late once."""
        edges, mesh = self.injection.edges, self.injection.cluster.mesh
        answered = mesh.probe(edges, within_s=PROBE_S)
        if silent := [edge for edge in edges if edge not in answered]:
            answered |= mesh.probe(silent, within_s=PROBE_S)
        self._answering = tuple(edge for edge in edges if edge in answered)

    @as_job
    def inject(self) -> None:
        """Reset."""
        injection = self.injection
        reset = Reset(direction=injection.step.direction)
        injection.cluster.mesh.impair(injection.edges, reset, owner=injection.owner)

    def effect(self) -> Evidence:
        """Did every edge answer before, and does each reset the connection of a request now?"""
        if silent := [str(edge) for edge in self.injection.edges if edge not in self._answering]:
            return NotYet(instead=f"no request through {', '.join(silent)} was answered before")
        began_ns = self.injection.clock.now_ns()
        reached = self.injection.cluster.mesh.reached(self._answering, within_s=PROBE_S)
        if others := [edge for edge in self._answering if reached.get(edge) != "reset"]:
            ends = ", ".join(f"{edge} ({reached.get(edge)})" for edge in others)
            return NotYet(instead=f"connections that were not reset: {ends}")
        values = {"answered_before_reset_after": sorted(map(str, self._answering))}
        return Proven(since_ns=began_ns, values=values)

    @as_job
    def heal(self) -> None:
        """Release the edges; those that another fault holds stay as it wants them."""
        self.injection.cluster.mesh.mend(self.injection.edges, owner=self.injection.owner)

    def recovery(self) -> Evidence:
        """Does every edge answer that did before, and is the ISR what it was?"""
        answered = self.injection.cluster.mesh.probe(self._answering, within_s=PROBE_S)
        if silent := [str(edge) for edge in self._answering if edge not in answered]:
            return NotYet(instead=f"no answer on {', '.join(silent)}")
        if lacking := isr_is_short(self.injection):
            return NotYet(instead=lacking)
        values = {"answered_since_heal": sorted(map(str, answered))}
        return Proven(since_ns=self.injection.clock.now_ns(), values=values)


def _draw(rng: Random, head: Head, node: Target, facts: Facts) -> Step:
    """All edges of the node, some that it opens, or those of the clients reset their connections."""
    return ResetStep(
        name=head.name,
        start=head.start,
        hold_s=head.hold_s,
        edges=draw_edges_of(rng, node, facts),
        direction=rng.choice(("to", "from")),
    )


RESET = FaultKind(
    step=ResetStep,
    make=ConnectionReset,
    shortest_hold_s=1.0,
    storm=StormRule(draw=_draw, weight=2),
    does="every connection over directed edges is reset (RST) instead of passing an answer, so that requests "
    "are carried out and their source hears of nothing but the reset; with `direction: to` instead of "
    "passing a request. A connection from before ends too, as a rule without RST",
    effect="each edge answered a Kafka request before, and resets the connection of one after. Where an edge "
    "did not answer before, the fault is not proven",
    healing="the edges reset no more, except for other faults",
    recovery="every edge answers",
)
