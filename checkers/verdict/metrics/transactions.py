"""What became of the transactions of a run, counted: how they ended, who was fenced, who coordinated them.

Evidence: what the clients asked for and were told; and the replayed metadata log, of the partitions of
Kafka's transaction log that have the load's transactional ids.
"""

from collections import defaultdict
from collections.abc import Mapping
from itertools import pairwise

from checkers.history.rows import Context, Coordinator
from checkers.history.tables import NONE
from checkers.verdict.metrics.metric import Measured

COORDINATORS, FENCINGS = "coordinators.moved", "fencings"
TABLES: Mapping[str, str] = {COORDINATORS: "coordinators", FENCINGS: "fencings"}
"""What a metric is counted in, if not in the transactions themselves."""
OUTCOMES: Mapping[str, str] = {"transactions.committed": "committed", "transactions.aborted": "aborted"}


def of_transactions(name: str) -> bool:
    """Whether a metric counts something that only a load with transactions has."""
    return name in TABLES or name in OUTCOMES


def measured(context: Context, name: str) -> Measured:
    """The value of such a metric."""
    table = TABLES.get(name, "transactions")
    if table not in context.collected:
        return Measured(value=None, unknown=f"not collected: {table}")
    match name:
        case "coordinators.moved":
            return Measured(value=float(_moves(context)))
        case "fencings":
            told = [row for row in context.fencings if row.done_ns != NONE and row.error]
            return Measured(value=float(len(told)))
    wanted = OUTCOMES[name]
    return Measured(value=float(sum(row.outcome == wanted for row in context.transactions)))


def _moves(context: Context) -> int:
    """Times that another broker than before became the coordinator; in between there may have been none."""
    by_partition: dict[int, list[Coordinator]] = defaultdict(list)
    for row in sorted(context.coordinators, key=lambda row: row.log_offset):
        if row.leader != NONE:
            by_partition[row.partition].append(row)
    return sum(
        now.leader != before.leader for rows in by_partition.values() for before, now in pairwise(rows)
    )
