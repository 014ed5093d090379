"""Reads a history directory and trusts nothing in it: every defect is a MalformedHistory that names its file.

`read_unit` is the one way into a file, for Spark workers too: what it returns has the columns, types and
order that `tables` promises. `load` builds the whole in memory, for the reference and for small runs.
"""

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from checkers.errors import MalformedHistory
from checkers.history.clocks.true_times import on_engines_clock
from checkers.history.columnar import Rows
from checkers.history.rows import ROW_OF, SINGLE_FILES, Context, History, Proof, Send, TopicPartition
from checkers.history.tables import (
    NONE,
    OPTIONAL,
    PARTITIONED,
    REPLICA_BATCHES,
    RUN_KEY,
    SCHEMA_VERSION,
    TABLE_KEY,
    TABLES,
    VERSION_KEY,
    Outcome,
    place_stamp,
    unit_path,
)
from checkers.history.upgrade import minor_of, schema_at, upgrade
from checkers.places import Place, open_parquet

LAST_NS = 1 << 62
"""Later than any time of a run on any clock; sums and differences of two times still are int64."""
PARALLEL = {"faults": ("down", "down_ns", "up_ns"), "replicas": ("epochs", "epoch_starts")}
"""By table: columns whose lists have an entry for each of the same things."""
SHOWN = 40
"""Characters of a wrong value that a message repeats."""
_EDGE = re.compile(r"(client|[0-9]{1,9})->(client|[0-9]{1,9})")
_NUMBER = re.compile(r"\s*[+-]?[0-9]{1,19}\s*")
_NUMBERS = ("min.insync.replicas", "flush.messages", "log.flush.interval.messages")
"""Settings of the metadata log that are read as numbers, as the levels of features are."""
SAMPLES = ("watermarks", "replica_offsets", "transaction_reads", "metadata_appends")
"""The tables of one file that grow with the length of a run: their rows stay in columns."""


def load(history_dir: Place) -> History:
    """The whole history in memory, checked; raises MalformedHistory."""
    context = load_context(history_dir)
    bulk: dict[str, Any] = {
        table: [row for tp in context.partitions for row in _rows(history_dir, table, tp)]
        for table in PARTITIONED
    }
    _refuse_reused_ids(history_dir / "sends", bulk["sends"])
    batches = [
        ROW_OF[REPLICA_BATCHES](**row)
        for tp in context.partitions
        for path in replica_files(history_dir, tp)
        for row in read_unit(path, REPLICA_BATCHES, *tp).to_pylist()
    ]
    small: dict[str, Any] = {
        name: getattr(context, name) for name in ("partitions", "collected", "unplaced", *SINGLE_FILES)
    }
    return History(**small, **bulk, replica_batches=batches)


def load_context(history_dir: Place) -> Context:
    """The tables of one file and the list of partitions; raises MalformedHistory. Opens no bulk file.

    What nodes dated by their own clocks has the engine's time, also where a fault had set one of them.
    """
    found, proofs = load_proofs(history_dir)
    collected = collected_tables(history_dir)
    tables: dict[str, Any] = {
        table: _samples(history_dir, table) if table in SAMPLES else tuple(_rows(history_dir, table))
        for table in SINGLE_FILES
        if table != "proofs" and (table in collected or table not in OPTIONAL)
    }
    context = Context(partitions=found, collected=collected, proofs=proofs, **tables)
    try:
        return on_engines_clock(context)
    except ValueError as error:
        raise MalformedHistory(unit_path(history_dir, "faults"), str(error)) from None


def collected_tables(history_dir: Place) -> frozenset[str]:
    """Which of the OPTIONAL tables the history has."""
    return frozenset(
        table
        for table in OPTIONAL
        if (
            (history_dir / table).is_dir()
            if table == REPLICA_BATCHES
            else unit_path(history_dir, table).exists()
        )
    )


def replica_files(history_dir: Place, tp: TopicPartition) -> list[Place]:
    """The files of a partition's replica batches, by broker and then in the order of the log.

    Raises MalformedHistory for a name that is not <broker>-<piece>.parquet.
    """
    return sorted((history_dir / REPLICA_BATCHES / str(tp)).glob("*.parquet"), key=_broker_and_piece)


def _broker_and_piece(path: Place) -> tuple[int, int]:
    broker, _, piece = path.stem.partition("-")
    if not (broker.isdecimal() and piece.isdecimal()):
        raise MalformedHistory(path, "not named <broker>-<piece>.parquet")
    return int(broker), int(piece)


def load_proofs(history_dir: Place) -> tuple[tuple[TopicPartition, ...], tuple[Proof, ...]]:
    """Which partitions there are, and how their final reads ended; raises MalformedHistory."""
    proofs = tuple(_rows(history_dir, "proofs"))
    found = partitions(history_dir)
    _check_proofs(unit_path(history_dir, "proofs"), proofs, found)
    return found, proofs


def partitions(history_dir: Place) -> tuple[TopicPartition, ...]:
    """Every partition that has a bulk file, sorted; one that lacks a file of any bulk table is malformed."""
    found = {table: set(_units(history_dir, table)) for table in PARTITIONED}
    every = sorted(set().union(*found.values()))
    for tp in every:
        for table in PARTITIONED:
            if tp not in found[table]:
                raise MalformedHistory(
                    unit_path(history_dir, table, *tp), "missing, though the partition has other files"
                )
    return tuple(every)


def read_unit(
    path: Place,
    table: str,
    topic: str | None = None,
    partition: int | None = None,
    columns: Sequence[str] | None = None,
) -> pa.Table:
    """One file of a history, checked, with the columns of TABLES[table] (or those asked for) and no null.

    Raises MalformedHistory for a file that is missing, truncated, not Parquet, not of this table,
    partition or schema version, with other columns or types, or whose rows break the schema's promises.
    A file of an older minor version gets the columns that it lacks, see `upgrade`.
    """
    file, minor = _checked(path, table, topic, partition)
    is_older = schema_at(table, minor) != TABLES[table]
    with reading(path):
        rows = file.read(columns=list(columns) if columns and not is_older else None, use_threads=False)
    _check_rows(path, table, rows, topic, partition)
    rows = rows.replace_schema_metadata()
    if not is_older:
        return rows
    return upgrade(table, minor, rows).select(columns or TABLES[table].names)


def read_groups(
    path: Place,
    table: str,
    topic: str | None = None,
    partition: int | None = None,
    columns: Sequence[str] | None = None,
) -> Iterator[pa.Table]:
    """The same, a row group at a time; raises as `read_unit`, while it is read."""
    file, minor = _checked(path, table, topic, partition)
    if schema_at(table, minor) != TABLES[table]:
        yield read_unit(path, table, topic, partition, columns)
        return
    for number in range(file.num_row_groups):
        with reading(path):
            rows = file.read_row_group(number, columns=list(columns) if columns else None, use_threads=False)
        _check_rows(path, table, rows, topic, partition)
        yield rows.replace_schema_metadata()


@contextmanager
def reading(path: Place) -> Iterator[None]:
    """What cannot be read in a file is damage of that file: raises MalformedHistory."""
    try:
        yield
    except (pa.ArrowException, OSError, ValueError) as error:
        raise MalformedHistory(path, f"cannot be read: {_first_line(error)}") from None


def open_unit(
    path: Place, table: str, topic: str | None = None, partition: int | None = None
) -> pq.ParquetFile:
    """One file with its footer checked and nothing read yet, to be read batch by batch.

    Raises MalformedHistory as `read_unit` does, but for what only the rows show: the caller checks those.
    """
    return _checked(path, table, topic, partition)[0]


def run_of(path: Place) -> str:
    """The id of the run that a file belongs to; "" for one that was written before files had it.

    Raises MalformedHistory if the file is missing, truncated or not Parquet.
    """
    return _stamp(_open(path).schema_arrow).get(RUN_KEY, "")


def minor_version_of(path: Place, table: str) -> int:
    """The minor version of the schema that a table of one file was written at; raises MalformedHistory as
    `open_unit` does."""
    return _checked(path, table, None, None)[1]


def rows_of(path: Place) -> int:
    """How many rows a file has by its footer; raises MalformedHistory as `run_of` does."""
    return int(_open(path).metadata.num_rows)


def _checked(path: Place, table: str, topic: str | None, partition: int | None) -> tuple[pq.ParquetFile, int]:
    """The file with its footer checked, and the minor version of the schema that it was written at."""
    file = _open(path)
    return file, _check_footer(path, file.schema_arrow, place_stamp(table, topic, partition))


def _open(path: Place) -> pq.ParquetFile:
    try:
        if path.is_file():
            return open_parquet(path)
        raise MalformedHistory(path, "missing")
    except PermissionError:
        raise MalformedHistory(path, "cannot be read: permission denied") from None
    except (pa.ArrowException, OSError, ValueError) as error:
        raise MalformedHistory(path, f"truncated, or not Parquet: {_first_line(error)}") from None


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]


def _stamp(schema: pa.Schema) -> dict[str, str]:
    return {key.decode(): value.decode(errors="replace") for key, value in (schema.metadata or {}).items()}


def _check_footer(path: Place, found: pa.Schema, stamped: Mapping[str, str]) -> int:
    """The minor version of the schema that the file has: its columns are those of it. `stamped` is what its
    metadata must say."""
    stamp = _stamp(found)
    version = stamp.get(VERSION_KEY)
    if version is None:
        raise MalformedHistory(path, f"a foreign file: its metadata has no {VERSION_KEY}")
    minor = minor_of(version)
    if minor is None:
        raise MalformedHistory(path, f"schema version {version}; this tool reads {SCHEMA_VERSION}")
    for key, expected in stamped.items():
        if stamp.get(key) != expected:
            raise MalformedHistory(path, f"{key} is {stamp.get(key)!r}, expected {expected!r}")
    wanted = schema_at(stamp[TABLE_KEY], minor)
    if found.equals(wanted):
        return minor
    if found.names != wanted.names:
        raise MalformedHistory(path, f"wrong columns: {_difference(found.names, wanted.names)}")
    for column in wanted:
        if not found.field(column.name).type.equals(column.type):
            kind = found.field(column.name).type
            raise MalformedHistory(path, f"column {column.name} is {kind}, expected {column.type}")
    return minor


def _difference(found: list[str], wanted: list[str]) -> str:
    missing, foreign = sorted(set(wanted) - set(found)), sorted(set(found) - set(wanted))
    if not missing and not foreign:
        return f"expected the order {', '.join(wanted)}"
    return "; ".join(
        f"{word} {', '.join(names)}" for word, names in (("missing", missing), ("unknown", foreign)) if names
    )


def _check_rows(path: Place, table: str, rows: pa.Table, topic: str | None, partition: int | None) -> None:
    for name, column in zip(rows.column_names, rows.columns, strict=True):
        if column.null_count:
            raise MalformedHistory(path, f"column {name} has {column.null_count} nulls")
    if table in (*PARTITIONED, REPLICA_BATCHES):
        for name, expected in (("topic", topic), ("partition", partition)):
            _check_constant(path, rows, name, expected)
    if table == "final_log" and "offset" in rows.column_names:
        _check_ascending(path, rows["offset"])
    if table == "sends" and "outcome" in rows.column_names:
        _check_outcomes(path, rows["outcome"])
    if table not in (*PARTITIONED, REPLICA_BATCHES):
        _check_places_in_time(path, rows)
    if table in PARALLEL and set(PARALLEL[table]) <= set(rows.column_names):
        _check_parallel(path, rows.select(PARALLEL[table]))
    if table == "faults" and "edges" in rows.column_names:
        _check_edges(path, rows["edges"])
    if table == "configs" and {"kind", "key", "value", "removed"} <= set(rows.column_names):
        _check_numbers(path, rows)


def _check_constant(path: Place, rows: pa.Table, name: str, expected: object) -> None:
    if name not in rows.column_names:
        return
    others = [value for value in pc.unique(rows[name]).to_pylist() if value != expected]
    if others:
        raise MalformedHistory(path, f"a row has {name} {others[0]!r}, the file is of {expected!r}")


def _check_ascending(path: Place, offsets: pa.ChunkedArray) -> None:
    if len(offsets) and offsets[0].as_py() < 0:
        raise MalformedHistory(path, f"offset {offsets[0].as_py()} is negative")
    rises = pc.greater(offsets.slice(1), offsets.slice(0, max(0, len(offsets) - 1)))
    if not pc.all(rises, min_count=0).as_py():
        row = pc.index(rises, False).as_py() + 1
        raise MalformedHistory(
            path, f"offsets do not ascend: {offsets[row - 1]} then {offsets[row]} at row {row}"
        )


def _check_outcomes(path: Place, outcomes: pa.ChunkedArray) -> None:
    for value in pc.unique(outcomes).to_pylist():
        if value not in list(Outcome):
            raise MalformedHistory(path, f"outcome {value} is none of 0 ok, 1 fail, 2 info")


def _check_places_in_time(path: Place, rows: pa.Table) -> None:
    """Times are such as one can reckon with; offsets of the metadata log are -1, or from 0 on."""
    for name, column in zip(rows.column_names, rows.columns, strict=True):
        if not name.endswith(("_ns", "at_ms", "log_offset")):
            continue
        values = pc.list_flatten(column) if pa.types.is_list(column.type) else column
        span = pc.min_max(values)
        for value in (span["min"].as_py(), span["max"].as_py()):
            first = NONE if name == "log_offset" else -LAST_NS
            if value is not None and not first <= value < LAST_NS:
                raise MalformedHistory(path, f"{name} is {value} in some row")


def _check_parallel(path: Place, lists: pa.Table) -> None:
    first, *others = ((name, pc.list_value_length(lists[name])) for name in lists.column_names)
    for name, lengths in others:
        if not pc.all(pc.equal(first[1], lengths), min_count=0).as_py():
            row = pc.index(pc.equal(first[1], lengths), False).as_py()
            raise MalformedHistory(
                path, f"row {row} has {first[1][row]} values of {first[0]}, and {lengths[row]} of {name}"
            )


def _check_edges(path: Place, edges: pa.ChunkedArray) -> None:
    for edge in pc.unique(pc.list_flatten(edges)).to_pylist():
        if not _EDGE.fullmatch(edge):
            raise MalformedHistory(path, f"edges has {edge[:SHOWN]!r}, expected one as '2->1'")


def _check_numbers(path: Place, configs: pa.Table) -> None:
    for row in configs.select(("kind", "key", "value", "removed")).to_pylist():
        is_number = row["kind"] == "feature" or row["key"] in _NUMBERS
        if is_number and not row["removed"] and not _NUMBER.fullmatch(row["value"]):
            what = row["key"] or "a feature"
            raise MalformedHistory(path, f"{what} has {row['value'][:SHOWN]!r}, expected a whole number")


def _check_proofs(path: Place, proofs: Sequence[Proof], found: Sequence[TopicPartition]) -> None:
    seen: set[TopicPartition] = set()
    for proof in proofs:
        if proof.tp in seen:
            raise MalformedHistory(path, f"two proofs of {proof.tp}")
        if proof.tp not in found:
            raise MalformedHistory(path, f"a proof of {proof.tp}, which has no files")
        seen.add(proof.tp)


def _refuse_reused_ids(path: Place, sends: Sequence[Send]) -> None:
    seen: set[tuple[int, int]] = set()
    for send in sends:
        if send.id in seen:
            raise MalformedHistory(path, f"two sends have the id {send.producer}/{send.sequence}")
        seen.add(send.id)


def _units(history_dir: Place, table: str) -> Iterator[TopicPartition]:
    folder = history_dir / table
    if not folder.is_dir():
        raise MalformedHistory(folder, "missing: the run was not sealed, or this is no history")
    if isinstance(folder, Path) and not os.access(folder, os.R_OK | os.X_OK):
        raise MalformedHistory(folder, "cannot be read: permission denied")
    files: list[Place] = [*folder.glob("*.parquet")]
    for file in sorted(files, key=str):
        topic, dash, number = file.stem.rpartition("-")
        if not dash or not number.isdecimal():
            raise MalformedHistory(file, "not named <topic>-<partition>.parquet")
        yield TopicPartition(topic, int(number))


def _rows(history_dir: Place, table: str, tp: TopicPartition | None = None) -> Iterator[Any]:
    topic, partition = tp or (None, None)
    rows = read_unit(unit_path(history_dir, table, topic, partition), table, topic, partition)
    return iter(Rows(rows, ROW_OF[table]))


def _samples(history_dir: Place, table: str) -> Rows[Any]:
    return Rows(read_unit(unit_path(history_dir, table), table), ROW_OF[table])
