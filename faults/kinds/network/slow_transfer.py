"""Bytes that pass a few at a time: what bandwidth and slicing have in common, and how both are proven.

Effect: a large request and its answer, sent through each edge, take at least as long as the fault makes so
many bytes take; longer than the same request that is sent past the edge at the same moment, by 0.7 of that,
and by 0.1 s more than before; and longer than a small request through the edge: twice in a row for each edge.
A starved node proves nothing. With an edge whose request was not answered before, which was shut already, it
is not proven.
Recovery: the edges add about as little as before, and the ISR is what it was.

A broker that is busy, or has just started, can take as long as the fault would make it take, and be quick
again at any moment: what it takes past the edge tells it from the fault. It is asked once, so it is not at
work while slow bytes pass, which would hide what the edge adds: the times add up. What makes an edge late
hides it: Toxiproxy counts a delay from when it has read the bytes. So over a late edge more bytes are sent.
Each connection is slowed for itself, so traffic besides the transfer changes little of what is measured.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import ceil
from typing import Generic, TypeVar

from compose.impairments import Direction, Impairment
from compose.protocols import Edge, Transfer
from faults.errors import BadStep
from faults.kinds.fault.base import Injection
from faults.kinds.fault.evidence import Evidence, NotYet, Proven, by_name
from faults.kinds.fault.step import EdgesStep
from faults.kinds.network.samples import Shown, least_added_before
from faults.kinds.shared.recovery import PROBE_S, isr_is_short
from faults.sizes import write_rate
from faults.tasks import as_job

SHORTEST_HOLD_S = 1.5
QUICK_S = 0.1
"""More transfers are made before until each edge has one to which it adds at most so much more than to a
small request."""

TRANSFER_S = 0.25
"""What the bytes of a transfer take, beside the lateness of the edge: several times as long as on an open
edge, also to a node that has a tenth of a processor."""

SLOWEST, FASTEST = 10_000, 500_000
"""Bytes a second. Toxiproxy hands on blocks of 32 KiB; when a toxic is changed, it loses what the next one
does not take within 5 s, as with 5 KB/s. What is faster than FASTEST hardly differs from an open edge."""

SHARE, ADDED = 0.9, 0.7
"""Of the time that the fault makes a transfer take, so much must be seen in all, and so much must the edge
add."""

MORE_S, LONGER_S = 0.1, 0.125
"""It must add so much more than before, and a transfer must take so much longer than the small request: one
is as late as the other."""

STARVED = 1.0
"""A node that takes so many times as long as the fault would is served by turns, now this connection and now
that one: the edge adds anything to it then."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SlowTransferStep(EdgesStep, ABC):
    """Slow the bytes of edges in one direction."""

    direction: Direction = "from"

    @property
    @abstractmethod
    def impairment(self) -> Impairment:
        """What it does to its edges."""

    @property
    @abstractmethod
    def bytes_per_s(self) -> float:
        """How much a connection passes at most, with many bytes."""

    @abstractmethod
    def least_s(self, passing: int) -> float:
        """How long so many bytes take at least."""

    def must_take_s(self, transfer: Transfer) -> float:
        """How long a transfer takes at least."""
        return self.least_s(transfer.request_bytes if self.direction == "to" else transfer.answer_bytes)


def check_rate(bytes_per_s: float, key: str, value: object) -> None:
    """BadStep unless the rate can be proven and loses no byte."""
    if not SLOWEST <= bytes_per_s <= FASTEST:
        allowed = f"{write_rate(SLOWEST)} to {write_rate(FASTEST)}: else it is lossy, or cannot be proven"
        raise BadStep(key, value, allowed)


SlowStep = TypeVar("SlowStep", bound=SlowTransferStep)


@dataclass(slots=True)
class SlowTransfer(Generic[SlowStep]):
    """Holds the injection's edges slow."""

    injection: Injection[SlowStep]
    _before: Mapping[Edge, Transfer] = field(default_factory=dict)
    _late_s: float = 0.0
    _slow: Shown[Transfer] = field(default_factory=lambda: Shown("a transfer"))
    _quick: Shown[Transfer] = field(default_factory=lambda: Shown("a transfer", needed=1))

    def prepare(self) -> None:
        """Time transfers through each edge that answers; no other is waited for."""
        answering = tuple(sorted(self.injection.cluster.mesh.probe(self.injection.edges, within_s=PROBE_S)))
        self._before = least_added_before(
            lambda: self._measure(answering),
            self._is_quick,
            self.injection.clock,
            self.injection.due_ns,
        )

    def _is_quick(self, transfers: Sequence[Transfer]) -> bool:
        return transfers[0].added_s <= transfers[0].small.added_s + QUICK_S

    def _measure(self, edges: tuple[Edge, ...]) -> Mapping[Edge, Transfer]:
        """The halves of a block may be smaller than a slice."""
        took_s = max((each.took_s for each in self._before.values()), default=0.0)
        takes_s = TRANSFER_S + self._late_s
        size_bytes = ceil(self.injection.step.bytes_per_s * takes_s)
        found = self.injection.cluster.mesh.transfers(
            edges, size_bytes, within_s=PROBE_S + 5 * takes_s + took_s
        )
        self._late_s = max((each.small.added_s for each in found.values()), default=0.0)
        return found

    @as_job
    def inject(self) -> None:
        """Slow."""
        injection = self.injection
        injection.cluster.mesh.impair(injection.edges, injection.step.impairment, owner=injection.owner)

    def effect(self) -> Evidence:
        """Do transfers take as long as they must, by what each edge adds to them, twice in a row?"""
        if silent := [str(edge) for edge in self.injection.edges if edge not in self._before]:
            return NotYet(instead=f"no requests through {', '.join(silent)} were answered before")
        if lacks := self._slow.lacks(self._before, self._measure, self._is_slow, self.injection.clock):
            return lacks
        return Proven(since_ns=self._slow.since_ns, values=self._values(self._slow.latest))

    def _is_slow(self, edge: Edge, during: Transfer) -> bool:
        before, least_s = self._before[edge], self.injection.step.must_take_s(during)
        return (
            during.took_s >= SHARE * least_s
            and during.took_s >= during.small.took_s + LONGER_S
            and during.added_s >= max(ADDED * least_s, before.added_s + MORE_S)
            and during.direct_s < STARVED * least_s
        )

    def _values(self, during: Mapping[Edge, Transfer]) -> dict[str, object]:
        step = self.injection.step
        return {
            "took_before_s": by_name({edge: each.took_s for edge, each in self._before.items()}),
            "took_during_s": by_name({edge: during[edge].took_s for edge in self._before}),
            "past_the_edge_s": by_name({edge: during[edge].direct_s for edge in self._before}),
            "must_take_s": by_name({edge: round(step.must_take_s(during[edge]), 3) for edge in self._before}),
        }

    @as_job
    def heal(self) -> None:
        """Release the edges; those that another fault slows or cuts stay slow or cut."""
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
            "took_since_heal_s": by_name({edge: self._quick.latest[edge].took_s for edge in self._before})
        }
        return Proven(since_ns=self.injection.clock.now_ns(), values=values)

    def _is_quick_again(self, edge: Edge, since: Transfer) -> bool:
        before = self._before[edge]
        return since.added_s <= before.added_s + self.injection.step.must_take_s(before) / 2
