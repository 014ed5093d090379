"""A file that is not what the schema says is refused by name, whether the driver or a worker finds out.

How the error gets from a worker of Spark to the driver: test_in_a_session.py.
"""

import shutil
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from fakes.history.damaged_pages import damage_pages
from fakes.history.inline_spark import InlineSpark

from checkers.errors import MalformedHistory
from checkers.history.load import load
from checkers.history.records.log_runs import log_runs
from checkers.history.rows import TopicPartition
from checkers.history.tables import unit_path, write_table
from spark_verify.synthetic import TOPIC, Shape, write_history
from spark_verify.verify import verify

SMALL = Shape(sends=2_000, partitions=2, producers=3)


@pytest.fixture(scope="module")
def healthy(tmp_path_factory) -> Path:
    directory = tmp_path_factory.mktemp("healthy")
    write_history(directory, SMALL)
    return directory


@pytest.fixture
def history(healthy, tmp_path) -> Path:
    return Path(shutil.copytree(healthy, tmp_path / "history"))


def change(history: Path, table: str, partition: int, make) -> Path:
    """Rewrite one file with other rows, with the stamps of an honest one."""
    path = unit_path(history, table, TOPIC, partition)
    write_table(path, table, make(pq.read_table(path, partitioning=None)), TOPIC, partition)
    return path


def replaced(rows: pa.Table, name: str, values) -> pa.Table:
    return rows.set_column(rows.column_names.index(name), name, pa.chunked_array([pa.array(values)]))


def refused(history: Path) -> MalformedHistory:
    """What verify refuses; the reference's loader must refuse the same history."""
    with pytest.raises(MalformedHistory):
        load(history)
    with pytest.raises(MalformedHistory) as caught:
        verify(history, InlineSpark())
    return caught.value


def test_a_missing_file_is_named(history):
    path = unit_path(history, "reads", TOPIC, 1)
    path.unlink()
    assert refused(history).file == path


def test_a_truncated_file_is_named(history):
    path = unit_path(history, "sends", TOPIC, 0)
    path.write_bytes(path.read_bytes()[:-100])
    assert refused(history).file == path


def test_the_file_of_another_partition_is_named(history):
    path = unit_path(history, "final_log", TOPIC, 1)
    shutil.copy(unit_path(history, "final_log", TOPIC, 0), path)
    assert refused(history).file == path


def test_a_row_of_another_partition_is_found_in_the_footer(history):
    path = change(
        history, "sends", 1, lambda rows: replaced(rows, "partition", np.zeros(len(rows), np.int32))
    )
    error = refused(history)
    assert (error.file, error.what) == (path, "a row has partition 0, the file is of 1")


@pytest.mark.parametrize("table", ["faults", "metadata", "watermarks", "proofs"])
def test_a_broken_small_table_is_named(history, table):
    path = unit_path(history, table)
    path.write_bytes(b"PAR1 but no Parquet")
    assert refused(history).file == path


@pytest.mark.parametrize("table", ["sends", "final_log", "reads"])
def test_a_damaged_page_is_named_though_the_footer_is_whole(history, table):
    path = damage_pages(unit_path(history, table, TOPIC, 1))
    error = refused(history)
    assert error.file == path
    assert "cannot be read" in error.what


def test_offsets_that_do_not_ascend_are_named_with_their_row(history):
    def swap(rows):
        offsets = rows["offset"].to_numpy().copy()
        offsets[[4, 5]] = offsets[[5, 4]]
        return replaced(rows, "offset", offsets)

    path = change(history, "final_log", 0, swap)
    error = refused(history)
    assert (error.file, error.what) == (path, "offsets do not ascend: 5 then 4 at row 5")


def test_a_negative_offset_is_named(history):
    path = change(
        history, "final_log", 0, lambda rows: replaced(rows, "offset", rows["offset"].to_numpy() - 1)
    )
    assert refused(history).file == path


def test_an_unknown_outcome_is_named(history):
    path = change(history, "sends", 0, lambda rows: replaced(rows, "outcome", np.full(len(rows), 3, np.int8)))
    error = refused(history)
    assert (error.file, error.what) == (path, "outcome 3 is none of 0 ok, 1 fail, 2 info")


@pytest.mark.parametrize(
    ("table", "column"), [("reads", "checksum"), ("final_log", "leader_epoch"), ("sends", "error")]
)
def test_a_null_is_named_with_its_column(history, table, column):
    """Also in a column that is read only of what is found, or never."""

    def forget(rows):
        return replaced(rows, column, [None, *rows[column].to_pylist()[1:]]).cast(rows.schema)

    path = change(history, table, 0, forget)
    error = refused(history)
    assert error.file == path
    assert column in error.what


def test_a_page_that_is_read_only_of_what_was_lost_is_named(history):
    path = damage_pages(unit_path(history, "final_log", TOPIC, 0))
    with pytest.raises(MalformedHistory) as caught:
        log_runs(history, TopicPartition(TOPIC, 0))
    assert caught.value.file == path


def test_a_history_may_be_named_relative_to_the_working_directory(history, monkeypatch):
    monkeypatch.chdir(history.parent)
    judgement = verify(Path(history.name), InlineSpark())
    assert judgement.totals.sends == 2_000


def rename(history: Path, partition: int, old: tuple[int, int], new: tuple[int, int]) -> None:
    """Give another id to a send, its log record and its reads: a consistent history, but for what else
    has that id."""

    def renamed(rows):
        producer, sequence = rows["producer"].to_numpy().copy(), rows["sequence"].to_numpy().copy()
        its = (producer == old[0]) & (sequence == old[1])
        producer[its], sequence[its] = new
        return replaced(replaced(rows, "producer", producer), "sequence", sequence)

    for table in ("sends", "final_log", "reads"):
        change(history, table, partition, renamed)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        pytest.param((0, 4), (0, 6), id="in one partition"),
        pytest.param((0, 4), (0, 7), id="in two partitions"),
        pytest.param((1, 4), (0, 7), id="of two producers"),
        pytest.param((2, 400), (7, 1 << 62), id="no reuse, but far away"),
    ],
)
def test_an_id_that_two_sends_have_is_refused_though_each_is_where_it_was_acknowledged(history, old, new):
    """Sequences of partition 0 are even, those of partition 1 odd; the renamed send is of partition 0."""
    rename(history, 0, old, new)
    if new[0] == 7:
        assert verify(history, InlineSpark()).anomalies == ()
        return
    error = refused(history)
    assert error.file == history / "sends"
    assert error.what == f"two sends have the id {new[0]}/{new[1]}"


def test_sends_that_swap_a_hole_and_a_double_do_not_hide_each_other(history):
    """Count, range and sum of the sequences are as they should be: their squares are not."""
    rename(history, 0, (0, 4), (0, 6))
    rename(history, 0, (0, 12), (0, 10))
    assert refused(history).file == history / "sends"
