"""Tables that a run has only if they were collected, and rows that stay in columns."""

import numpy as np
import pytest

from checkers.damage.write import write
from checkers.history.columnar import columns_of
from checkers.history.load import load, load_context, replica_files, run_of
from checkers.history.rows import (
    BrokerLine,
    BrokerState,
    ClientEvent,
    ClockPair,
    ConfigChange,
    History,
    MetadataAppend,
    MetadataChange,
    NodeEvent,
    Pressure,
    Producer,
    ProducerState,
    Replica,
    ReplicaBatch,
    ReplicaOffset,
    TopicPartition,
    Watermark,
)
from checkers.history.tables import OPTIONAL, unit_path

PLACE = {"topic": "orders", "partition": 0}
FULL = History(
    partitions=(TopicPartition("orders", 0),),
    watermarks=[Watermark(**PLACE, at_ns=at, leader=1, leader_epoch=0, isr=(1, 2)) for at in (5, 7)],
    metadata=(
        MetadataChange(
            **PLACE, at_ms=1, leader=1, leader_epoch=0, partition_epoch=0, log_offset=4, recovering=True
        ),
    ),
    brokers=(BrokerState(at_ms=1, log_offset=2, node=1, broker_epoch=9, fenced=True),),
    configs=(ConfigChange(at_ms=1, kind="topic", name="orders", key="min.insync.replicas", value="2"),),
    metadata_appends=[MetadataAppend(at_ms=at, log_offset=at, controller=101) for at in (1, 501)],
    producers=(Producer(producer=1, acks="all", idempotence=True),),
    node_events=(NodeEvent(at_ns=3, node=1, role="broker", event="exited", exit_code=137, planned=False),),
    clocks=(ClockPair(at_ns=3, wall_ns=4, engine_ns=5, error_ns=1),),
    pressure=(Pressure(at_ns=3, span_ns=2, stall_ns=1),),
    client_events=(ClientEvent(at_ns=3, since_ns=1, producer=1, broker=2, retries=4),),
    replica_offsets=[ReplicaOffset(**PLACE, at_ns=5, broker=2, leader_epoch=0, log_start=0, log_end=9)],
    broker_lines=(BrokerLine(**PLACE, at_ms=1, node=2, kind="truncated", offset=0),),
    replicas=(Replica(**PLACE, broker=2, log_start=0, log_end=9, epochs=(0, 2), epoch_starts=(0, 5)),),
    producer_states=(
        ProducerState(
            **PLACE,
            broker=2,
            snapshot_offset=9,
            producer_id=1,
            producer_epoch=0,
            last_sequence=8,
            last_offset=8,
        ),
    ),
    replica_batches=[
        ReplicaBatch(**PLACE, broker=broker, base_offset=at, last_offset_delta=4, leader_epoch=0)
        for broker in (1, 2)
        for at in (0, 5)
    ],
)


def test_every_table_comes_back_as_it_was_written(tmp_path):
    write(FULL, tmp_path)
    found = load(tmp_path)
    assert found.collected == frozenset(OPTIONAL)
    for name in FULL.__dataclass_fields__:
        assert list(getattr(found, name)) == list(getattr(FULL, name)), name


def test_a_table_that_was_not_collected_is_empty_and_not_listed(tmp_path):
    write(FULL, tmp_path)
    unit_path(tmp_path, "node_events").unlink()
    found = load_context(tmp_path)
    assert found.node_events == ()
    assert found.collected == frozenset(OPTIONAL) - {"node_events"}


def test_every_file_names_the_run_it_belongs_to(tmp_path):
    write(FULL, tmp_path, run="5f0c")
    assert {run_of(path) for path in tmp_path.rglob("*.parquet")} == {"5f0c"}


def test_pieces_of_a_replica_are_read_in_the_order_of_their_numbers(tmp_path):
    write(FULL, tmp_path)
    folder = tmp_path / "replica_batches" / "orders-0"
    (folder / "2-00000.parquet").rename(folder / "10-00000.parquet")
    names = [path.name for path in replica_files(tmp_path, TopicPartition("orders", 0))]
    assert names == ["1-00000.parquet", "10-00000.parquet"]


@pytest.mark.parametrize("loaded", [False, True])
def test_columns_are_the_same_from_a_file_and_from_plain_rows(tmp_path, loaded):
    write(FULL, tmp_path)
    rows = load_context(tmp_path).watermarks if loaded else FULL.watermarks
    columns = columns_of(rows, ("at_ns", "leader", "topic"))
    np.testing.assert_array_equal(columns["at_ns"], [5, 7])
    np.testing.assert_array_equal(columns["leader"], [1, 1])
    assert list(columns["topic"]) == ["orders", "orders"]


def test_rows_in_columns_behave_as_a_sequence(tmp_path):
    write(FULL, tmp_path)
    rows = load_context(tmp_path).watermarks
    assert (rows[0].at_ns, rows[-1].at_ns, rows[1].isr) == (5, 7, (1, 2))
    assert [row.at_ns for row in rows[0:1]] == [5]
    with pytest.raises(IndexError):
        rows[2]
