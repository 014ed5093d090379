"""The small files of a data directory: what is read of them, and which place of a damaged one is named."""

import pickle
import struct
from pathlib import Path

import google_crc32c
import pytest

from checkers.history.rows import TopicPartition
from spark_verify.errors import DamagedFile
from spark_verify.segments import checkpoints
from spark_verify.segments.checkpoints import LeaderEpochs, MetaProperties
from spark_verify.segments.data_directory import last_snapshot, partition_folders, segment_files
from spark_verify.segments.producer_snapshot import read_snapshot


def written(tmp_path: Path, content: str | bytes, name: str = "a-checkpoint") -> Path:
    file = tmp_path / name
    file.write_bytes(content if isinstance(content, bytes) else content.encode())
    return file


def test_leader_epochs_are_read_in_the_order_of_the_file(tmp_path: Path) -> None:
    found = checkpoints.leader_epochs(written(tmp_path, "0\n3\n0 0\n2 117\n1 90\n"))
    assert found == LeaderEpochs(epochs=(0, 2, 1), starts=(0, 117, 90))


def test_offsets_are_read_by_topic_and_partition(tmp_path: Path) -> None:
    found = checkpoints.offsets(written(tmp_path, "0\n2\norders 0 117\na.b-c_d 12 0\n"))
    assert found == {("orders", 0): 117, ("a.b-c_d", 12): 0}


def test_a_checkpoint_without_entries_and_without_a_last_newline_is_whole(tmp_path: Path) -> None:
    assert checkpoints.offsets(written(tmp_path, "0\n0\n")) == {}
    assert checkpoints.offsets(written(tmp_path, "0\n1\norders 0 5")) == {("orders", 0): 5}


@pytest.mark.parametrize(
    ("content", "place", "what"),
    [
        ("", "line 1", "the file is empty"),
        ("1\n0\n", "line 1", "version 1, only 0 is known"),
        ("zero\n0\n", "line 1", "'zero' is not a number"),
        ("0\n", "line 2", "the number of entries is missing"),
        ("0\n-1\n", "line 2", "-1 entries declared, 0 are there"),
        ("0\n2\norders 0 5\n", "line 2", "2 entries declared, 1 are there"),
        ("0\n1\norders 0 5\norders 1 5\n", "line 2", "1 entries declared, 2 are there"),
        ("0\n1\norders 0\n", "line 3", "'orders 0' is not topic, partition, offset"),
        ("0\n1\norders 0 5x\n", "line 3", "'0 5x' is not 2 numbers"),
        ("0\n1\norders 0 9223372036854775808\n", "line 3", "'0 9223372036854775808' exceeds 64 bits"),
        ("0\n2\norders 0 5\norders 0 6\n", "line 4", "a second entry of orders-0"),
        (b"0\n1\norders 0 \xff\n", "byte 13", "not UTF-8"),
        ("0\n1\norders 0 \u0665\n", "line 3", "'0 \u0665' is not 2 numbers"),
    ],
)
def test_a_damaged_checkpoint_names_file_and_place(
    tmp_path: Path, content: str | bytes, place: str, what: str
) -> None:
    with pytest.raises(DamagedFile) as caught:
        checkpoints.offsets(written(tmp_path, content))
    assert (caught.value.place, caught.value.what) == (place, what)
    assert str(caught.value) == f"a-checkpoint, {place}: {what}"


@pytest.mark.parametrize("epoch", ["-1", "2147483648"])
def test_an_epoch_that_kafka_cannot_have_is_refused(tmp_path: Path, epoch: str) -> None:
    with pytest.raises(DamagedFile, match=f"line 3: {epoch} is no leader epoch"):
        checkpoints.leader_epochs(written(tmp_path, f"0\n1\n{epoch} 0\n"))


def test_the_error_survives_the_way_from_a_worker(tmp_path: Path) -> None:
    error = DamagedFile(tmp_path / "x", "line 1", "why")
    assert str(pickle.loads(pickle.dumps(error))) == "x, line 1: why"


def test_meta_properties_say_whose_disk_it_is(tmp_path: Path) -> None:
    text = "#\n#Sun Nov 22 00:45:40 UTC 2026\nnode.id=1\ndirectory.id=f2xk\nversion=1\ncluster.id=KqGs1X4N\n"
    found = checkpoints.meta_properties(written(tmp_path, text))
    assert found == MetaProperties(version=1, cluster_id="KqGs1X4N", node_id=1, directory_id="f2xk")


@pytest.mark.parametrize(
    ("text", "place"),
    [("version=one\n", "version"), ("node.id=1\n", "version"), ("version=1\n=\n", "line 2")],
)
def test_damaged_meta_properties_name_the_place(tmp_path: Path, text: str, place: str) -> None:
    with pytest.raises(DamagedFile) as caught:
        checkpoints.meta_properties(written(tmp_path, text))
    assert caught.value.place == place


@pytest.mark.parametrize(
    ("text", "epoch"),
    [('{"version":0,"brokerEpoch":15}', 15), ('{"broker_epoch":"15"}', 15), ("", -1), ('{"version":0}', -1)],
)
def test_a_clean_stop_notes_the_brokers_epoch(tmp_path: Path, text: str, epoch: int) -> None:
    assert checkpoints.clean_shutdown_epoch(written(tmp_path, text)) == epoch


@pytest.mark.parametrize(
    "text",
    [
        *("{", "[]", "5", "[" * 100_000, '{"brokerEpoch":"x"}', '{"brokerEpoch":null}'),
        *('{"brokerEpoch":1e999}', '{"brokerEpoch":NaN}', '{"brokerEpoch":true}', '{"brokerEpoch":1.5}'),
    ],
)
def test_a_damaged_note_of_a_clean_stop_is_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(DamagedFile, match="is not what a clean stop writes"):
        checkpoints.clean_shutdown_epoch(written(tmp_path, text))


ENTRIES = struct.pack(">i", 2) + b"".join(
    struct.pack(">qhiqiqiq", 7 + at, 3, 41, 117, 4, 1_795_261_297_448, -1, -1) for at in range(2)
)


def snapshot_of(entries: bytes, *, version: int = 1) -> bytes:
    return struct.pack(">hI", version, google_crc32c.value(entries)) + entries


def test_every_field_of_a_producer_snapshot_is_read(tmp_path: Path) -> None:
    found = read_snapshot(written(tmp_path, snapshot_of(ENTRIES)))
    assert [tuple(entry) for entry in found.tolist()] == [
        (7, 3, 41, 117, 4, 1_795_261_297_448, -1, -1),
        (8, 3, 41, 117, 4, 1_795_261_297_448, -1, -1),
    ]


def test_a_snapshot_without_producers_is_whole(tmp_path: Path) -> None:
    """These ten bytes are what Kafka 4.3.1 writes."""
    assert len(read_snapshot(written(tmp_path, bytes.fromhex("0001 48674bc7 00000000")))) == 0


@pytest.mark.parametrize(
    ("content", "place"),
    [
        (b"", "byte 0"),
        (b"\x00\x01\x00", "byte 3"),
        (snapshot_of(ENTRIES, version=2), "byte 0"),
        (snapshot_of(ENTRIES)[:-1], "byte 2"),
        (snapshot_of(ENTRIES[:-1]), "byte 6"),
        (snapshot_of(struct.pack(">i", -1)), "byte 6"),
        (snapshot_of(struct.pack(">i", 1 << 30)), "byte 6"),
    ],
)
def test_a_damaged_snapshot_names_the_place(tmp_path: Path, content: bytes, place: str) -> None:
    with pytest.raises(DamagedFile) as caught:
        read_snapshot(written(tmp_path, content, "00000000000000000009.snapshot"))
    assert caught.value.place == place
    assert "00000000000000000009.snapshot" in str(caught.value)


def test_only_folders_of_replicas_in_use_are_listed(tmp_path: Path) -> None:
    for name in ("orders-0", "a-b-12", "orders-1.abc-delete", "orders-2-future", "orders-3-stray", "x"):
        (tmp_path / name).mkdir()
    (tmp_path / "__cluster_metadata-0").mkdir()
    written(tmp_path, "", "orders-9")
    assert list(partition_folders(tmp_path)) == [TopicPartition("a-b", 12), TopicPartition("orders", 0)]


def test_segments_and_snapshots_are_listed_in_the_order_of_the_log(tmp_path: Path) -> None:
    for base in (100, 5, 0):
        written(tmp_path, "x" * base, f"{base:020}.log")
        written(tmp_path, "", f"{base:020}.snapshot")
    for other in ("00000000000000000200.log.deleted", "200.log", "00000000000000000200.snapshot.deleted"):
        written(tmp_path, "", other)
    assert [(each.base_offset, each.bytes) for each in segment_files(tmp_path)] == [
        (0, 0),
        (5, 5),
        (100, 100),
    ]
    assert last_snapshot(tmp_path) == (100, tmp_path / "00000000000000000100.snapshot")
