"""Latency: answers, or requests, over directed edges arrive late, by a delay and up to a jitter more or less.

Effect: a request through each edge is answered, as it was before, and takes longer than one that is sent
past the edge at the same moment, by about the delay more than before, twice in a row. With an edge that did
not answer before, which was shut already, it is not proven.
Recovery: the edge adds about as little as before, and the ISR is what it was.

The delays of faults on one edge add up, so each is proven by what it adds. An edge is back to what it was
when every fault that followed on it is healed too.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import ClassVar, Self

from compose.impairments import Delayed, Direction
from compose.protocols import Edge, RoundTrip
from faults.durations import parse_duration, write_duration
from faults.errors import BadStep
from faults.kinds.fault.base import Injection
from faults.kinds.fault.evidence import Evidence, NotYet, Proven, by_name
from faults.kinds.fault.kind import FaultKind, StormRule
from faults.kinds.fault.step import EdgesStep, Head, Step, Words, edges_of
from faults.kinds.network.directions import parse_direction
from faults.kinds.network.samples import PREPARES_S, SAMPLES, Shown, least_added_before
from faults.kinds.shared.recovery import PROBE_S, isr_is_short
from faults.targets.draw import draw_edges_of
from faults.targets.facts import Facts
from faults.targets.target import Target
from faults.tasks import as_job

SHORTEST_DELAY_S = 0.05
"""What the jitter leaves of a delay at least: round trips are measured to 0.01 s, and take up to as much more
on a busy machine."""

RESOLUTION_S = 0.02
"""Two readings of a clock with steps of 0.01 s."""

DRAWN_DELAY_MS = (100, 300)
"""What a storm draws: proven in a hold of 2 s, and below the time-outs of the quorum (2 s)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LatencyStep(EdgesStep):
    """Slow edges."""

    kind: ClassVar[str] = "latency"
    keys: ClassVar[tuple[str, ...]] = (*EdgesStep.keys, "delay", "jitter", "direction")
    delay_s: float
    jitter_s: float = 0.0
    direction: Direction = "from"

    @classmethod
    def parse(cls, head: Head, words: Words) -> Self:
        """Read edges, delay, jitter and direction."""
        delay_s = parse_duration(words.get("delay"), "delay")
        jitter_s = parse_duration(words.get("jitter", "0s"), "jitter")
        if delay_s < SHORTEST_DELAY_S:
            allowed = f"at least {write_duration(SHORTEST_DELAY_S)}: a shorter delay cannot be proven"
            raise BadStep("delay", words.get("delay"), allowed)
        if jitter_s > delay_s / 2 or round(delay_s - jitter_s, 6) < SHORTEST_DELAY_S:
            least = f"at least {write_duration(SHORTEST_DELAY_S)} less than it"
            allowed = f"at most half of the delay, and {least}: a shorter delay cannot be proven"
            raise BadStep("jitter", words.get("jitter"), allowed)
        return cls(
            name=head.name,
            start=head.start,
            hold_s=head.hold_s,
            edges=edges_of(words),
            delay_s=delay_s,
            jitter_s=jitter_s,
            direction=parse_direction(words),
        )

    def write(self) -> dict[str, str]:
        """Edges, delay, jitter and direction."""
        return {
            "edges": str(self.edges),
            "delay": write_duration(self.delay_s),
            "jitter": write_duration(self.jitter_s),
            "direction": self.direction,
        }

    def check(self, facts: Facts) -> None:
        """The edges must exist, and the hold must have time for the probes of the effect."""
        EdgesStep.check(self, facts)
        needed_s = 1.0 + SAMPLES * (self.delay_s + self.jitter_s)
        if self.hold_s < needed_s:
            allowed = f"at least {needed_s:g}s: with this delay, a shorter {self.kind} cannot be proven"
            raise BadStep("for", write_duration(self.hold_s), allowed)


@dataclass(slots=True)
class Latency:
    """Holds the injection's edges slow."""

    injection: Injection[LatencyStep]
    _before: Mapping[Edge, RoundTrip] = field(default_factory=dict)
    _late: Shown[RoundTrip] = field(default_factory=lambda: Shown("a request"))
    _quick: Shown[RoundTrip] = field(default_factory=lambda: Shown("a request", needed=1))

    @property
    def _least_s(self) -> float:
        """How much more the edge adds to a round trip at least, well above what it adds by itself."""
        return self.injection.step.delay_s - self.injection.step.jitter_s - RESOLUTION_S

    def prepare(self) -> None:
        """Time round trips over each edge that answers."""
        injection = self.injection
        self._before = least_added_before(
            lambda: self._measure(injection.edges), _agree, injection.clock, injection.due_ns
        )

    def _measure(self, edges: tuple[Edge, ...]) -> Mapping[Edge, RoundTrip]:
        step = self.injection.step
        took_s = max((each.took_s for each in self._before.values()), default=0.0)
        within_s = PROBE_S + step.delay_s + step.jitter_s + took_s
        return self.injection.cluster.mesh.round_trips(edges, within_s=within_s)

    @as_job
    def inject(self) -> None:
        """Slow."""
        injection, step = self.injection, self.injection.step
        delayed = Delayed(delay_s=step.delay_s, jitter_s=step.jitter_s, direction=step.direction)
        injection.cluster.mesh.impair(injection.edges, delayed, owner=injection.owner)

    def effect(self) -> Evidence:
        """Does each edge add the delay to round trips, twice in a row?"""
        if silent := [str(edge) for edge in self.injection.edges if edge not in self._before]:
            return NotYet(instead=f"no request through {', '.join(silent)} was answered before the delay")
        if lacks := self._late.lacks(self._before, self._measure, self._is_late, self.injection.clock):
            return lacks
        during = self._late.latest
        values = {
            "round_trip_before_s": by_name({edge: each.took_s for edge, each in self._before.items()}),
            "round_trip_during_s": by_name({edge: during[edge].took_s for edge in self._before}),
            "past_the_edge_s": by_name({edge: during[edge].direct_s for edge in self._before}),
        }
        return Proven(since_ns=self._late.since_ns, values=values)

    def _is_late(self, edge: Edge, trip: RoundTrip) -> bool:
        return trip.added_s >= self._before[edge].added_s + self._least_s

    @as_job
    def heal(self) -> None:
        """Release the delay; an edge that another fault slows or cuts stays slow or cut."""
        self.injection.cluster.mesh.mend(self.injection.edges, owner=self.injection.owner)

    def recovery(self) -> Evidence:
        """Has each edge added about as little as before, and is the ISR what it was?"""
        if lacks := self._quick.lacks(
            self._before, self._measure, self._is_quick_again, self.injection.clock
        ):
            return lacks
        if lacking := isr_is_short(self.injection):
            return NotYet(instead=lacking)
        values = {
            "round_trip_since_heal_s": by_name(
                {edge: self._quick.latest[edge].took_s for edge in self._before}
            )
        }
        return Proven(since_ns=self.injection.clock.now_ns(), values=values)

    def _is_quick_again(self, edge: Edge, trip: RoundTrip) -> bool:
        return trip.added_s <= self._before[edge].added_s + self._least_s / 2


def _agree(trips: Sequence[RoundTrip]) -> bool:
    """Whether an edge has added about the same to those two to which it has added least."""
    return len(trips) < SAMPLES or trips[1].added_s - trips[0].added_s <= RESOLUTION_S


def _draw(rng: Random, head: Head, node: Target, facts: Facts) -> Step:
    """The answers over all edges of the node, over some that it opens, or to the clients are late."""
    most_ms = round(min(DRAWN_DELAY_MS[1], (head.hold_s - 1.0) / (SAMPLES * 1.25) * 1000))
    delay_s = rng.randint(DRAWN_DELAY_MS[0], most_ms) / 1000
    return LatencyStep(
        name=head.name,
        start=head.start,
        hold_s=head.hold_s,
        edges=draw_edges_of(rng, node, facts),
        delay_s=delay_s,
        jitter_s=round(delay_s / 4, 3),
    )


LATENCY = FaultKind(
    step=LatencyStep,
    make=Latency,
    shortest_hold_s=1.0,
    prepares_s=PREPARES_S,
    storm=StormRule(draw=_draw, weight=2, leaves_open=True),
    does="answers over directed edges arrive late, by `delay` (from 50ms on), give or take `jitter` (0s, at "
    "most half of the delay, and at least 50ms less than it), or with `direction: to` requests; delays of "
    "several faults on one edge add up",
    effect="a Kafka request through each edge takes longer than one past it at the same moment, by at least "
    "`delay` minus `jitter`, less 0.02 s, more than before, twice in a row. Where an edge did not answer "
    "before, the fault is not proven",
    healing="the bytes are delayed no more, except by other faults",
    recovery="the edges add about as little to the requests as before",
)
