"""The times of the metadata log and of the nodes' own lines on the engine's clock, where a node's was off.

A record of the metadata log is dated by the controller that wrote it, a line of a log by its node. What the
clock of that node was off is taken away again. Its date alone tells by how much, if the offset is longer than
the run: the other time would lie outside of it. Where both fit, the order of the log decides: no record was
written before the one in front of it.

Invariant: a time that is given was the engine's, to the clocks' slack; what has two places is `unplaced`,
or has no time where no verdict depends on it.
Evidence: the faults that set clocks (node_clocks.py), which controller wrote each record, the readings of
the clocks, the order of the log, the roles of the nodes.
Counterexample to "what the controller wrote while its clock was ahead is dated later":
    the clock of controller 101 is set 30 s ahead at 20 s, and right at 40 s
    a record is dated 60 s: it may be of 30 s, or of 60 s
    one behind it in the log is of 35 s, so it is of 30 s
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from checkers.history.clocks.clock_pairs import BEYOND_NS, ClockPairs
from checkers.history.clocks.node_clocks import RIGHT, Ahead, spans_of
from checkers.history.rows import (
    BrokerLine,
    BrokerState,
    ConfigChange,
    Context,
    Coordinator,
    MetadataAppend,
    MetadataChange,
)
from checkers.history.tables import NONE

NEAR_NS = 1_000_000_000
"""How far a time may lie outside of a span and still be of it."""
ORDER_MS = 2_000
"""So much two neighbours in the log may be dated against its order, and so close two places are one."""
FAR_MS = 1 << 62

C = TypeVar("C", bound=Context)
Row = TypeVar("Row", MetadataChange, BrokerState, ConfigChange, Coordinator, MetadataAppend)
Logged = MetadataChange | BrokerState | ConfigChange | Coordinator | MetadataAppend


def on_engines_clock(context: C) -> C:
    """The same with each `at_ms` on the engine's clock, and the offsets of the records that are `unplaced`.

    An append or a coordinator without a place gets `at_ms` -1: metrics alone ask for it. The same object
    where no fault had set a clock. ValueError for a fault that does not say by how much.
    """
    spans = spans_of(context.faults)
    if not spans:
        return context
    appends = tuple(context.metadata_appends)  # what stays in columns makes its rows anew each time
    judged: tuple[Sequence[Logged], ...] = (context.metadata, context.brokers, context.configs)
    tables: tuple[Sequence[Logged], ...] = (*judged, context.coordinators, appends)
    rows = sorted(
        (row for table in tables for row in table if row.at_ms != NONE), key=lambda row: row.log_offset
    )
    writers = spans.keys() - {event.node for event in context.node_events if event.role == "broker"}
    lines: Sequence[BrokerLine] = context.broker_lines
    if context.clocks:
        clocks = ClockPairs(context.clocks)
        times = _Times(clocks=clocks, last_ns=_last_ns(context), spans=spans, writers=writers)
        places = _between([times.places(row.controller, row.at_ms) for row in rows])
        at_ms = {id(row): earliest for row, (earliest, _) in zip(rows, places, strict=True)}
        lost = {
            id(row)
            for row, (earliest, latest) in zip(rows, places, strict=True)
            if abs(latest - earliest) > ORDER_MS
        }
        lines = tuple(_line(line, times) for line in lines)
    else:
        theirs = {NONE, *writers} if writers else set[int]()
        at_ms, lost = {}, {id(row) for row in rows if row.controller in theirs}
    or_none = at_ms | dict.fromkeys(lost, NONE)
    return replace(
        context,
        metadata=_dated(context.metadata, at_ms),
        brokers=_dated(context.brokers, at_ms),
        configs=_dated(context.configs, at_ms),
        coordinators=_dated(context.coordinators, or_none),
        metadata_appends=_dated(appends, or_none),
        broker_lines=lines,
        unplaced=frozenset(row.log_offset for table in judged for row in table if id(row) in lost),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Times:
    """Which times a node's clock may have meant; `last_ns`: the last reading of the clocks. `writers`: of the
    nodes whose clocks were set, those that may be controllers."""

    clocks: ClockPairs
    last_ns: int
    spans: Mapping[int, Sequence[Ahead]]
    writers: Collection[int]

    def places(self, node: int, at_ms: int) -> Collection[int]:
        """The engine's times that a time of a node's clock may stand for, in ms: one at least.

        `node` -1: a controller's, nobody knows whose. Where none fits the clock was not as the faults say:
        then any that it ever had will do, and two of them are no place.
        """
        nodes = self.writers if node == NONE else (node,)
        spans = [span for each in nodes for span in self.spans.get(each, ())]
        if node == NONE:
            spans.append(RIGHT)  # it may have been one whose clock was never set
        fitting = {at_ms - span.ahead_ms for span in spans if self._fits(span, at_ms)}
        return fitting or {at_ms - span.ahead_ms for span in spans} or {at_ms}

    def _fits(self, span: Ahead, at_ms: int) -> bool:
        """Whether the clock may have been so far ahead at the time that this would mean. Nothing of a run was
        written after it."""
        near_ns = max(NEAR_NS, self.clocks.drift_ns)
        at_ns = self.clocks.place(at_ms - span.ahead_ms).at_ns
        within = span.since_ns - near_ns <= at_ns <= span.until_ns + near_ns
        return within and at_ns <= self.last_ns + BEYOND_NS


def _between(places: Sequence[Collection[int]]) -> list[tuple[int, int]]:
    """The earliest and the latest time of each record, in the order of the log, that its neighbours allow."""
    earliest, bound = list[int](), -FAR_MS
    for its in places:
        earliest.append(min((at for at in its if at >= bound - ORDER_MS), default=bound))
        bound = max(bound, earliest[-1])
    latest, bound = list[int](), FAR_MS
    for its in reversed(places):
        latest.append(max((at for at in its if at <= bound + ORDER_MS), default=bound))
        bound = min(bound, latest[-1])
    return list(zip(earliest, reversed(latest), strict=True))


def _dated(rows: Sequence[Row], at_ms: Mapping[int, int]) -> tuple[Row, ...]:
    """`at_ms` has the time of each row, by its identity; what has none keeps its own."""
    return tuple(replace(row, at_ms=at_ms.get(id(row), row.at_ms)) for row in rows)


def _line(line: BrokerLine, times: _Times) -> BrokerLine:
    """Of two places the later one: it only chooses which lines are shown."""
    return replace(line, at_ms=max(times.places(line.node, line.at_ms)))


def _last_ns(context: Context) -> int:
    return max(pair.at_ns for pair in context.clocks)
