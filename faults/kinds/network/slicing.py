"""Slicing: bytes over a set of directed edges pass in small slices, one after the other with a delay between.

So a message arrives in many segments, and its end long after its beginning. Proven by transfers that take as
long as their slices must (slow_transfer.py).
"""

from dataclasses import dataclass
from math import ceil
from random import Random
from typing import ClassVar, Self

from compose.impairments import Sliced
from faults.durations import parse_duration, write_duration
from faults.errors import BadStep
from faults.kinds.fault.kind import FaultKind, StormRule
from faults.kinds.fault.step import EdgesStep, Head, Step, Words, edges_of
from faults.kinds.network.directions import parse_direction
from faults.kinds.network.samples import PREPARES_S
from faults.kinds.network.slow_transfer import (
    SHORTEST_HOLD_S,
    TRANSFER_S,
    SlowTransfer,
    SlowTransferStep,
    check_rate,
)
from faults.sizes import parse_size, write_size
from faults.targets.draw import draw_edges_of
from faults.targets.facts import Facts
from faults.targets.target import Target

SHORTEST_DELAY_S = 0.001
"""Timers are no finer, and a duration is not written finer."""

TOO_LONG_S = TRANSFER_S
"""With such a delay, or a longer one, all that a transfer sends to prove it would be one slice."""

DRAWN_BYTES, DRAWN_DELAY_MS = (100, 300), (2, 5)
"""What a storm draws: 20 to 150 KB/s, an answer of a broker in two to eight slices."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SlicingStep(SlowTransferStep):
    """Slice the bytes of edges."""

    kind: ClassVar[str] = "slicing"
    keys: ClassVar[tuple[str, ...]] = (*EdgesStep.keys, "size", "delay", "direction")
    size: int
    delay_s: float

    @classmethod
    def parse(cls, head: Head, words: Words) -> Self:
        """Read edges, size, delay and direction."""
        size = parse_size(words.get("size"), "size")
        delay_s = parse_duration(words.get("delay"), "delay")
        if not SHORTEST_DELAY_S <= delay_s < TOO_LONG_S:
            shortest, too_long = write_duration(SHORTEST_DELAY_S), write_duration(TOO_LONG_S)
            allowed = f"at least {shortest}, for a shorter one is not kept, and less than {too_long}"
            raise BadStep("delay", words.get("delay"), f"{allowed}, else it cannot be proven")
        check_rate(size / delay_s, "size", f"{words.get('size')} every {words.get('delay')}")
        return cls(
            name=head.name,
            start=head.start,
            hold_s=head.hold_s,
            edges=edges_of(words),
            size=size,
            delay_s=delay_s,
            direction=parse_direction(words),
        )

    def write(self) -> dict[str, str]:
        """Edges, size, delay and direction."""
        return {
            "edges": str(self.edges),
            "size": write_size(self.size),
            "delay": write_duration(self.delay_s),
            "direction": self.direction,
        }

    @property
    def impairment(self) -> Sliced:
        """Slices."""
        return Sliced(size_bytes=self.size, delay_s=self.delay_s, direction=self.direction)

    @property
    def bytes_per_s(self) -> float:
        """A slice for each delay."""
        return self.size / self.delay_s

    def least_s(self, passing: int) -> float:
        """By the delays between slices of full size; Toxiproxy halves blocks until they are small enough."""
        return (ceil(passing / self.size) - 1) * self.delay_s


def _draw(rng: Random, head: Head, node: Target, facts: Facts) -> Step:
    """All edges of the node, some that it opens, or those of the clients slice bytes, one way."""
    return SlicingStep(
        name=head.name,
        start=head.start,
        hold_s=head.hold_s,
        edges=draw_edges_of(rng, node, facts),
        size=rng.randint(*DRAWN_BYTES),
        delay_s=rng.randint(*DRAWN_DELAY_MS) / 1000,
        direction=rng.choice(("to", "from")),
    )


SLICING = FaultKind(
    step=SlicingStep,
    make=SlowTransfer,
    shortest_hold_s=SHORTEST_HOLD_S,
    prepares_s=PREPARES_S,
    storm=StormRule(draw=_draw, weight=1, leaves_open=True),
    does="answers over directed edges, or with `direction: to` requests, pass in slices of at most `size` "
    "bytes, with `delay` (less than 0.25s) after each (10KB/s to 500KB/s); of several faults on one edge the "
    "smallest size and the longest delay count",
    effect="a large request through each edge, with its answer, takes as long as the delays between its "
    "slices, longer than the same request past the edge at the same moment, by 0.7 of that, and by 0.1 s "
    "more than before, and 0.125 s longer than a small request through the edge: twice in a row. Where an "
    "edge did not answer before, the fault is not proven",
    healing="the edges slice no more, except for other faults; connections stay",
    recovery="the edges add about as little to the requests as before",
)
