"""Injects every kind of anomaly into a large synthetic history, some hundreds of each: the bench compares the
counts of two engines on it.

Each partition gets another damage; the arrays of one file are changed and written back.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from checkers.history.tables import NONE, TABLES, Outcome, unit_path, write_table
from spark_verify.synthetic import TOPIC

Arrays = dict[str, npt.NDArray[Any]]
Change = Callable[[Arrays], Arrays]

SOME = 300
"""How many records each damage touches."""


def inject_damage(directory: Path, *, seed: int = 1) -> None:
    """Damage a history of 8 partitions in place, one kind of damage for each."""
    rng = np.random.default_rng(seed)

    def some(rows: Arrays, wanted: npt.NDArray[np.bool_] | None = None) -> npt.NDArray[np.int64]:
        among = np.arange(len(rows["offset"])) if wanted is None else np.flatnonzero(wanted)
        return np.sort(rng.choice(among, SOME, replace=False))

    def lose(rows: Arrays) -> Arrays:
        keep = np.ones(len(rows["offset"]), bool)
        keep[some(rows)] = False
        return {name: column[keep] for name, column in rows.items()}

    def truncate(rows: Arrays) -> Arrays:
        return {name: column[: -10 * SOME] for name, column in rows.items()}

    def alter(rows: Arrays) -> Arrays:
        rows["checksum"][some(rows)] += 1
        return rows

    def move(rows: Arrays) -> Arrays:
        """Exchange the records at pairs of distant places."""
        at = some(rows)
        for name in set(rows) - {"offset"}:
            rows[name][at] = rows[name][at[::-1]]
        return rows

    def deny(rows: Arrays) -> Arrays:
        rows["outcome"][some(rows, rows["outcome"] == Outcome.OK)] = Outcome.FAIL
        return rows

    def forget(rows: Arrays) -> Arrays:
        """The last acks came without an offset; some of their records are lost with the tail."""
        rows["offset"][rows["offset"] > rows["offset"].max() - 20 * SOME] = NONE
        return rows

    def repeat(rows: Arrays) -> Arrays:
        """Some reads are given twice, some not at all."""
        times = np.ones(len(rows["offset"]), int)
        times[some(rows)] = 2
        times[some(rows)] = 0
        return {name: np.repeat(column, times) for name, column in rows.items()}

    _change(directory, "final_log", 0, lose)
    _change(directory, "final_log", 1, truncate)
    _lower_proof(directory, 1, 10 * SOME)
    _change(directory, "final_log", 2, alter)
    _change(directory, "final_log", 3, move)
    _change(directory, "sends", 4, deny)
    _change(directory, "sends", 5, forget)
    _change(directory, "final_log", 5, truncate)
    _lower_proof(directory, 5, 10 * SOME)
    _change(directory, "reads", 6, repeat)
    _change(directory, "reads", 6, alter)
    _copy_across(directory, 6, 7)


def _change(directory: Path, table: str, partition: int, change: Change) -> None:
    path = unit_path(directory, table, TOPIC, partition)
    rows = pq.read_table(path, partitioning=None)
    ours = [name for name in rows.column_names if name not in ("topic", "error")]
    arrays = change({name: rows[name].to_numpy().copy() for name in ours})
    count = len(arrays["partition"])
    columns = {name: pa.array(column) for name, column in arrays.items()}
    columns |= {"topic": pa.array([TOPIC] * count), "error": pa.array([""] * count)}
    write_table(path, table, pa.table(columns), TOPIC, partition)


def _copy_across(directory: Path, source: int, target: int) -> None:
    """Put copies of the first records of one partition behind the last of another, and raise its high
    watermark."""
    rows = pq.read_table(unit_path(directory, "final_log", TOPIC, source), partitioning=None).slice(0, SOME)

    def append(arrays: Arrays) -> Arrays:
        more = {name: rows[name].to_numpy() for name in arrays}
        more["offset"] = arrays["offset"][-1] + 1 + np.arange(SOME)
        more["partition"] = np.full(SOME, target, np.int32)
        return {name: np.concatenate([arrays[name], more[name]]) for name in arrays}

    _change(directory, "final_log", target, append)
    _lower_proof(directory, target, -SOME)


def _lower_proof(directory: Path, partition: int, by: int) -> None:
    path = unit_path(directory, "proofs")
    proofs = pq.read_table(path).to_pylist()
    for name in ("high_watermark", "last_stable", "log_end", "read_to"):
        proofs[partition][name] -= by
    write_table(path, "proofs", pa.Table.from_pylist(proofs, schema=TABLES["proofs"]))
