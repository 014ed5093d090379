"""Bandwidth: each connection over a set of directed edges passes so many bytes a second in one direction.

Proven by transfers that take as long as the rate says (slow_transfer.py). Where several faults throttle one
edge the lowest rate counts, so a higher one beside a lower one has no effect, and is not proven.
"""

from dataclasses import dataclass
from random import Random
from typing import ClassVar, Self

from compose.impairments import Throttled
from faults.kinds.fault.kind import FaultKind, StormRule
from faults.kinds.fault.step import EdgesStep, Head, Step, Words, edges_of
from faults.kinds.network.directions import parse_direction
from faults.kinds.network.samples import PREPARES_S
from faults.kinds.network.slow_transfer import SHORTEST_HOLD_S, SlowTransfer, SlowTransferStep, check_rate
from faults.sizes import parse_rate, write_rate
from faults.targets.draw import draw_edges_of
from faults.targets.facts import Facts
from faults.targets.target import Target

DRAWN_KB_PER_S = (20, 100)
"""What a storm draws: less than a load of some hundred records a second, much more than heartbeats."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BandwidthStep(SlowTransferStep):
    """Throttle edges."""

    kind: ClassVar[str] = "bandwidth"
    keys: ClassVar[tuple[str, ...]] = (*EdgesStep.keys, "rate", "direction")
    rate: int

    @classmethod
    def parse(cls, head: Head, words: Words) -> Self:
        """Read edges, rate and direction."""
        rate = parse_rate(words.get("rate"), "rate")
        check_rate(rate, "rate", words.get("rate"))
        return cls(
            name=head.name,
            start=head.start,
            hold_s=head.hold_s,
            edges=edges_of(words),
            rate=rate // 1000 * 1000,
            direction=parse_direction(words),
        )

    def write(self) -> dict[str, str]:
        """Edges, rate and direction."""
        return {"edges": str(self.edges), "rate": write_rate(self.rate), "direction": self.direction}

    @property
    def impairment(self) -> Throttled:
        """A rate."""
        return Throttled(bytes_per_s=self.rate, direction=self.direction)

    @property
    def bytes_per_s(self) -> float:
        """The rate."""
        return self.rate

    def least_s(self, passing: int) -> float:
        """By the rate."""
        return passing / self.rate


def _draw(rng: Random, head: Head, node: Target, facts: Facts) -> Step:
    """All edges of the node, some that it opens, or those of the clients pass little, one way."""
    return BandwidthStep(
        name=head.name,
        start=head.start,
        hold_s=head.hold_s,
        edges=draw_edges_of(rng, node, facts),
        rate=1000 * rng.randint(*DRAWN_KB_PER_S),
        direction=rng.choice(("to", "from")),
    )


BANDWIDTH = FaultKind(
    step=BandwidthStep,
    make=SlowTransfer,
    shortest_hold_s=SHORTEST_HOLD_S,
    prepares_s=PREPARES_S,
    storm=StormRule(draw=_draw, weight=1, leaves_open=True),
    does="each connection over directed edges passes at most `rate` (10KB/s to 500KB/s) of answers, or with "
    "`direction: to` of requests; of several faults on one edge the lowest rate counts",
    effect="a large request through each edge, with its answer, takes as long as `rate` says for its bytes, "
    "longer than the same request past the edge at the same moment, by 0.7 of that, and by 0.1 s more than "
    "before, and 0.125 s longer than a small request through the edge: twice in a row. Where an edge did not "
    "answer before, the fault is not proven",
    healing="the edges are throttled no more, except by other faults; connections stay",
    recovery="the edges add about as little to the requests as before",
)
