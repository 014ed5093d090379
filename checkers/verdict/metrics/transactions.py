"""What became of the transactions of a run, counted: how they ended, who was fenced, who coordinated them.

Evidence: what the clients asked for and were told; when the effects of faults were proven; and the replayed
metadata log, of the partitions of Kafka's transaction log that have the load's transactional ids.
"""

from collections.abc import Iterable, Iterator, Mapping

from checkers.history.rows import Context, Coordinator, Fault, Transaction
from checkers.history.tables import NONE
from checkers.verdict.metrics.metric import Measured

COORDINATORS, FENCINGS, INTERRUPTED = "coordinators.moved", "fencings", "transactions.interrupted"
TABLES: Mapping[str, str] = {COORDINATORS: "coordinators", FENCINGS: "fencings"}
"""What a metric is counted in, if not in the transactions themselves."""
OUTCOMES: Mapping[str, str] = {"transactions.committed": "committed", "transactions.aborted": "aborted"}

AT_ONCE_MS = 2_000
"""What one broker no longer coordinates for one reason goes to others within this time."""


def of_transactions(name: str) -> bool:
    """Whether a metric counts something that only a load with transactions has."""
    return name in TABLES or name in OUTCOMES or name == INTERRUPTED


def measured(context: Context, name: str) -> Measured:
    """The value of such a metric."""
    table = TABLES.get(name, "transactions")
    if table not in context.collected:
        return Measured(value=None, unknown=f"not collected: {table}")
    match name:
        case "coordinators.moved":
            return _moves(context.coordinators)
        case "fencings":
            told = [row for row in context.fencings if row.done_ns != NONE and row.error]
            return Measured(value=float(len(told)))
        case "transactions.interrupted":
            interrupted = [row for row in context.transactions if _interrupted(row, context.faults)]
            return Measured(value=float(len(interrupted)))
    wanted = OUTCOMES[name]
    return Measured(value=float(sum(row.outcome == wanted for row in context.transactions)))


def _interrupted(row: Transaction, faults: Iterable[Fault]) -> bool:
    """Whether a fault took effect between its begin and its end; an effect or an end that is not known is
    none."""
    return any(row.begun_ns < fault.effect_ns < row.completed_ns for fault in faults)


def _moves(coordinators: Iterable[Coordinator]) -> Measured:
    """Times that a broker lost what it coordinated to others: of several partitions at once, it is one."""
    moves, began_ms = 0, dict[int, int]()
    for before, now in _changes(coordinators):
        if now.at_ms == NONE:
            return Measured(
                value=None, unknown="nobody knows when a coordinator changed: a clock was off then"
            )
        if before.leader not in began_ms or now.at_ms > began_ms[before.leader] + AT_ONCE_MS:
            began_ms[before.leader] = now.at_ms
            moves += 1
    return Measured(value=float(moves))


def _changes(coordinators: Iterable[Coordinator]) -> Iterator[tuple[Coordinator, Coordinator]]:
    """The last state under one broker, and the first under another one; in between there may have been none.
    In the order of the log."""
    last: dict[int, Coordinator] = {}
    for row in sorted(coordinators, key=lambda row: row.log_offset):
        if row.leader != NONE:
            before = last.get(row.partition, row)
            last[row.partition] = row
            if before.leader != row.leader:
                yield before, row
