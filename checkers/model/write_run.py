"""A simulated history as the Parquet files of a run directory, for the Spark implementation."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from checkers.history.rows import SINGLE_FILES, History, TopicPartition
from checkers.history.tables import (
    PARTITIONED,
    REPLICA_BATCHES,
    TABLES,
    replica_path,
    unit_path,
    write_table,
)
from checkers.model.truth import Simulated


def write_run(simulated: Simulated, folder: Path, *, run: str = "simulated") -> None:
    """Write `folder`/history; every file carries the run's id `run`. Optional tables: those collected."""
    history, directory = simulated.history, folder / "history"
    for table in SINGLE_FILES:
        rows = getattr(history, table)
        if table in history.collected or table in ("watermarks", "proofs", "faults", "metadata"):
            write_table(unit_path(directory, table), table, _table(table, rows), run=run)
    for tp in history.partitions:
        for table in PARTITIONED:
            rows = _of(getattr(history, table), tp)
            write_table(unit_path(directory, table, *tp), table, _table(table, rows), *tp, run=run)
        if REPLICA_BATCHES in history.collected:
            _write_replicas(directory, history, tp, run)


def _write_replicas(directory: Path, history: History, tp: TopicPartition, run: str) -> None:
    batches = _of(history.replica_batches, tp)
    for broker in sorted({replica.broker for replica in history.replicas if replica.tp == tp}):
        rows = [batch for batch in batches if batch.broker == broker]
        path = replica_path(directory, *tp, broker, 0)
        path.parent.mkdir(parents=True, exist_ok=True)
        write_table(path, REPLICA_BATCHES, _table(REPLICA_BATCHES, rows), *tp, run=run)


def _of(rows: Iterable[Any], tp: TopicPartition) -> list[Any]:
    return [row for row in rows if row.topic == tp.topic and row.partition == tp.partition]


def _table(table: str, rows: Sequence[Any]) -> pa.Table:
    schema = TABLES[table]
    return pa.table(
        [pa.array([_plain(getattr(row, one.name)) for row in rows], one.type) for one in schema],
        schema=schema,
    )


def _plain(value: object) -> object:
    return list(value) if isinstance(value, tuple) else value
