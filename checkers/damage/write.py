"""Writes a history in memory as the Parquet files that checkers/history/load.py reads."""

from collections.abc import Iterable
from functools import partial
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from typing import Any

from checkers.history.columnar import table_of
from checkers.history.rows import SINGLE_FILES, History, by_partition
from checkers.history.tables import (
    GROUP_ROWS,
    OPTIONAL,
    REPLICA_BATCHES,
    replica_path,
    unit_path,
    write_table,
)


def write(
    history: History, history_dir: Path, *, run: str = "", plain: bool = False, group_rows: int = GROUP_ROWS
) -> None:
    """Write every table of a history below a directory, which is made if it is not there.

    Of the OPTIONAL tables only those that the history has collected. `plain`: without compression;
    `group_rows` is the most rows of a row group of a bulk table.
    """
    put = partial(_write, run=run, plain=plain)
    for table, rows in (
        ("sends", history.sends),
        ("final_log", sorted(history.final_log, key=attrgetter("offset"))),
        ("reads", history.reads),
    ):
        rows_of = by_partition(rows)
        for tp in history.partitions:
            path = unit_path(history_dir, table, *tp)
            put(path, table, rows_of[tp], *tp, group_rows=group_rows)
    for table in SINGLE_FILES:
        if table in history.collected or table not in OPTIONAL:
            put(unit_path(history_dir, table), table, getattr(history, table))
    if REPLICA_BATCHES in history.collected:
        (history_dir / REPLICA_BATCHES).mkdir(parents=True, exist_ok=True)
        placed = sorted(history.replica_batches, key=lambda batch: (batch.tp, batch.broker))
        for (tp, broker), batches in groupby(placed, key=lambda batch: (batch.tp, batch.broker)):
            path = replica_path(history_dir, tp.topic, tp.partition, broker, 0)
            put(path, REPLICA_BATCHES, batches, *tp)


def _write(
    path: Path,
    table: str,
    rows: Iterable[Any],
    *place: Any,  # noqa: ANN401
    run: str,
    plain: bool,
    group_rows: int = GROUP_ROWS,
) -> None:
    write_table(path, table, table_of(table, rows), *place, run=run, plain=plain, group_rows=group_rows)
