"""Writes a history in memory as the Parquet files that checkers/history/load.py reads."""

from collections.abc import Iterable
from operator import attrgetter
from pathlib import Path
from typing import Any

import pyarrow as pa

from checkers.history.rows import History
from checkers.history.tables import TABLES, unit_path, write_table


def write(history: History, history_dir: Path) -> None:
    """Write every table of a history below a directory, which is made if it is not there."""
    for tp in history.partitions:
        for table, rows in (
            ("sends", history.sends),
            ("final_log", sorted(history.final_log, key=attrgetter("offset"))),
            ("reads", history.reads),
        ):
            _write(history_dir, table, (row for row in rows if row.tp == tp), *tp)
    _write(history_dir, "watermarks", history.watermarks)
    _write(history_dir, "proofs", history.proofs)
    _write(history_dir, "faults", history.faults)
    _write(history_dir, "metadata", history.metadata)


def _write(history_dir: Path, table: str, rows: Iterable[Any], *place: Any) -> None:  # noqa: ANN401
    schema = TABLES[table]
    held = list(rows)
    columns = [
        pa.array([getattr(row, name) for row in held], schema.field(name).type) for name in schema.names
    ]
    path = unit_path(history_dir, table, *place)
    write_table(path, table, pa.Table.from_arrays(columns, schema=schema), *place)
