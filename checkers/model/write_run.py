"""A simulated history as the Parquet files of a run directory, for the Spark implementation."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from checkers.history.columnar import table_of
from checkers.history.rows import SINGLE_FILES, History, TopicPartition
from checkers.history.tables import (
    PARTITIONED,
    REPLICA_BATCHES,
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
            write_table(unit_path(directory, table), table, table_of(table, rows), run=run)
    for tp in history.partitions:
        for table in PARTITIONED:
            rows = _of(getattr(history, table), tp)
            write_table(unit_path(directory, table, *tp), table, table_of(table, rows), *tp, run=run)
        if REPLICA_BATCHES in history.collected:
            _write_replicas(directory, history, tp, run)


def _write_replicas(directory: Path, history: History, tp: TopicPartition, run: str) -> None:
    batches = _of(history.replica_batches, tp)
    for broker in sorted({replica.broker for replica in history.replicas if replica.tp == tp}):
        rows = [batch for batch in batches if batch.broker == broker]
        path = replica_path(directory, *tp, broker, 0)
        path.parent.mkdir(parents=True, exist_ok=True)
        write_table(path, REPLICA_BATCHES, table_of(REPLICA_BATCHES, rows), *tp, run=run)


def _of(rows: Iterable[Any], tp: TopicPartition) -> list[Any]:
    return [row for row in rows if row.topic == tp.topic and row.partition == tp.partition]
