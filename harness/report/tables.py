"""One table of a run's history in memory, for notebooks: docs/history.md describes its columns."""

from pathlib import Path

import pyarrow as pa

from checkers.errors import CheckersError
from checkers.history.load import partitions, read_unit
from checkers.history.tables import PARTITIONED, TABLES, unit_path
from harness.errors import HistoryError, UsageError


def read_table(history: Path, name: str) -> pa.Table:
    """All rows of a table, those of a bulk table in the order of its partitions.

    UsageError for a table that does not exist; HistoryError for a file that is missing or damaged.
    """
    if name not in TABLES:
        raise UsageError(f"table: unknown {name!r}; allowed: {', '.join(sorted(TABLES))}")
    try:
        if name not in PARTITIONED:
            return read_unit(unit_path(history, name), name)
        units = [read_unit(unit_path(history, name, *tp), name, *tp) for tp in partitions(history)]
    except CheckersError as error:
        raise HistoryError(str(error)) from None
    return pa.concat_tables([TABLES[name].empty_table(), *units])
