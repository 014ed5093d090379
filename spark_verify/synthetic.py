"""Large histories with the shape of a real run's, written fast: what the bench and the scale tests verify.

Every producer sends to every partition in turn; the order of the log is that of the appends; a
thousandth of the sends end as info (half of them written), a few fail; every partition is read once, in
order, by one of the readers. Nobody fails: each partition has one leader, and all replicas in sync. The
history is clean: no property is violated. A partition is made in stretches of 2M sends, which need about
500 MB; all records of one are invoked before those of the next.
"""

from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from checkers.history.tables import (
    GROUP_ROWS,
    NONE,
    PARTITIONED,
    TABLES,
    Outcome,
    open_writer,
    unit_path,
    write_table,
)

TOPIC = "bench"
Columns = dict[str, npt.NDArray[np.generic]]
_STRETCH = 2_000_000
_GAP_NS = 20_000
"""Between two sends to one partition: 50,000 a second."""
START_NS = 1_000_000_000_000
WALL_NS = 1_700_000_000_000_000_000
"""The wall clock at START_NS."""
NODES = [1, 2, 3]
_ANSWER_NS = 20_000_000
"""How long a sample takes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """How large a history is, and how it is divided."""

    sends: int
    partitions: int = 8
    producers: int = 8
    readers: int = 2
    seed: int = 1


def write_history(directory: Path, shape: Shape) -> None:
    """Write a clean history of `shape` below `directory`."""
    directory.mkdir(parents=True, exist_ok=True)
    ends = [_write_partition(directory, shape, partition) for partition in range(shape.partitions)]
    _write_proofs(directory, ends)
    _write_watermarks(directory, shape, ends)
    _write_control_plane(directory, shape)
    write_table(unit_path(directory, "faults"), "faults", TABLES["faults"].empty_table())


def _write_partition(directory: Path, shape: Shape, partition: int) -> int:
    """Write the three files of one partition; returns its log end offset."""
    rng = np.random.default_rng([shape.seed, partition])
    count = shape.sends // shape.partitions + (partition < shape.sends % shape.partitions)
    end = 0
    with ExitStack() as stack:
        files = {table: stack.enter_context(_File(directory, table, partition)) for table in PARTITIONED}
        for begin in range(0, max(count, 1), _STRETCH):
            turn = np.arange(begin, min(begin + _STRETCH, count))
            stretch = _stretch(shape, partition, turn, end, rng)
            for table, columns in stretch.items():
                files[table].write(columns)
            end += len(stretch["final_log"]["offset"])
    return end


def _stretch(
    shape: Shape, partition: int, turn: npt.NDArray[np.int64], first_offset: int, rng: np.random.Generator
) -> dict[str, Columns]:
    """Some sends to a partition, by their turns, and what came of them, from an offset on."""
    count = len(turn)
    producer = turn % shape.producers
    sequence = turn // shape.producers * shape.partitions + partition
    invoked = START_NS + turn * _GAP_NS + rng.integers(0, _GAP_NS, count)
    slowness = rng.integers(500_000, 3_000_000, shape.producers)
    appended = invoked + slowness[producer]
    completed = appended + rng.integers(500_000, 8_000_000, count)
    checksum = rng.integers(0, 1 << 32, count)
    fate = rng.integers(0, 2000, count)
    written = (fate >= 2) | (fate == 1)
    outcome = np.where(fate < 2, Outcome.INFO, np.where(fate == 2, Outcome.FAIL, Outcome.OK))
    written &= outcome != Outcome.FAIL

    order = np.flatnonzero(written)
    order = order[np.argsort(appended[order], kind="stable")]
    offset = np.full(count, NONE)
    offset[order] = first_offset + np.arange(order.size)
    ok = outcome == Outcome.OK

    by_completion = np.argsort(completed, kind="stable")
    sends: Columns = {
        "producer": producer,
        "sequence": sequence,
        "invoked_ns": invoked,
        "completed_ns": np.where(outcome == Outcome.INFO, NONE, completed),
        "outcome": outcome,
        "offset": np.where(ok, offset, NONE),
        "checksum": checksum,
    }
    sends = {name: column[by_completion] for name, column in sends.items()}
    log: Columns = {
        "offset": first_offset + np.arange(order.size),
        "leader_epoch": np.zeros(order.size, np.int32),
        "producer": producer[order],
        "sequence": sequence[order],
        "checksum": checksum[order],
    }
    reads = log | {
        "reader": np.full(order.size, partition % shape.readers, np.int32),
        "generation": np.ones(order.size, np.int32),
        "read_ns": np.maximum.accumulate(completed[order]) + 1_000_000,
    }
    return {
        "sends": sends | {"error": np.where(ok[by_completion], "", "timed out")},
        "final_log": log | {"timestamp_ms": appended[order] // 1_000_000},
        "reads": reads,
    }


class _File:
    """One partition's file of a bulk table, that gets its name when it is whole."""

    def __init__(self, directory: Path, table: str, partition: int) -> None:
        self._table, self._partition = table, partition
        self._path = unit_path(directory, table, TOPIC, partition)
        self._writer = open_writer(self._path.with_suffix(".growing"), table, TOPIC, partition)

    def __enter__(self) -> "_File":
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._writer.close()
        if kind is None:
            self._path.with_suffix(".growing").rename(self._path)

    def write(self, columns: Columns) -> None:
        """Add rows."""
        rows = len(next(iter(columns.values())))
        place = {
            "topic": pa.DictionaryArray.from_arrays(pa.array(np.zeros(rows, np.int32)), [TOPIC]),
            "partition": pa.array(np.full(rows, self._partition, np.int32)),
        }
        table = pa.table(place | {name: pa.array(column) for name, column in columns.items()})
        schema = self._writer.schema
        self._writer.write_table(table.select(schema.names).cast(schema), row_group_size=GROUP_ROWS)


def _write_proofs(directory: Path, ends: list[int]) -> None:
    rows = [
        {
            "topic": TOPIC,
            "partition": partition,
            "at_ns": START_NS * 2,
            "log_start": 0,
            "high_watermark": end,
            "last_stable": end,
            "log_end": end,
            "read_to": end,
            "committed_to": NONE,
            "replicas": NODES,
            "isr": NODES,
            "complete": True,
            "reason": "",
        }
        for partition, end in enumerate(ends)
    ]
    write_rows(directory, "proofs", rows)


def _write_watermarks(directory: Path, shape: Shape, ends: list[int], samples: int = 600) -> None:
    """`samples` of each partition over the whole run, the last one at its end."""
    span = shape.sends // shape.partitions * _GAP_NS
    rows = [
        {
            "at_ns": START_NS + span * sample // samples,
            "topic": TOPIC,
            "partition": partition,
            "leader": 1 + partition % len(NODES),
            "leader_epoch": 0,
            "isr": NODES,
            "log_start": 0,
            "high_watermark": end * sample // samples,
            "last_stable": end * sample // samples,
            "asked_ns": START_NS + span * sample // samples - _ANSWER_NS,
        }
        for sample in range(samples + 1)
        for partition, end in enumerate(ends)
    ]
    write_rows(directory, "watermarks", rows)


def _write_control_plane(directory: Path, shape: Shape) -> None:
    """One state of each partition, since before the first send; what the producers asked for; the clocks."""
    states = [
        {
            "at_ms": WALL_NS // 1_000_000 - 1,
            "topic": TOPIC,
            "partition": partition,
            "leader": 1 + partition % len(NODES),
            "leader_epoch": 0,
            "partition_epoch": 0,
            "replicas": NODES,
            "isr": NODES,
            "elr": [],
            "last_known_elr": [],
            "log_offset": 100 + partition,
            "recovering": False,
            "controller": NONE,
        }
        for partition in range(shape.partitions)
    ]
    nowhere = dict.fromkeys(("at_ms", "log_offset", "controller"), NONE)
    setting = {**nowhere, "kind": "reported", "name": TOPIC, "removed": False}
    clocks = [START_NS + shape.sends // shape.partitions * _GAP_NS * part // 10 for part in range(11)]
    write_rows(directory, "metadata", states)
    write_rows(directory, "configs", [setting | {"key": "min.insync.replicas", "value": "2"}])
    write_rows(
        directory,
        "producers",
        [{"producer": number, "acks": "all", "idempotence": True} for number in range(shape.producers)],
    )
    write_rows(directory, "clocks", [_reading(at_ns) for at_ns in clocks])


def _reading(at_ns: int) -> dict[str, int]:
    wall_ns = at_ns - START_NS + WALL_NS
    return {"at_ns": at_ns, "wall_ns": wall_ns, "engine_ns": wall_ns, "error_ns": 100_000}


def write_rows(directory: Path, table: str, rows: list[dict[str, Any]]) -> None:
    """Write a table of one file."""
    write_table(unit_path(directory, table), table, pa.Table.from_pylist(rows, schema=TABLES[table]))
