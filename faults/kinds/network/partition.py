"""Partition: a set of directed edges is cut, so that connections are refused, or swallowed without an answer.

Effect: bytes crossed the edges in the second before, and none do after. An edge that was quiet before cannot
show this; there a request is sent through it: answered before, not answered after. Each edge must be proven:
one that was quiet and did not answer was shut already, and the step is not proven as long as it has one.
Recovery: every edge that had worked passes bytes or answers again, and the ISR is what it was.
"""

from dataclasses import dataclass, field
from random import Random
from typing import ClassVar, Self, get_args

from compose.protocols import CutMode, Edge
from faults.errors import BadStep
from faults.kinds.base import Injection
from faults.kinds.evidence import Evidence, NotYet, Proven, Stillness, by_name, moved, seconds
from faults.kinds.kind import FaultKind, StormRule
from faults.kinds.recovery import PROBE_S, isr_is_short
from faults.kinds.step import EdgesStep, Head, Step, Words, edges_of
from faults.targets.draw import draw_edges_of
from faults.targets.facts import Facts
from faults.targets.target import Target
from faults.tasks import as_job

MODES: tuple[CutMode, ...] = get_args(CutMode)


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionStep(EdgesStep):
    """Cut edges."""

    kind: ClassVar[str] = "partition"
    keys: ClassVar[tuple[str, ...]] = (*EdgesStep.keys, "mode")
    mode: CutMode = "refuse"

    @classmethod
    def parse(cls, head: Head, words: Words) -> Self:
        """Read edges and mode."""
        mode = _parse_mode(words.get("mode", "refuse"))
        return cls(name=head.name, start=head.start, hold_s=head.hold_s, edges=edges_of(words), mode=mode)

    def write(self) -> dict[str, str]:
        """Edges and mode."""
        return {"edges": str(self.edges), "mode": self.mode}


def _parse_mode(value: object) -> CutMode:
    for mode in MODES:
        if mode == value:
            return mode
    raise BadStep("mode", value, MODES)


@dataclass(slots=True)
class Partition:
    """Holds the injection's edges cut."""

    injection: Injection[PartitionStep]
    _busy: dict[Edge, int] = field(default_factory=dict)
    _answering: tuple[Edge, ...] = ()
    _unanswered_ns: int = -1
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
        injection.cluster.mesh.cut(injection.edges, mode=injection.step.mode, owner=injection.owner)

    def effect(self) -> Evidence:
        """Was every edge open before, are the busy ones still, and do the others no longer answer?"""
        if shut := [edge for edge in self.injection.edges if edge not in self._working()]:
            edges = ", ".join(map(str, shut))
            quiet = f"no byte crossed {edges} before the cut"
            return NotYet(instead=f"{quiet}, and no request was answered there")
        if self._busy:
            counters = self._counters()
            self._still.add(self.injection.clock.now_ns(), {edge: counters[edge] for edge in self._busy})
        if answered := self._still_answering():
            return NotYet(instead=f"still answering: {', '.join(map(str, sorted(answered)))}")
        if self._busy and not self._still.proven:
            return NotYet(instead=f"bytes on {', '.join(map(str, self._busy))} not still for long enough")
        return Proven(since_ns=max(self._still.since_ns, self._unanswered_ns), values=self._values())

    def _still_answering(self) -> frozenset[Edge]:
        """Probe the edges that answered before, until once none does; busy edges become still meanwhile."""
        if not self._answering or self._unanswered_ns >= 0:
            return frozenset()
        began_ns = self.injection.clock.now_ns()
        answered = self.injection.cluster.mesh.probe(self._answering, within_s=PROBE_S)
        self._unanswered_ns = -1 if answered else began_ns
        return answered

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
        return {
            "bytes_before": by_name(self._busy),
            "bytes_before_over_s": seconds(injection.now.at_ns - injection.before.at_ns),
            "no_byte_for_s": seconds(self._still.last_ns - self._still.since_ns),
            "answered_before_not_after": sorted(map(str, self._answering)),
        }


def _draw(rng: Random, head: Head, node: Target, facts: Facts) -> Step:
    """The node is cut off, or cannot open connections to some others, or is out of the clients' reach."""
    edges, mode = draw_edges_of(rng, node, facts), rng.choice(MODES)
    return PartitionStep(name=head.name, start=head.start, hold_s=head.hold_s, edges=edges, mode=mode)


PARTITION = FaultKind(
    step=PartitionStep,
    make=Partition,
    counter="edges",
    shortest_hold_s=1.0,
    storm=StormRule(draw=_draw, weight=4),
    does="directed edges are cut: `mode: refuse` closes connections and refuses new ones, `mode: blackhole` "
    "swallows every byte",
    effect="bytes of answers crossed each edge in the seconds before, and none for 0.75 s after. An edge "
    "that was quiet is probed instead: it answered a Kafka request before, and does not after. Where an edge "
    "was shut already, the fault is not proven",
    healing="the edges open, except those that another fault holds",
    recovery="every edge that had worked passes bytes, or answers",
)
