"""Whether a bound on time was missed by the cluster, or by a machine that had no processor to give.

Invariant: a bound on time is missed by the cluster only if it is missed by what is left of the time when all
that starvation can explain is taken off.
Evidence: the pressure table. What runs one after the other (an election, a fetch, an ack) is at any moment
one task; it is held up no longer than some task waited for a processor (PSI `some`) plus what a hypervisor
took from the processors. The harness notes an ack no later than its own loops are late. So in each row at
most max(stall + steal, late) of the time is due to the machine. Time of which there is no row, or a row
without counters, may all be. Where the kernel has no PSI, a second in which the processors were busy for more
than 90 % counts as lost.
Counterexample to "6.7 s without an ack against a bound of 5 s is Kafka's":
    no fault; three builds run beside the cluster, and some task waits for a processor 60 % of the time
    6.7 s less the 4.0 s that the machine may have cost are 2.7 s: on a machine to itself it would have held
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from checkers.history.columnar import columns_of
from checkers.history.rows import Pressure
from checkers.history.tables import NONE
from checkers.verdict.exposure.gaps import SECOND_NS, Gap

SATURATED = 0.9
"""Without PSI: the share of busy time from which on tasks may have waited all the time."""
NAMES = ("at_ns", "span_ns", "stall_ns", "steal_ns", "busy_ns", "late_ns")
Column = npt.NDArray[Any]
_ANY_NS = 1 << 62


@dataclass(frozen=True, slots=True, kw_only=True)
class Starvation:
    """What a stretch of time lost for want of a processor, at most: `lost_ns` is part of `span_ns`.

    `stall_ns`, `steal_ns`, `late_ns` are what the rows say of it; `unknown_ns` is the time without counters.
    """

    span_ns: int
    lost_ns: int
    stall_ns: int
    steal_ns: int
    late_ns: int
    unknown_ns: int

    @property
    def in_words(self) -> str:
        """The figures, in one clause."""
        if self.unknown_ns == self.span_ns:
            return "whether the machine starved then was not recorded"
        unknown = f", not recorded for {_s(self.unknown_ns)}" if self.unknown_ns else ""
        return (
            f"tasks waited for a processor for {_s(self.stall_ns)} of that time "
            f"({self.stall_ns / self.span_ns:.0%}), a hypervisor took {_s(self.steal_ns)}, "
            f"the harness's own loops woke {_s(self.late_ns)} late{unknown}"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Missed:
    """The gap that decides a bound that is missed; `by_the_cluster`: whatever the machine did meanwhile."""

    gap: Gap
    starvation: Starvation
    by_the_cluster: bool


def missed(
    gaps: Iterable[Gap], holds: Callable[[float], bool], pressure: Sequence[Pressure]
) -> Missed | None:
    """Who missed a bound on the length of gaps, in seconds; None if it holds for all of `gaps`.

    The first gap that the machine does not explain decides; else the first of all.
    """
    rows = columns_of(pressure, NAMES)
    found = [_one(gap, holds, rows) for gap in gaps if not holds(gap.length_s)]
    return next((each for each in found if each.by_the_cluster), found[0] if found else None)


def _one(gap: Gap, holds: Callable[[float], bool], rows: Mapping[str, Column]) -> Missed:
    lost = between(rows, gap.from_ns, gap.to_ns)
    left_s = (gap.length_ns - lost.lost_ns) / SECOND_NS
    return Missed(gap=gap, starvation=lost, by_the_cluster=not holds(left_s))


def between(rows: Mapping[str, Column], from_ns: int, to_ns: int) -> Starvation:
    """What the time between two moments lost; `rows` are the columns NAMES of the pressure table.

    Of a row that is only in part inside, all that it counted may have been inside. The kernel's counters lag:
    a row may count what belongs to the one before, and so more than its span; only the whole is bounded.
    """
    at, span, stall, steal, busy, late = (rows[name] for name in NAMES)
    inside = np.clip(np.minimum(to_ns, at) - np.maximum(from_ns, at - span), 0, None)
    most = np.where(inside == span, _ANY_NS, inside)
    counted = (stall != NONE) | (busy != NONE)
    waited = np.where(stall != NONE, stall, np.where(busy > SATURATED * span, span, 0))
    stall, steal, late = (np.minimum(most, np.maximum(each, 0)) for each in (waited, steal, late))
    lost = np.minimum(most, np.maximum(stall + steal, late))
    unknown_ns = max(0, to_ns - from_ns - int(inside[counted].sum()))
    return Starvation(
        span_ns=to_ns - from_ns,
        lost_ns=min(to_ns - from_ns, int(lost[counted].sum()) + unknown_ns),
        stall_ns=min(to_ns - from_ns, int(stall[counted].sum())),
        steal_ns=int(steal[counted].sum()),
        late_ns=int(late.sum()),
        unknown_ns=unknown_ns,
    )


def _s(span_ns: int) -> str:
    return f"{span_ns / SECOND_NS:.2f} s"
