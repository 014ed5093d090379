"""Partition: a set of directed edges is cut, so that connections are refused, or swallowed without an answer.

A black hole may swallow one direction only, which leaves connections half-open. Towards the target, no
request arrives. From the target, every request arrives and is carried out, and its answer is lost.

Effect: bytes crossed the edges in the second before, and none do after. An edge that was quiet before cannot
show this; there requests are sent through it: answered before, and then two in a row not answered. Each edge
must be proven: one that was quiet and did not answer was shut already, and the step is not proven as long as
it has one. Of a half-open edge it is also shown how far a request comes: to the proxy, or to the target, and
no farther.
Recovery: every edge that had worked passes bytes or answers again, and the ISR is what it was.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from random import Random
from typing import ClassVar, Self, get_args

from compose.impairments import BOTH, Direction
from compose.protocols import CutMode, Edge, Reached
from faults.choices import parse_choice
from faults.durations import write_duration
from faults.errors import BadStep
from faults.kinds.fault.base import Injection
from faults.kinds.fault.evidence import Evidence, NotYet, Proven, Stillness, by_name, moved, seconds
from faults.kinds.fault.kind import FaultKind, StormRule
from faults.kinds.fault.step import EdgesStep, Head, Step, Words, edges_of
from faults.kinds.network.directions import parse_directions, write_directions
from faults.kinds.shared.recovery import PROBE_S, isr_is_short
from faults.targets.draw import draw_edges_of
from faults.targets.facts import Facts
from faults.targets.target import Target
from faults.tasks import as_job

MODES: tuple[CutMode, ...] = get_args(CutMode)

ONE_WAY_SHARE = 0.5
"""Of the black holes that a storm draws."""

SHORTEST_ONE_WAY_S = 1.5
"""Beside the 0.75 s of stillness, a probe that waits for its whole time for an answer."""

UNANSWERED = 2
"""So many probes in a row: a busy machine may be late once."""

ENDS_AT: Mapping[Direction, Reached] = {"to": "proxy", "from": "target"}
"""How far a request comes where one direction is swallowed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionStep(EdgesStep):
    """Cut edges."""

    kind: ClassVar[str] = "partition"
    keys: ClassVar[tuple[str, ...]] = (*EdgesStep.keys, "mode", "direction")
    mode: CutMode = "refuse"
    directions: tuple[Direction, ...] = BOTH

    @classmethod
    def parse(cls, head: Head, words: Words) -> Self:
        """Read edges, mode and direction."""
        mode, directions = parse_choice(words.get("mode", "refuse"), "mode", MODES), parse_directions(words)
        if mode == "refuse" and directions != BOTH:
            allowed = "both, or mode: blackhole: a connection that is refused has no direction"
            raise BadStep("direction", words["direction"], allowed)
        return cls(
            name=head.name,
            start=head.start,
            hold_s=head.hold_s,
            edges=edges_of(words),
            mode=mode,
            directions=directions,
        )

    def write(self) -> dict[str, str]:
        """Edges and mode, and the direction if it is one."""
        one_way = {} if self.directions == BOTH else {"direction": write_directions(self.directions)}
        return {"edges": str(self.edges), "mode": self.mode} | one_way

    def check(self, facts: Facts) -> None:
        """The edges must exist, and the hold of a half-open edge must have time for one more probe."""
        EdgesStep.check(self, facts)
        if self.directions != BOTH and self.hold_s < SHORTEST_ONE_WAY_S:
            allowed = f"at least {SHORTEST_ONE_WAY_S:g}s: a shorter one-way {self.kind} cannot be proven"
            raise BadStep("for", write_duration(self.hold_s), allowed)


@dataclass(slots=True)
class Partition:
    """Holds the injection's edges cut."""

    injection: Injection[PartitionStep]
    _busy: dict[Edge, int] = field(default_factory=dict)
    _answering: tuple[Edge, ...] = ()
    _unanswered_ns: list[int] = field(default_factory=list)
    """When the probes were begun that nobody answered, two in a row at most."""
    _reached: Mapping[Edge, Reached] = field(default_factory=dict)
    _still: Stillness[Edge] = field(default_factory=Stillness)
    _at_heal: dict[Edge, int] = field(default_factory=dict)

    def prepare(self) -> None:
        """Separate busy edges from quiet ones, and probe the quiet ones."""
        injection = self.injection
        mesh = injection.cluster.mesh
        open_edges = tuple(edge for edge in injection.edges if not mesh.is_cut(edge))
        crossed = moved(injection.before.edge_bytes, injection.now.edge_bytes)
        self._busy = {edge: crossed[edge] for edge in open_edges if edge in crossed}
        quiet = tuple(edge for edge in open_edges if edge not in crossed)
        answered = mesh.probe(quiet, within_s=PROBE_S)
        if silent := [edge for edge in quiet if edge not in answered]:
            answered |= mesh.probe(silent, within_s=PROBE_S)  # a busy machine may be late once
        self._answering = tuple(edge for edge in quiet if edge in answered)

    @as_job
    def inject(self) -> None:
        """Cut."""
        injection = self.injection
        step, mesh = injection.step, injection.cluster.mesh
        mesh.cut(injection.edges, mode=step.mode, owner=injection.owner, directions=step.directions)

    def effect(self) -> Evidence:
        """Was every edge open before, are the busy ones still, and do the others no longer answer?"""
        if shut := [edge for edge in self.injection.edges if edge not in self._working()]:
            edges = ", ".join(map(str, shut))
            quiet = f"no byte crossed {edges} before the cut"
            return NotYet(instead=f"{quiet}, and no request was answered there")
        if self._busy:
            self._read_busy()
        if answered := self._still_answering():
            return NotYet(instead=f"still answering: {', '.join(map(str, sorted(answered)))}")
        if elsewhere := self._ends_elsewhere():
            return NotYet(instead=elsewhere)
        if self._busy and not self._still.proven:
            return NotYet(instead=f"bytes on {', '.join(map(str, self._busy))} not still for long enough")
        if self._answering and len(self._unanswered_ns) < UNANSWERED:
            edges = ", ".join(map(str, self._answering))
            rarely = f"once, not {UNANSWERED} times in a row"
            return NotYet(instead=f"requests through {edges} were not answered {rarely}")
        since_ns = max([self._still.since_ns, *self._unanswered_ns[:1]])
        return Proven(since_ns=since_ns, values=self._values())

    def _read_busy(self) -> None:
        clock = self.injection.clock
        began_ns, counters = clock.now_ns(), self._counters()
        self._still.add(began_ns, clock.now_ns(), {edge: counters[edge] for edge in self._busy})

    def _still_answering(self) -> frozenset[Edge]:
        """Probe the edges that answered before, until UNANSWERED times in a row none does; busy edges become
        still meanwhile."""
        if not self._answering or len(self._unanswered_ns) == UNANSWERED:
            return frozenset()
        began_ns = self.injection.clock.now_ns()
        answered = self.injection.cluster.mesh.probe(self._answering, within_s=PROBE_S)
        self._unanswered_ns = [] if answered else [*self._unanswered_ns, began_ns]
        return answered

    def _ends_elsewhere(self) -> str:
        """Where a request through a half-open edge ends that should end elsewhere; "" if there is none."""
        if len(self.injection.step.directions) > 1 or self._reached:
            return ""
        wanted = ENDS_AT[self.injection.step.directions[0]]
        reached = self.injection.cluster.mesh.reached(self.injection.edges, within_s=PROBE_S)
        for edge in self.injection.edges:
            if (end := reached.get(edge)) != wanted:
                return f"a request through {edge} comes to: {end}; half-open, it comes to: {wanted}"
        self._reached = reached
        return ""

    @as_job
    def heal(self) -> None:
        """Release the cut; an edge that another fault holds stays cut."""
        self.injection.cluster.mesh.mend(self.injection.edges, owner=self.injection.owner)
        self._at_heal = self._counters()

    def recovery(self) -> Evidence:
        """Does every edge that had worked work again, and is the ISR what it was?"""
        crossed = moved(self._at_heal, self._counters())
        waiting = tuple(edge for edge in self._working() if edge not in crossed)
        answered = self.injection.cluster.mesh.probe(waiting, within_s=PROBE_S)
        shut = [str(edge) for edge in waiting if edge not in answered]
        if shut:
            return NotYet(instead=f"no byte and no answer on {', '.join(shut)}")
        if lacking := isr_is_short(self.injection):
            return NotYet(instead=lacking)
        values = {"bytes_since_heal": by_name(crossed), "answered_since_heal": sorted(map(str, answered))}
        return Proven(since_ns=self.injection.clock.now_ns(), values=values)

    def _working(self) -> tuple[Edge, ...]:
        return (*self._busy, *self._answering)

    def _counters(self) -> dict[Edge, int]:
        now = self.injection.cluster.mesh.bytes()
        return {edge: now[edge] for edge in self._working()}

    def _values(self) -> dict[str, object]:
        injection = self.injection
        one_way = {"requests_come_to": by_name(self._reached)} if self._reached else {}
        return {
            "bytes_before": by_name(self._busy),
            "bytes_before_over_s": seconds(injection.now.at_ns - injection.before.at_ns),
            "no_byte_for_s": seconds(self._still.last_ns - self._still.since_ns),
            "answered_before_not_after": sorted(map(str, self._answering)),
            **one_way,
        }


def _draw(rng: Random, head: Head, node: Target, facts: Facts) -> Step:
    """The node is cut off, or cannot open connections to some others, or is out of the clients' reach.

    A black hole is now and then one-way.
    """
    edges, mode = draw_edges_of(rng, node, facts), rng.choice(MODES)
    one_way = mode == "blackhole" and rng.random() < ONE_WAY_SHARE
    return PartitionStep(
        name=head.name,
        start=head.start,
        hold_s=head.hold_s,
        edges=edges,
        mode=mode,
        directions=(rng.choice(BOTH),) if one_way else BOTH,
    )


PARTITION = FaultKind(
    step=PartitionStep,
    make=Partition,
    counter="edges",
    shortest_hold_s=1.0,
    storm=StormRule(draw=_draw, weight=4),
    does="directed edges are cut: `mode: refuse` closes connections and refuses new ones, `mode: blackhole` "
    "swallows every byte; with `direction: to` only requests, with `direction: from` only answers, so that "
    "requests are carried out and nobody hears of it",
    effect="bytes of answers crossed each edge in the seconds before, and none for 0.75 s after. An edge "
    "that was quiet is probed instead: it answered a Kafka request before, and then does not answer two in a "
    "row. Where an edge was shut already, the fault is not proven. With a `direction`, a request comes to "
    "the proxy and not to the target, or to the target and its answer not back",
    healing="the edges open, except those that another fault holds",
    recovery="every edge that had worked passes bytes, or answers",
)
