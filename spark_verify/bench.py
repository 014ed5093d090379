"""How long a verdict takes, against DuckDB SQL that decides the same on the same files.

Cold is a new process from its start to the counts, Spark's session included; warm is a session (a connection)
that has verified before. Both sides use all cores. That both decide the same is shown first, on a small
history with known damage: what does not agree is no peer, and AssertionError says where.
"""

import json
import os
import statistics
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from checkers.history import unit_path, write_table
from checkers.judgement import Property
from compose.shell import run
from spark_verify import peer_sql
from spark_verify.session import session
from spark_verify.synthetic import TOPIC, Shape, write_history
from spark_verify.verify import verify

SIZES = (1_000_000, 10_000_000)
COLD_TARGET, WARM_TARGET = 2.0, 0.5
TARGETED = 10_000_000
"""The targets are promised at this size; the smaller one is reported without."""
ROUNDS = 3
COLD_S = 600.0
AGREE_SENDS = 20_000

_SPARK = (
    "import sys; from pathlib import Path; from spark_verify.bench import spark_counts; "
    "spark_counts(Path(sys.argv[1]))"
)
_DUCKDB = (
    "import sys; from pathlib import Path; from spark_verify.bench import duckdb_counts; "
    "duckdb_counts(Path(sys.argv[1]))"
)


def bench_verifier(sizes: Sequence[int] = SIZES) -> list[dict[str, Any]]:
    """Measure every size cold and warm; a line each: {name, value, unit, peer, …, target, met}."""
    with tempfile.TemporaryDirectory(prefix="highwater-bench-") as scratch:
        _agree(Path(scratch) / "damaged")
        return [line for sends in sizes for line in _measure(Path(scratch) / str(sends), sends)]


def spark_counts(history: Path) -> Counter[Property]:
    """Anomalies of each property, by a session of its own."""
    with session() as spark:
        return Counter(anomaly.property for anomaly in verify(history, spark).anomalies)


def duckdb_counts(history: Path) -> Counter[Property]:
    """Anomalies of each property, by a connection of its own."""
    return Counter(peer_sql.count_anomalies(peer_sql.connect(os.cpu_count() or 1), history))


def _measure(history: Path, sends: int) -> list[dict[str, Any]]:
    write_history(history, Shape(sends=sends))
    cold = [(_process(_SPARK, history), _process(_DUCKDB, history)) for _ in range(ROUNDS)]
    warm = _warm(history)
    targets = (COLD_TARGET, WARM_TARGET) if sends == TARGETED else (None, None)
    name = f"{sends // 1_000_000}M sends"
    return [
        _line(f"verdict on {name}, cold process", cold, targets[0]),
        _line(f"verdict on {name}, warm session", warm, targets[1]),
    ]


def _process(program: str, history: Path) -> float:
    begin = time.monotonic()
    run([sys.executable, "-c", program, str(history)], timeout_s=COLD_S)
    return time.monotonic() - begin


def _warm(history: Path) -> list[tuple[float, float]]:
    """Both in turns, after one round that does not count."""
    connection = peer_sql.connect(os.cpu_count() or 1)
    with session() as spark:
        turns = [
            (
                _seconds(lambda: verify(history, spark)),
                _seconds(lambda: peer_sql.count_anomalies(connection, history)),
            )
            for _ in range(ROUNDS + 1)
        ]
    return turns[1:]


def _seconds(do: Callable[[], object]) -> float:
    begin = time.monotonic()
    do()
    return time.monotonic() - begin


def _line(name: str, turns: Sequence[tuple[float, float]], target: float | None) -> dict[str, Any]:
    ours, theirs = (statistics.median(each) for each in zip(*turns, strict=True))
    ratio = round(ours / theirs, 3)
    return {
        "name": name,
        "value": round(ours, 2),
        "unit": "s",
        "peer": "DuckDB SQL",
        "peer_value": round(theirs, 2),
        "ratio": ratio,
        "target": target,
        "met": None if target is None else ratio <= target,
    }


def _agree(history: Path) -> None:
    """Damage a small history in known places; both sides must count the same, and something."""
    write_history(history, Shape(sends=AGREE_SENDS))
    _damage(history)
    ours = {each: n for each, n in spark_counts(history).items() if n}
    theirs = {each: n for each, n in duckdb_counts(history).items() if n}
    assert ours == theirs, f"the peers disagree: {json.dumps([ours, theirs])}"
    assert len(ours) > 4, f"the damage was hardly seen: {ours}"


def _damage(history: Path) -> None:
    """Lose records of partition 0, damage a payload of 1, put a late record early in 2."""
    _edit(history, 0, lambda log: log.filter(pc.less(pc.bit_wise_and(log["offset"], 255), 250)))
    _edit(history, 1, lambda log: _replaced(log, "checksum", 7, 42))
    last = AGREE_SENDS // 16
    _edit(history, 2, lambda log: _swapped(log, 100, last))


def _edit(history: Path, partition: int, change: Callable[[pa.Table], pa.Table]) -> None:
    path = unit_path(history, "final_log", TOPIC, partition)
    write_table(path, "final_log", change(pq.read_table(path)), TOPIC, partition)


def _replaced(log: pa.Table, column: str, row: int, value: int) -> pa.Table:
    values = log[column].to_pylist()
    values[row] = value
    return log.set_column(log.column_names.index(column), column, pa.array(values, log[column].type))


def _swapped(log: pa.Table, one: int, other: int) -> pa.Table:
    """Exchange two records; the offsets stay."""
    for column in ("producer", "sequence", "checksum"):
        a, b = log[column][one].as_py(), log[column][other].as_py()
        log = _replaced(_replaced(log, column, one, b), column, other, a)
    return log
