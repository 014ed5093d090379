"""By how much a node's own wall clock was off the others', where a fault had set it.

Invariant: at any time of a run a node's clock was ahead of the engine's by one of its spans that hold that
time; where one span is certain, by that alone.
Evidence: the faults table. A fault of this kind is about to set a clock at `inject_ns`, has seen the node's
own process show it at `effect_ns`, is about to set it right at `end_ns`, and has seen that by `recovered_ns`.
Its target is written with the offset: `node 1: +5m`.
Counterexample to "the clock is ahead from the injection on":
    the clock of controller 101 is set 5 min ahead at 8.0 s, and it shows that from 8.1 s on
    a record of the metadata log of 8.05 s is dated 8.05 s, or 5 min later: its own date tells which
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from checkers.history.rows import Fault
from checkers.history.tables import NONE

KIND = "clock-skew"
"""The kind of fault that sets clocks."""
NEVER_NS = 1 << 62
_OFFSET = re.compile(r"(?P<sign>[+-])(?P<number>[0-9]{1,9}(?:\.[0-9]{1,9})?)(?P<unit>[smhd])")
_UNITS_MS: Mapping[str, int] = {"s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}


@dataclass(frozen=True, slots=True, kw_only=True)
class Ahead:
    """A clock may have been `ahead_ms` ahead of the engine's (behind, if negative) from `since_ns` until
    `until_ns`, on the history's clock; it certainly was from `certain_since_ns` until `certain_until_ns`,
    which is no time at all where the second is the earlier one."""

    ahead_ms: int
    since_ns: int
    until_ns: int
    certain_since_ns: int
    certain_until_ns: int


RIGHT = Ahead(
    ahead_ms=0,
    since_ns=-NEVER_NS,
    until_ns=NEVER_NS,
    certain_since_ns=-NEVER_NS,
    certain_until_ns=NEVER_NS,
)
"""The clock of a node that nobody has set."""


def offset_ms(text: str) -> int:
    """Milliseconds of "+5m", "-1h", "+8d", "+90s"; ValueError for any other text."""
    match = _OFFSET.fullmatch(text)
    if match is None:
        raise ValueError(f"not by how much a clock is off: {text!r}")
    amount = round(float(match["number"]) * _UNITS_MS[match["unit"]])
    return amount if match["sign"] == "+" else -amount


def offset_of(fault: Fault) -> int:
    """By how many milliseconds a fault of this kind sets clocks ahead; ValueError if it does not say."""
    return offset_ms(fault.target.rpartition(": ")[2])


def spans_of(faults: Iterable[Fault]) -> Mapping[int, Sequence[Ahead]]:
    """For each node whose clock was ever set, all spans, by their begin: from before the run to after it.

    ValueError for a fault of this kind that does not say by how much.
    """
    of_node: dict[int, list[Fault]] = defaultdict(list)
    for fault in sorted(faults, key=lambda fault: fault.inject_ns):
        if fault.kind == KIND and fault.inject_ns != NONE:
            for node in fault.nodes:
                of_node[node].append(fault)
    return {node: tuple(_spans(its)) for node, its in of_node.items()}


def _spans(faults: Sequence[Fault]) -> Iterator[Ahead]:
    """No two faults set one clock at a time: each begins when the one before was healed."""
    since_ns = certain_since_ns = -NEVER_NS
    for fault in faults:
        proven_ns = fault.effect_ns if fault.proven and fault.effect_ns != NONE else NEVER_NS
        ends_ns = _known(fault.end_ns)
        over_ns = fault.recovered_ns if fault.recovered and fault.recovered_ns != NONE else NEVER_NS
        yield Ahead(
            ahead_ms=0,
            since_ns=since_ns,
            until_ns=proven_ns,
            certain_since_ns=certain_since_ns,
            certain_until_ns=fault.inject_ns,
        )
        yield Ahead(
            ahead_ms=offset_of(fault),
            since_ns=fault.inject_ns,
            until_ns=over_ns,
            certain_since_ns=proven_ns,
            certain_until_ns=ends_ns,
        )
        since_ns, certain_since_ns = ends_ns, over_ns
    yield Ahead(
        ahead_ms=0,
        since_ns=since_ns,
        until_ns=NEVER_NS,
        certain_since_ns=certain_since_ns,
        certain_until_ns=NEVER_NS,
    )


def _known(at_ns: int) -> int:
    return NEVER_NS if at_ns == NONE else at_ns
