"""What a metadata log says of one run on a cluster that was there before: of its topics, of its time.

Invariant: the tables of a run are those that a cluster of its own would have left, but for what came before
its first topic: then they have each broker's registration and each cluster-wide setting once, as it was, and
no append but the one of that topic.
Evidence: the order of the log; the names of the run's topics, which no other run on the cluster has.
Counterexample to "all registrations of the log are the run's":
    an earlier run killed broker 2, which registered anew; in this run nobody dies
    two registrations of broker 2 are in the table, and a loss would be explained by an unclean shutdown
"""

from bisect import bisect_right
from collections.abc import Callable, Collection, Hashable, Iterable, Sequence
from dataclasses import replace
from operator import attrgetter
from typing import TypeVar

from checkers.history.metadata_log.replay import MetadataTables
from checkers.history.rows import BrokerState, ConfigChange, MetadataAppend, MetadataChange

Row = TypeVar("Row", BrokerState, ConfigChange, MetadataChange)


def states_since(
    tables: MetadataTables, topics: Collection[str], shared: Collection[str] = ()
) -> MetadataTables:
    """The rows of `topics`; and of brokers, cluster-wide settings and `shared` topics, which all runs on a
    cluster have, from the first of them on.

    What a broker's registration, a setting or a shared partition was by then is one row, as last written.
    """
    metadata = tuple(row for row in tables.metadata if row.topic in topics)
    began = min((row.log_offset for row in metadata), default=0)
    of_all = _since((row for row in tables.metadata if row.topic in shared), began, lambda row: row.tp)
    configs = (row for row in tables.configs if row.kind != "topic" or row.name in topics)
    return replace(
        tables,
        metadata=tuple(sorted((*metadata, *of_all), key=lambda row: row.log_offset)),
        brokers=_since(tables.brokers, began, lambda row: row.node),
        configs=_since(configs, began, lambda row: (row.kind, row.name, row.key)),
        appends=appends_since(tables.appends, began),
    )


def appends_since(appends: Sequence[MetadataAppend], log_offset: int) -> tuple[MetadataAppend, ...]:
    """The append that has the record at an offset, and all behind it; `appends` in the order of the log."""
    return tuple(appends[max(0, bisect_right(appends, log_offset, key=attrgetter("log_offset")) - 1) :])


def _since(rows: Iterable[Row], began: int, of: Callable[[Row], Hashable]) -> tuple[Row, ...]:
    """The last row of each thing before `began`, then all rows from there on; in the order of the log."""
    earlier: dict[Hashable, Row] = {}
    later: list[Row] = []
    for row in rows:
        if row.log_offset >= began:
            later.append(row)
        else:
            earlier.pop(of(row), None)  # so that the order is that of the last rows
            earlier[of(row)] = row
    first: list[Row] = sorted(earlier.values(), key=lambda row: row.log_offset)
    return tuple(first + later)
