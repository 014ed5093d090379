"""How far a node's own clock was off the others'.

Invariant: an offset counts only if the node's own process was seen to show it.
Evidence: the faults that set clocks, each with whether its effect was proven.
Counterexample to "the clock was set, so it was off":
    the file by which a node's clock is set was written, and its process had started without the library
"""

from collections.abc import Iterable

from checkers.history.clocks.node_clocks import KIND, offset_of
from checkers.history.rows import Fault
from checkers.verdict.exposure.gaps import SECOND_NS
from checkers.verdict.metrics.metric import Measured, in_seconds


def farthest(faults: Iterable[Fault]) -> Measured:
    """In seconds, ahead or behind."""
    shown = (offset_of(fault) for fault in faults if fault.kind == KIND and fault.proven)
    return Measured(value=in_seconds(max(map(abs, shown), default=0) * (SECOND_NS // 1000)))
