"""A history directory is never trusted: each defect names the file and what is wrong with it."""

import pickle
from pathlib import Path
from random import Random

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from checkers.damage import damage, random_history, write
from checkers.errors import MalformedHistory
from checkers.history.load import load, load_context, read_unit
from checkers.history.rows import TopicPartition
from checkers.history.tables import (
    OPTIONAL,
    PARTITIONED,
    TABLES,
    file_schema,
    unit_path,
    write_options,
    write_table,
)
from checkers.reference import check

SENDS = {
    "topic": ["orders"] * 2,
    "partition": [0] * 2,
    "producer": [1] * 2,
    "sequence": [0, 1],
    "invoked_ns": [10, 11],
    "completed_ns": [20, 21],
    "outcome": [0, 2],
    "offset": [0, -1],
    "checksum": [5, 6],
    "error": ["", "timed out"],
}
LOG = {
    "topic": ["orders"] * 3,
    "partition": [0] * 3,
    "offset": [0, 1, 2],
    "leader_epoch": [0] * 3,
    "producer": [1] * 3,
    "sequence": [0, 1, 2],
    "checksum": [5] * 3,
    "timestamp_ms": [1] * 3,
}


def table(name, columns) -> pa.Table:
    """A table of the schema from plain columns."""
    return pa.table(columns, schema=TABLES[name])


@pytest.fixture
def run(tmp_path) -> Path:
    """A small valid history: one partition with sends and a log, all else empty."""
    history = tmp_path / "history"
    for name in set(TABLES) - set(OPTIONAL):
        place = ("orders", 0) if name in PARTITIONED else ()
        rows = {"sends": SENDS, "final_log": LOG}.get(name)
        content = table(name, rows) if rows else TABLES[name].empty_table()
        write_table(unit_path(history, name, *place), name, content, *place)
    return history


def refused(history) -> str:
    """What `load` complains about, with the directory's name cut off."""
    with pytest.raises(MalformedHistory) as caught:
        load(history)
    assert str(caught.value.file) in str(caught.value)
    return str(caught.value).removeprefix(f"{history}/")


def overwrite(history, name, schema=None, **columns) -> None:
    """Replace a bulk file by one with some columns changed (None: removed), stamped as it should be."""
    rows = {**{"sends": SENDS, "final_log": LOG}[name], **columns}
    rows = {key: value for key, value in rows.items() if value is not None}
    stamp = file_schema(name, "orders", 0).metadata
    pq.write_table(
        pa.table(rows, schema=schema).replace_schema_metadata(stamp), unit_path(history, name, "orders", 0)
    )


def test_a_valid_history_is_read_row_by_row(run):
    """Every row becomes its dataclass; tables without rows are empty."""
    history = load(run)
    assert history.partitions == (TopicPartition("orders", 0),)
    assert [(send.sequence, send.outcome.name, send.error) for send in history.sends] == [
        (0, "OK", ""),
        (1, "INFO", "timed out"),
    ]
    assert [record.offset for record in history.final_log] == [0, 1, 2]
    assert history.proofs == ()


@pytest.mark.parametrize("name", [name for name in TABLES if name not in OPTIONAL])
def test_a_missing_file_is_named(run, name):
    """Whichever it is, of a bulk table or of a small one."""
    place = ("orders", 0) if name in PARTITIONED else ()
    path = unit_path(run, name, *place)
    path.unlink()
    assert refused(run).startswith(f"{path.relative_to(run)}: missing")


def test_a_run_that_was_not_sealed_is_named_by_its_first_missing_table(tmp_path):
    """A directory that is no history at all."""
    assert refused(tmp_path / "nothing") == "proofs.parquet: missing"


@pytest.mark.parametrize("keep", [0, 3, 40, -1, -8])
def test_a_truncated_file_is_named(run, keep):
    """Cut anywhere: in the magic, in the data, in the footer."""
    path = unit_path(run, "sends", "orders", 0)
    path.write_bytes(path.read_bytes()[:keep])
    assert refused(run).startswith("sends/orders-0.parquet: truncated, or not Parquet: ")


def test_an_error_of_the_parquet_reader_is_one_line(run):
    """The rest of its message is of no use to a person."""
    unit_path(run, "sends", "orders", 0).write_bytes(b"")
    assert refused(run) == "sends/orders-0.parquet: truncated, or not Parquet: Parquet file size is 0 bytes"


def test_damaged_pages_below_an_intact_footer_are_named(run):
    """The footer opens, the data does not decompress."""
    path = unit_path(run, "final_log", "orders", 0)
    content = bytearray(path.read_bytes())
    content[4:200] = bytes(196)
    path.write_bytes(content)
    assert refused(run).startswith("final_log/orders-0.parquet: cannot be read: ")


def test_a_parquet_file_of_somebody_else_is_named(run):
    """No key-value metadata of ours."""
    pq.write_table(pa.table({"a": [1]}), unit_path(run, "watermarks"))
    assert refused(run) == (
        "watermarks.parquet: a foreign file: its metadata has no highwater.schema_version"
    )


def test_an_unknown_schema_version_is_named(run):
    """A newer tool wrote it."""
    stamp = {"highwater.schema_version": "2", "highwater.table": "faults"}
    pq.write_table(TABLES["faults"].empty_table().replace_schema_metadata(stamp), unit_path(run, "faults"))
    assert refused(run) == "faults.parquet: schema version 2; this tool reads 1.6"


def test_a_file_of_another_table_is_named(run):
    """Somebody renamed it."""
    unit_path(run, "proofs").rename(unit_path(run, "faults"))
    write_table(unit_path(run, "proofs"), "proofs", TABLES["proofs"].empty_table())
    assert refused(run) == "faults.parquet: highwater.table is 'proofs', expected 'faults'"


def test_a_file_of_another_partition_is_named(run):
    """Its name says 1, its metadata 0."""
    for name in PARTITIONED:
        content = unit_path(run, name, "orders", 0).read_bytes()
        unit_path(run, name, "orders", 1).write_bytes(content)
    assert refused(run) == "sends/orders-1.parquet: highwater.partition is '0', expected '1'"


@pytest.mark.parametrize("name", ["copy", "orders-x", "orders-"])
def test_a_file_that_is_not_named_after_a_partition_is_named(run, name):
    """A stray file in a bulk table's folder."""
    (run / "reads" / f"{name}.parquet").write_bytes(b"")
    assert refused(run) == f"reads/{name}.parquet: not named <topic>-<partition>.parquet"


def test_a_missing_column_is_named(run):
    """The footer is ours, the columns are not."""
    overwrite(run, "sends", error=None)
    assert refused(run) == "sends/orders-0.parquet: wrong columns: missing error"


def test_an_unknown_column_is_named(run):
    """A later version might add one, under another schema version."""
    overwrite(run, "sends", epoch=[1, 1])
    assert refused(run) == "sends/orders-0.parquet: wrong columns: unknown epoch"


def test_a_wrong_type_is_named(run):
    """An int64 where the schema says int32."""
    schema = TABLES["final_log"]
    wide = schema.set(schema.get_field_index("producer"), pa.field("producer", pa.int64()))
    overwrite(run, "final_log", schema=wide)
    assert refused(run) == "final_log/orders-0.parquet: column producer is int64, expected int32"


@pytest.mark.parametrize(
    ("column", "values", "what"),
    [
        ("offset", [0, 2, 2], "offsets do not ascend: 2 then 2 at row 2"),
        ("offset", [5, 3, 4], "offsets do not ascend: 5 then 3 at row 1"),
        ("offset", [-1, 3, 4], "offset -1 is negative"),
        ("partition", [0, 1, 0], "a row has partition 1, the file is of 0"),
        ("topic", ["orders", "x", "orders"], "a row has topic 'x', the file is of 'orders'"),
        ("checksum", [1, None, None], "column checksum has 2 nulls"),
    ],
)
def test_rows_that_break_the_schemas_promises_are_named(run, column, values, what):
    """Order, place and nulls are checked when the rows are read."""
    overwrite(run, "final_log", schema=TABLES["final_log"], **{column: values})
    assert refused(run) == f"final_log/orders-0.parquet: {what}"


def test_an_outcome_that_is_none_of_three_is_named(run):
    """A fourth outcome has no meaning."""
    overwrite(run, "sends", schema=TABLES["sends"], outcome=[0, 3])
    assert refused(run) == "sends/orders-0.parquet: outcome 3 is none of 0 ok, 1 fail, 2 info"


def test_an_id_that_two_sends_share_is_named(run):
    """Ids are what everything else hangs on."""
    overwrite(run, "sends", schema=TABLES["sends"], sequence=[1, 1])
    assert refused(run) == "sends: two sends have the id 1/1"


@pytest.mark.parametrize(
    ("partitions", "what"),
    [([0, 0], "two proofs of orders-0"), ([4], "a proof of orders-4, which has no files")],
)
def test_proofs_that_contradict_the_files_are_named(run, partitions, what):
    """One final read a partition, of partitions that exist."""
    row = dict.fromkeys(TABLES["proofs"].names, -1)
    row |= {"topic": "orders", "replicas": [], "isr": [], "complete": True, "reason": ""}
    rows = pa.Table.from_pylist([row | {"partition": p} for p in partitions], schema=TABLES["proofs"])
    write_table(unit_path(run, "proofs"), "proofs", rows)
    assert refused(run) == f"proofs.parquet: {what}"


def small(run, name, *rows) -> None:
    """Write a table of one file: rows with some values; the others are -1, empty or false."""
    default = {
        field.name: {"string": "", "bool": False}.get(
            str(field.type), [] if pa.types.is_list(field.type) else -1
        )
        for field in TABLES[name]
    }
    rows = pa.Table.from_pylist([default | row for row in rows], schema=TABLES[name])
    write_table(unit_path(run, name), name, rows)


@pytest.mark.parametrize(
    ("name", "row", "what"),
    [
        ("faults", {"down": [1], "down_ns": [5]}, "row 1 has 1 values of down, and 0 of up_ns"),
        ("faults", {"down_ns": [5], "up_ns": [6]}, "row 1 has 0 values of down, and 1 of down_ns"),
        ("replicas", {"epochs": [0]}, "row 1 has 1 values of epochs, and 0 of epoch_starts"),
        ("faults", {"edges": ["2->1", "9" * 5000]}, f"edges has '{'9' * 40}', expected one as '2->1'"),
        ("faults", {"edges": ["\u0661->1"]}, "edges has '\u0661->1', expected one as '2->1'"),
        (
            "faults",
            {"down": [1], "down_ns": [-(1 << 63)], "up_ns": [1]},
            f"down_ns is {-(1 << 63)} in some row",
        ),
        ("metadata", {"log_offset": -2}, "log_offset is -2 in some row"),
        ("metadata", {"log_offset": -(1 << 63)}, f"log_offset is {-(1 << 63)} in some row"),
        ("clocks", {"error_ns": -(1 << 63)}, f"error_ns is {-(1 << 63)} in some row"),
        ("clocks", {"error_ns": 1 << 62}, f"error_ns is {1 << 62} in some row"),
        ("brokers", {"at_ms": (1 << 63) - 1}, f"at_ms is {(1 << 63) - 1} in some row"),
        ("configs", {"kind": "feature", "name": "x"}, "a feature has '', expected a whole number"),
        (
            "configs",
            {"kind": "topic", "key": "min.insync.replicas", "value": "9" * 5000},
            f"min.insync.replicas has '{'9' * 40}', expected a whole number",
        ),
    ],
)
def test_values_that_no_run_writes_are_named(run, name, row, what):
    """What would end the judgement, or be believed without a word."""
    small(run, name, {}, row) if name != "configs" else small(run, name, row)
    assert refused(run) == f"{name}.parquet: {what}"


def test_what_a_run_writes_is_taken(run):
    """A setting that was removed has no value, and a client may be the end of an edge."""
    removed = {"kind": "topic", "key": "min.insync.replicas", "removed": True}
    small(
        run,
        "configs",
        removed,
        {"kind": "feature", "value": "1"},
        {"kind": "topic", "key": "a", "value": "x"},
    )
    small(run, "faults", {"edges": ["client->1", "2->103"], "down": [1], "down_ns": [-1], "up_ns": [-1]})
    assert load_context(run).faults[0].edges == ("client->1", "2->103")


def test_what_the_user_may_not_read_is_not_called_damaged(run, monkeypatch):
    def forbidden(path):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("checkers.history.load.open_parquet", forbidden)
    assert refused(run) == "proofs.parquet: cannot be read: permission denied"
    monkeypatch.undo()
    monkeypatch.setattr("os.access", lambda path, mode: Path(path).name != "sends")
    assert refused(run) == "sends: cannot be read: permission denied"


def test_the_small_tables_load_without_opening_a_bulk_file(run):
    """A damaged bulk file is the business of who reads it."""
    unit_path(run, "reads", "orders", 0).write_bytes(b"PAR1")
    assert load_context(run).partitions == (TopicPartition("orders", 0),)


def test_a_worker_may_ask_for_some_columns(run):
    """What was not asked for is not read, and not checked."""
    rows = read_unit(
        unit_path(run, "sends", "orders", 0), "sends", "orders", 0, columns=["offset", "outcome"]
    )
    assert rows.to_pydict() == {"offset": [0, -1], "outcome": [0, 2]}
    path = unit_path(run, "sends", "orders", 0)
    assert read_unit(path, "sends", "orders", 0, columns=["checksum"]).to_pydict() == {"checksum": [5, 6]}


def test_the_error_survives_the_way_from_a_worker(run):
    """Spark pickles it."""
    error = pickle.loads(pickle.dumps(MalformedHistory(run / "x", "missing")))
    assert (error.file, error.what, str(error)) == (run / "x", "missing", f"{run}/x: missing")


def test_bulk_files_are_encoded_for_quick_reading(run):
    """Delta-packed int64, dictionaries for small integers and strings, zstd."""
    chunk = pq.ParquetFile(unit_path(run, "sends", "orders", 0)).metadata.row_group(0)
    encodings = {chunk.column(i).path_in_schema: chunk.column(i).encodings for i in range(chunk.num_columns)}
    assert "DELTA_BINARY_PACKED" in encodings["invoked_ns"]
    assert "RLE_DICTIONARY" in encodings["producer"]
    assert "RLE_DICTIONARY" in encodings["topic"]
    assert {chunk.column(i).compression for i in range(chunk.num_columns)} == {"ZSTD"}
    assert write_options("sends")["compression_level"] == 1


def test_nothing_is_left_of_a_file_that_could_not_be_written(run):
    """A value that does not fit its type is an error, and the file keeps what it held."""
    path = unit_path(run, "sends", "orders", 0)
    before = path.read_bytes()
    wide = TABLES["sends"].set(1, pa.field("partition", pa.int64()))
    with pytest.raises(pa.ArrowInvalid):
        write_table(path, "sends", pa.table(SENDS | {"partition": [0, 2**40]}, schema=wide), "orders", 0)
    assert path.read_bytes() == before


@pytest.mark.parametrize("seed", range(25))
def test_a_written_history_reads_back_as_it_was(tmp_path, seed):
    """Rows and judgement are the same, damaged or not."""
    rng = Random(seed)
    history = damage(random_history(rng), rng)
    write(history, tmp_path)
    again = load(tmp_path)
    assert check(again).key() == check(history).key()
    for name in ("sends", "final_log", "reads", "watermarks", "proofs", "faults", "metadata"):
        assert list(getattr(again, name)) == list(getattr(history, name))
