"""Bytes that pass a few at a time: what bandwidth and slicing have in common, and how both are proven.

Effect: some requests and their answers, sent through each edge over one connection, take at least as long as
the fault makes so many bytes take; and longer than the same requests that are sent past the edge at the same
moment, by 0.7 of that, and by 0.4 of it more than before, twice in a row for each edge. A starved node proves
nothing. With an edge whose requests were not answered before, which was shut already, it is not proven.
Recovery: the edges add about as little as before, and the ISR is what it was.

A broker that is busy, or has just started, can take as long as the fault would make it take, and be quick
again at any moment: what it takes past the edge tells it from the fault. If it were at work while slow bytes
pass, it would hide what the edge adds: so few requests are under way at a time, and the times add up. Over
an edge that is also late that would take too long: there all are sent at once.

Each connection is slowed for itself, so traffic besides the transfer changes little of what is measured.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import ceil
from typing import Generic, TypeVar

from compose.impairments import Direction, Impairment
from compose.protocols import Edge, Passing, Transfer
from faults.errors import BadStep
from faults.kinds.base import Injection
from faults.kinds.evidence import Evidence, NotYet, Proven, by_name
from faults.kinds.network.samples import SAMPLES, Shown, compared, least_added_before
from faults.kinds.recovery import PROBE_S, isr_is_short
from faults.kinds.step import EdgesStep
from faults.sizes import write_rate
from faults.tasks import as_job

SHORTEST_HOLD_S = 1.5
QUICK = 0.4
"""More transfers are made before until each edge has one to which it adds at most so much of what the fault
will make it take."""

TRANSFER_S = 0.2
"""What the bytes of a transfer take: several times as long as on an open edge. Through all edges of a node it
is done in 0.7 s on a busy machine, and two are before and two after the beginning of the fault."""

AT_ONCE_S = 0.01
"""What the bytes that are sent at a time take: more than the way of a request through proxy and node, on a
busy machine too."""

PAUSE_S = 0.005
"""Without a pause the requests that no fault slows, as those before it, would make the machine busy."""

FAST = 150_000
"""Bytes a second. What is faster passes more requests in AT_ONCE_S than a node answers: so all are sent at
once, and it is proven only on a node that is quicker than its edge."""

LATE_S = 0.05
"""An edge that adds so much to a round trip, twice, is late."""

SLOWEST, FASTEST = 10_000, 500_000
"""Bytes a second. Toxiproxy hands on blocks of 32 KiB; when a toxic is changed, it loses what the next one
does not take within 5 s, as with 5 KB/s. What is faster than FASTEST hardly differs from a busy broker."""

SHARE, ADDED, MORE = 0.9, 0.7, 0.4
"""Of the time that the fault makes a transfer take, so much must be seen in all, so much must the edge add,
and so much more than before: on a busy machine it adds up to half of it without a fault."""

STARVED = 3.0
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

    def passing(self, *, all_at_once: bool) -> Passing:
        """What takes TRANSFER_S."""
        all_at_once = all_at_once or self.bytes_per_s > FAST
        return Passing(
            direction=self.direction,
            size_bytes=ceil(self.bytes_per_s * TRANSFER_S),
            at_once_bytes=ceil(self.bytes_per_s * (TRANSFER_S if all_at_once else AT_ONCE_S)),
            pause_s=0.0 if all_at_once else PAUSE_S,
        )

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
    _all_at_once: bool = False
    _shown: Shown[Transfer] = field(default_factory=Shown)
    _quick: Shown[Transfer] = field(default_factory=lambda: Shown(needed=1))

    def prepare(self) -> None:
        """Time transfers through each edge that answers; no other is waited for."""
        answering, late = self._asked_once(self.injection.edges)
        self._all_at_once = bool(late and self._asked_once(late)[1])
        self._before = least_added_before(
            lambda: self._measure(answering),
            self._is_quick,
            self.injection.clock,
            self.injection.due_ns,
        )

    def _asked_once(self, edges: tuple[Edge, ...]) -> tuple[tuple[Edge, ...], tuple[Edge, ...]]:
        """Those that answer, and of them the late ones."""
        trips = self.injection.cluster.mesh.round_trips(edges, within_s=PROBE_S)
        return tuple(sorted(trips)), tuple(edge for edge, trip in trips.items() if trip.added_s >= LATE_S)

    def _is_quick(self, transfers: Sequence[Transfer]) -> bool:
        return transfers[0].added_s <= QUICK * self.injection.step.must_take_s(transfers[0])

    def _measure(self, edges: tuple[Edge, ...]) -> Mapping[Edge, Transfer]:
        """The halves of a block may be smaller than a slice."""
        took_s = max((each.took_s for each in self._before.values()), default=0.0)
        within_s = PROBE_S + 5 * TRANSFER_S + took_s
        passing = self.injection.step.passing(all_at_once=self._all_at_once)
        return self.injection.cluster.mesh.transfers(edges, passing, within_s=within_s)

    @as_job
    def inject(self) -> None:
        """Slow."""
        injection = self.injection
        injection.cluster.mesh.impair(injection.edges, injection.step.impairment, owner=injection.owner)

    def effect(self) -> Evidence:
        """Do transfers take as long as they must, by what each edge adds to them, twice in a row?"""
        if silent := [str(edge) for edge in self.injection.edges if edge not in self._before]:
            return NotYet(instead=f"no requests through {', '.join(silent)} were answered before")
        began_ns = self.injection.clock.now_ns()
        asked = self._shown.lacking(self._before)
        during = self._measure(asked)
        quick = self._shown.look(asked, during, self._is_slow, began_ns)
        if quick:
            return NotYet(
                instead=compared("a transfer", quick[0], during.get(quick[0]), self._before[quick[0]])
            )
        if lacking := self._shown.lacking(self._before):
            return NotYet(instead=f"transfers through {lacking[0]} slower once; needed {SAMPLES} in a row")
        return Proven(since_ns=self._shown.since_ns, values=self._values(self._shown.latest))

    def _is_slow(self, edge: Edge, during: Transfer) -> bool:
        before, least_s = self._before[edge], self.injection.step.must_take_s(during)
        return (
            during.took_s >= SHARE * least_s
            and during.added_s >= max(ADDED * least_s, before.added_s + MORE * least_s)
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
        began_ns = self.injection.clock.now_ns()
        asked = self._quick.lacking(self._before)
        since = self._measure(asked)
        if slow := self._quick.look(asked, since, self._is_quick_again, began_ns):
            return NotYet(instead=compared("a transfer", slow[0], since.get(slow[0]), self._before[slow[0]]))
        if lacking := isr_is_short(self.injection):
            return NotYet(instead=lacking)
        values = {
            "took_since_heal_s": by_name({edge: self._quick.latest[edge].took_s for edge in self._before})
        }
        return Proven(since_ns=self.injection.clock.now_ns(), values=values)

    def _is_quick_again(self, edge: Edge, since: Transfer) -> bool:
        before = self._before[edge]
        return since.added_s <= before.added_s + self.injection.step.must_take_s(before) / 2
