"""One table of a run's history in memory, for notebooks: docs/history.md describes its columns."""

from pathlib import Path

import pyarrow as pa

from checkers.errors import CheckersError
from checkers.history.load import collected_tables, partitions, read_unit, replica_files
from checkers.history.tables import OPTIONAL, PARTITIONED, REPLICA_BATCHES, TABLES, unit_path
from harness.errors import HistoryError, UsageError


def read_table(history: Path, name: str) -> pa.Table:
    """All rows of a table, those of a bulk table in the order of its partitions.

    UsageError for a table that does not exist, or that this run has not collected; HistoryError for a file
    that is missing or damaged.
    """
    if name not in TABLES:
        raise UsageError(f"table: unknown {name!r}; allowed: {', '.join(sorted(TABLES))}")
    if name in OPTIONAL and name not in collected_tables(history):
        raise UsageError(f"table: {name!r} was not collected in this run")
    try:
        if name not in (*PARTITIONED, REPLICA_BATCHES):
            return read_unit(unit_path(history, name), name)
        units = [
            read_unit(path, name, *tp)
            for tp in partitions(history)
            for path in (
                replica_files(history, tp) if name == REPLICA_BATCHES else [unit_path(history, name, *tp)]
            )
        ]
    except CheckersError as error:
        raise HistoryError(str(error)) from None
    return pa.concat_tables([TABLES[name].empty_table(), *units])
