"""A history of an older minor version is read as what it meant; one of a newer version only if it can be."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from checkers.errors import MalformedHistory
from checkers.history.load import load_context, read_unit
from checkers.history.tables import TABLES, write_table
from checkers.history.upgrade import minor_of, schema_at

NEW = ("down", "down_ns", "up_ns")
NAMES_1_0 = [
    "index",
    "name",
    "kind",
    "target",
    "nodes",
    "edges",
    "inject_ns",
    "effect_ns",
    "heal_ns",
    "recovered_ns",
    "proven",
    "recovered",
    "data_lost",
    "unclean",
    "evidence",
]


def row(kind, *, nodes=(), unclean=(), data_lost=(), effect_ns=12) -> dict:
    """A fault as version 1.0 wrote it: injected at 10, healed at 20."""
    values = (0, kind, kind, "t", nodes, (), 10, effect_ns, 20, 30, True, True, data_lost, unclean, "{}")
    return dict(zip(NAMES_1_0, values, strict=True))


def write_1_0(path: Path, *rows, version="1") -> Path:
    """A faults file without the columns that 1.1 added."""
    schema = pa.schema([TABLES["faults"].field(name) for name in NAMES_1_0])
    stamp = {"highwater.schema_version": version, "highwater.table": "faults"}
    pq.write_table(pa.Table.from_pylist(list(rows), schema=schema.with_metadata(stamp)), path)
    return path


def outages(path) -> list[tuple]:
    """The new columns of each row."""
    rows = read_unit(path, "faults").to_pylist()
    return [tuple(each[name] for name in NEW) for each in rows]


@pytest.mark.parametrize(
    ("fault", "down"),
    [
        (row("kill", nodes=(1,), unclean=(1,)), ([1], [10], [20])),
        (row("power-loss", nodes=(1, 2), unclean=(1, 2), data_lost=(2,)), ([1, 2], [10, 10], [20, 20])),
        (row("stop", nodes=(3, 2)), ([2, 3], [12, 12], [20, 20])),
        (row("stop", nodes=(2, 3), unclean=(3,)), ([2, 3], [12, 10], [20, 20])),
        (row("stop", nodes=(2,), effect_ns=-1), ([2], [-1], [20])),
        (row("pause", nodes=(1,)), ([], [], [])),
        (row("partition", nodes=(1, 2)), ([], [], [])),
        (row("disk-stall", nodes=(1,)), ([], [], [])),
    ],
    ids=lambda each: each["kind"] if isinstance(each, dict) else "",
)
def test_the_outages_of_a_1_0_file_follow_from_the_kind(tmp_path, fault, down):
    """Kill and power loss ended their unclean nodes at once, a stop all its nodes when they had exited."""
    path = write_1_0(tmp_path / "faults.parquet", fault)
    assert outages(path) == [down]


@pytest.mark.parametrize("version", ["1", "1.0"])
def test_all_other_columns_of_a_1_0_file_stay(tmp_path, version):
    """In today's order, one row after the other."""
    rows = [row("kill", nodes=(1,), unclean=(1,)), row("stop", nodes=(2,))]
    table = read_unit(write_1_0(tmp_path / "faults.parquet", *rows, version=version), "faults")
    assert table.schema == TABLES["faults"]
    assert table.select(NAMES_1_0).to_pylist() == [
        {key: list(value) if isinstance(value, tuple) else value for key, value in each.items()}
        for each in rows
    ]


def test_a_few_columns_of_a_1_0_file_can_be_asked_for(tmp_path):
    """New ones and old ones, in the order that is asked for."""
    path = write_1_0(tmp_path / "faults.parquet", row("kill", nodes=(1,), unclean=(1,)))
    assert read_unit(path, "faults", columns=("up_ns", "kind")).to_pydict() == {
        "up_ns": [[20]],
        "kind": ["kill"],
    }


def test_a_table_without_new_columns_is_read_as_it_is(tmp_path):
    """One that a tool of version 1.2 stamped."""
    path = tmp_path / "clocks.parquet"
    stamp = {"highwater.schema_version": "1.2", "highwater.table": "clocks"}
    pq.write_table(TABLES["clocks"].empty_table().replace_schema_metadata(stamp), path)
    assert read_unit(path, "clocks").schema == TABLES["clocks"]


def test_a_1_0_file_with_columns_of_1_1_is_malformed(tmp_path):
    """Its stamp does not fit it."""
    path = tmp_path / "faults.parquet"
    stamp = {"highwater.schema_version": "1", "highwater.table": "faults"}
    pq.write_table(TABLES["faults"].empty_table().replace_schema_metadata(stamp), path)
    later = "begin_ns, down, down_ns, end_ns, planned_begin_ns, planned_end_ns, replicas, up_ns"
    with pytest.raises(MalformedHistory, match=f"wrong columns: unknown {later}"):
        read_unit(path, "faults")


def test_a_1_1_file_without_its_columns_is_malformed(tmp_path):
    """Nothing is filled in that a tool of that version would have written."""
    path = write_1_0(tmp_path / "faults.parquet", version="1.1")
    with pytest.raises(MalformedHistory, match="wrong columns: missing down, down_ns, up_ns"):
        read_unit(path, "faults")


def test_a_newer_minor_version_is_read_if_its_columns_are_known(tmp_path):
    """What it adds to other tables does not matter here."""
    path, stamp = tmp_path / "faults.parquet", {"highwater.table": "faults"}
    newer = TABLES["faults"].empty_table()
    pq.write_table(newer.replace_schema_metadata(stamp | {"highwater.schema_version": "1.9"}), path)
    assert read_unit(path, "faults").schema == TABLES["faults"]
    wider = newer.append_column("weather", pa.array([], pa.string()))
    pq.write_table(wider.replace_schema_metadata(stamp | {"highwater.schema_version": "1.9"}), path)
    with pytest.raises(MalformedHistory, match="wrong columns: unknown weather"):
        read_unit(path, "faults")


@pytest.mark.parametrize(
    ("version", "minor"),
    [("1", 0), ("1.0", 0), ("1.1", 1), ("1.12", 12), ("2", None), ("0.9", None), ("x", None)],
)
def test_versions(version, minor):
    """Only one major version is read."""
    assert minor_of(version) == minor


def test_what_is_written_today_is_stamped_1_6(tmp_path):
    """And has every column."""
    path = tmp_path / "faults.parquet"
    write_table(path, "faults", TABLES["faults"].empty_table())
    assert pq.read_schema(path).metadata[b"highwater.schema_version"] == b"1.6"
    assert schema_at("metadata", 5) == TABLES["metadata"]


def test_a_log_end_of_a_1_2_file_was_measured_in_the_second_before_its_answer(tmp_path):
    """One that was read from a disk, when it was written down."""
    row = dict.fromkeys(TABLES["replica_offsets"].names, 0) | {"topic": "t", "at_ns": 3_000_000_000}
    rows = [row | {"source": "live"}, row | {"source": "disk-down"}]
    old = pa.Table.from_pylist(rows, schema_at("replica_offsets", 2))
    assert "asked_ns" not in old.column_names
    path = tmp_path / "replica_offsets.parquet"
    stamp = {"highwater.schema_version": "1.2", "highwater.table": "replica_offsets"}
    pq.write_table(old.replace_schema_metadata(stamp), path)
    assert read_unit(path, "replica_offsets", columns=("at_ns", "asked_ns")).to_pydict() == {
        "at_ns": [3_000_000_000, 3_000_000_000],
        "asked_ns": [2_000_000_000, -1],
    }


def test_of_a_sample_of_a_1_3_file_nobody_knows_when_it_was_asked(tmp_path):
    """So no read is held against it."""
    row = dict.fromkeys(TABLES["watermarks"].names, 0) | {"topic": "t", "isr": [1]}
    old = pa.Table.from_pylist([row], schema_at("watermarks", 3))
    assert "asked_ns" not in old.column_names
    path = tmp_path / "watermarks.parquet"
    stamp = {"highwater.schema_version": "1.3", "highwater.table": "watermarks"}
    pq.write_table(old.replace_schema_metadata(stamp), path)
    assert read_unit(path, "watermarks", columns=("at_ns", "asked_ns")).to_pydict() == {
        "at_ns": [0],
        "asked_ns": [-1],
    }


@pytest.mark.parametrize("table", ["metadata", "brokers", "configs"])
def test_of_a_record_of_a_1_4_file_nobody_knows_who_wrote_it(tmp_path, table):
    """No fault had set a clock, so each date is right whoever wrote it."""
    plain = {"topic": "t", "kind": "topic", "name": "t", "key": "k", "value": "v"}
    lists = {name: [1] for name in ("replicas", "isr", "elr", "last_known_elr")}
    flags = dict.fromkeys(("recovering", "registered", "fenced", "in_controlled_shutdown", "removed"), False)
    row = {name: (plain | lists | flags).get(name, 0) for name in TABLES[table].names}
    old = pa.Table.from_pylist([row], schema_at(table, 4))
    assert "controller" not in old.column_names
    path = tmp_path / f"{table}.parquet"
    stamp = {"highwater.schema_version": "1.4", "highwater.table": table}
    pq.write_table(old.replace_schema_metadata(stamp), path)
    found = read_unit(path, table, columns=("at_ms", "controller")).to_pydict()
    assert found == {"at_ms": [0], "controller": [-1]}


def test_of_a_1_4_file_nobody_has_read_what_is_committed(tmp_path):
    """There were no transactions then."""
    row = dict.fromkeys(TABLES["proofs"].names, 0) | {"topic": "t", "replicas": [1], "isr": [1], "reason": ""}
    row["complete"] = True
    old = pa.Table.from_pylist([row], schema_at("proofs", 4))
    assert "committed_to" not in old.column_names
    path = tmp_path / "proofs.parquet"
    stamp = {"highwater.schema_version": "1.4", "highwater.table": "proofs"}
    pq.write_table(old.replace_schema_metadata(stamp), path)
    assert read_unit(path, "proofs", columns=("read_to", "committed_to")).to_pydict() == {
        "read_to": [0],
        "committed_to": [-1],
    }


def test_of_a_coordinator_of_a_1_5_file_nobody_knows_who_dated_it(tmp_path):
    row = dict.fromkeys(TABLES["coordinators"].names, 0) | {"isr": [1]}
    old = pa.Table.from_pylist([row], schema_at("coordinators", 5))
    assert "controller" not in old.column_names
    path = tmp_path / "coordinators.parquet"
    stamp = {"highwater.schema_version": "1.5", "highwater.table": "coordinators"}
    pq.write_table(old.replace_schema_metadata(stamp), path)
    assert read_unit(path, "coordinators", columns=("leader", "controller")).to_pydict() == {
        "leader": [0],
        "controller": [-1],
    }


RECORDED = Path(__file__).parents[3] / "fixtures" / "runs-of-schema-1"


@pytest.mark.parametrize(
    ("run", "outages"),
    [
        ("acks1-leader-kill", {"cut": (), "kill": (2,)}),
        ("power-failure-all", {"power": (1, 2, 3)}),
    ],
)
def test_the_outages_of_a_recorded_run_of_1_0(run, outages):
    """Those of the nodes that its faults ended, from the injection to the healing."""
    faults = load_context(RECORDED / run / "history").faults
    assert {fault.name: fault.down for fault in faults} == outages
    for fault in faults:
        assert set(fault.down_ns) <= {fault.inject_ns}
        assert set(fault.up_ns) <= {fault.heal_ns}


def test_nobody_knows_what_a_fault_of_a_1_3_file_was_planned_for(tmp_path):
    """Nor when its injection was done and its hold was over."""
    path = write_1_0(tmp_path / "faults.parquet", row("pause", nodes=(1,)))
    names = ("planned_begin_ns", "planned_end_ns", "begin_ns", "end_ns")
    assert not set(names) & set(schema_at("faults", 3).names)
    (read,) = read_unit(path, "faults").to_pylist()
    assert [read[name] for name in names] == [-1, -1, -1, -1]
    assert (read["inject_ns"], read["heal_ns"]) == (10, 20)
