"""The tables that the audit makes of what lies on the brokers' disks, and of what does not."""

import json
import shutil
import struct
from dataclasses import replace
from pathlib import Path

import google_crc32c
import pyarrow.parquet as pq
import pytest
from fakes.history.history_rows import history, proof
from fakes.history.inline_spark import InlineSpark

from checkers.damage import write
from checkers.history.load import load_context, read_unit, replica_files
from checkers.history.rows import Marker, Replica, TopicPartition
from checkers.history.tables import RUN_KEY, TABLES
from spark_verify import audit as audit_module
from spark_verify.audit import audit
from spark_verify.passes.replicas import audit_piece
from spark_verify.segments.batches import Batches
from spark_verify.segments.decode import batch_digests
from spark_verify.segments.layout import CONTROL, TRANSACTIONAL, Codec
from spark_verify.selftest.segments.segment_bytes import MadeBatch, MadeRecord, id_value, segment

RUN = "3f1c"
ORDERS = TopicPartition("orders", 0)
OLD_MESSAGE = bytes.fromhex("0000000000000009 0000000e 11111111 00 00 ffffffff ffffffff")


def made(base: int, count: int, **more: object) -> MadeBatch:
    records = [MadeRecord(value=id_value(1, base + at, 40), timestamp_ms=5) for at in range(count)]
    return MadeBatch(base_offset=base, records=records, producer_id=7, **more)  # type: ignore[arg-type]


@pytest.fixture
def replicas(tmp_path: Path) -> Path:
    """Broker 1's disk after a clean stop, with one replica of two segments."""
    disk = tmp_path / "replicas/1"
    folder = disk / "orders-0"
    folder.mkdir(parents=True)
    (folder / "00000000000000000000.log").write_bytes(segment([made(0, 3), made(3, 2, codec=Codec.LZ4)]))
    (folder / "00000000000000000005.log").write_bytes(segment([made(5, 4, leader_epoch=2)]))
    (folder / "leader-epoch-checkpoint").write_text("0\n2\n0 0\n2 5\n")
    entry = struct.pack(">qhiqiqiq", 7, 0, 8, 8, 3, 5, -1, -1)
    body = struct.pack(">i", 1) + entry
    snapshot = struct.pack(">hI", 1, google_crc32c.value(body)) + body
    (folder / "00000000000000000009.snapshot").write_bytes(snapshot)
    (folder / "00000000000000000005.snapshot").write_bytes(b"of no interest")
    for name, offset in (("replication", 8), ("recovery-point", 9), ("log-start", 1)):
        (disk / f"{name}-offset-checkpoint").write_text(f"0\n1\norders 0 {offset}\n")
    (disk / ".kafka_cleanshutdown").write_text('{"version":0,"brokerEpoch":15}')
    (disk / "orders-0.0123-delete").mkdir()
    (disk / "__cluster_metadata-0").mkdir()
    (disk / "__consumer_offsets-0").mkdir()
    return tmp_path / "replicas"


@pytest.fixture
def history_dir(tmp_path: Path) -> Path:
    """A history of one partition of which broker 1 has the only replica."""
    return history_of(tmp_path, (1,))


def history_of(tmp_path: Path, replicas: tuple[int, ...]) -> Path:
    written = history(replace(proof(9), replicas=replicas, isr=replicas))
    write(replace(written, collected=frozenset()), tmp_path / "history", run=RUN)
    return tmp_path / "history"


def audited(replicas: Path, history_dir: Path) -> Replica:
    """The row of the only replica."""
    (replica,) = all_audited(replicas, history_dir)
    return replica


def all_audited(replicas: Path, history_dir: Path) -> tuple[Replica, ...]:
    audit(replicas, history_dir, InlineSpark(), run=RUN)  # type: ignore[arg-type]
    return tuple(load_context(history_dir).replicas)


def batch_rows(history_dir: Path) -> list[dict[str, object]]:
    return [row for file in replica_files(history_dir, ORDERS) for row in pq.read_table(file).to_pylist()]


def test_a_whole_replica_is_one_row_with_all_of_its_checkpoints(replicas: Path, history_dir: Path) -> None:
    size = sum(file.stat().st_size for file in replicas.rglob("*.log"))
    assert audited(replicas, history_dir) == Replica(
        topic="orders",
        partition=0,
        broker=1,
        log_start=1,
        log_end=9,
        recovery_point=9,
        hw_checkpoint=8,
        log_start_checkpoint=1,
        epochs=(0, 2),
        epoch_starts=(0, 5),
        segments=2,
        bytes=size,
        batches=3,
        torn_bytes=0,
        clean=True,
        complete=True,
        reason="",
    )


def test_each_batch_is_a_row_at_its_place(replicas: Path, history_dir: Path) -> None:
    audited(replicas, history_dir)
    rows = batch_rows(history_dir)
    placed = [
        (r["segment"], r["position"], r["base_offset"], r["last_offset_delta"], r["records"]) for r in rows
    ]
    second = len(segment([made(0, 3)]))
    assert placed == [(0, 0, 0, 2, 3), (0, second, 3, 1, 2), (5, 0, 5, 3, 4)]
    assert [row["leader_epoch"] for row in rows] == [0, 0, 2]
    assert [row["producer_id"] for row in rows] == [7, 7, 7]
    assert [row["attributes"] for row in rows] == [0, 3, 0]
    assert {row["crc_ok"] for row in rows} == {True}
    assert {row["error"] for row in rows} == {""}
    assert {(row["topic"], row["partition"], row["broker"]) for row in rows} == {("orders", 0, 1)}
    assert all(row["digest"] >= 0 for row in rows)  # type: ignore[operator]


def test_the_tables_are_of_the_schema_and_of_the_run(replicas: Path, history_dir: Path) -> None:
    audited(replicas, history_dir)
    (file,) = replica_files(history_dir, ORDERS)
    paths = {"replicas": history_dir / "replicas.parquet", "replica_batches": file}
    paths["producer_states"] = history_dir / "producer_states.parquet"
    for table, path in paths.items():
        schema = pq.read_schema(path)
        assert schema.remove_metadata().equals(TABLES[table])
        assert schema.metadata[RUN_KEY.encode()] == RUN.encode()


def ending(kind: int) -> bytes:
    """Four records, and behind them the marker that ends their transaction."""
    record = MadeRecord(key=struct.pack(">hh", 0, kind), value=struct.pack(">hi", 0, 3))
    end = MadeBatch(
        base_offset=9,
        records=[record],
        flags=TRANSACTIONAL | CONTROL,
        leader_epoch=2,
        producer_id=7,
        producer_epoch=4,
    )
    return segment([made(5, 4, leader_epoch=2, flags=TRANSACTIONAL), end])


def test_the_markers_of_transactions_have_the_brokers_on_whose_disks_they_are(
    replicas: Path, tmp_path: Path
) -> None:
    name = "orders-0/00000000000000000005.log"
    (replicas / "1" / name).write_bytes(ending(1))
    shutil.copytree(replicas / "1", replicas / "2")
    shutil.copytree(replicas / "1", replicas / "3")
    (replicas / "3" / name).write_bytes(ending(0))
    its = history(replace(proof(10), replicas=(1, 2, 3), isr=(1, 2, 3)))
    write(replace(its, collected=frozenset({"transactions"})), tmp_path / "history", run=RUN)
    all_audited(replicas, tmp_path / "history")
    marker = Marker(
        topic="orders",
        partition=0,
        offset=9,
        leader_epoch=2,
        producer_id=7,
        producer_epoch=4,
        kind="commit",
        coordinator_epoch=3,
        brokers=(1, 2),
    )
    found = load_context(tmp_path / "history").markers
    assert sorted(found, key=lambda row: row.kind) == [replace(marker, kind="abort", brokers=(3,)), marker]


def test_of_a_load_without_transactions_there_are_no_markers(replicas: Path, history_dir: Path) -> None:
    (replicas / "1/orders-0/00000000000000000005.log").write_bytes(ending(1))
    audited(replicas, history_dir)
    assert not (history_dir / "markers.parquet").exists()


def test_the_last_producer_snapshot_is_kept(replicas: Path, history_dir: Path) -> None:
    audited(replicas, history_dir)
    (state,) = load_context(history_dir).producer_states
    assert (state.broker, state.snapshot_offset, state.producer_id, state.producer_epoch) == (1, 9, 7, 0)
    assert (state.last_sequence, state.last_offset, state.timestamp_ms) == (8, 8, 5)


def test_a_replica_larger_than_a_piece_is_split_between_segments(
    replicas: Path, history_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = audited(replicas, history_dir)
    rows = batch_rows(history_dir)
    monkeypatch.setattr(audit_module, "PIECE_BYTES", 1)
    assert audited(replicas, history_dir) == whole
    assert [path.name for path in replica_files(history_dir, ORDERS)] == [
        "1-00000.parquet",
        "1-00001.parquet",
    ]
    assert batch_rows(history_dir) == rows


def test_an_empty_last_segment_begins_where_the_log_ends(replicas: Path, history_dir: Path) -> None:
    (replicas / "1/orders-0/00000000000000000012.log").write_bytes(b"")
    replica = audited(replicas, history_dir)
    assert (replica.log_end, replica.segments, replica.complete) == (12, 3, True)


def test_a_broker_that_was_not_stopped_cleanly_is_not_clean(replicas: Path, history_dir: Path) -> None:
    (replicas / "1/.kafka_cleanshutdown").unlink()
    replica = audited(replicas, history_dir)
    assert (replica.clean, replica.complete) == (False, True)


def test_a_torn_tail_of_the_last_segment_is_counted(replicas: Path, history_dir: Path) -> None:
    append(replicas / "1/orders-0/00000000000000000005.log", b"\x00\x00\x00\x00\x00\x00\x00\x09\x00")
    replica = audited(replicas, history_dir)
    assert (replica.torn_bytes, replica.complete, replica.log_end) == (9, True, 9)


def test_a_torn_tail_with_segments_behind_it_is_not_complete(replicas: Path, history_dir: Path) -> None:
    append(replicas / "1/orders-0/00000000000000000000.log", bytes(100))
    replica = audited(replicas, history_dir)
    assert replica.reason == "segment 0 ends with 100 bytes of no whole batch, and others follow it"
    assert (replica.torn_bytes, replica.complete, replica.batches) == (100, False, 3)


def test_a_corrupt_length_is_a_reason_with_file_and_place(replicas: Path, history_dir: Path) -> None:
    file = replicas / "1/orders-0/00000000000000000005.log"
    size = file.stat().st_size
    append(file, struct.pack(">qiib", 9, -7, 0, 2))
    replica = audited(replicas, history_dir)
    declares = "a batch of magic 2 declares a length of -7, the least is 49"
    assert replica.reason == f"00000000000000000005.log, byte {size}: {declares}"
    assert not replica.complete


def test_a_wrong_crc_is_a_row_without_digest_and_no_end_of_the_log(replicas: Path, history_dir: Path) -> None:
    file = replicas / "1/orders-0/00000000000000000005.log"
    file.write_bytes(file.read_bytes()[:-1] + b"\xff")
    replica = audited(replicas, history_dir)
    row = batch_rows(history_dir)[-1]
    assert (row["crc_ok"], row["digest"]) == (False, -1)
    assert str(row["error"]).startswith("its CRC-32C is 0x")
    assert (replica.complete, replica.log_end) == (True, 5)


def test_control_batches_and_old_messages_are_rows_without_digest(replicas: Path, history_dir: Path) -> None:
    record = MadeRecord(key=b"\x00\x00\x00\x01", value=b"\x00\x00\x00\x00\x00\x00")
    marker = segment([MadeBatch(base_offset=9, records=[record], flags=CONTROL)])
    append(replicas / "1/orders-0/00000000000000000005.log", marker + OLD_MESSAGE)
    audited(replicas, history_dir)
    control, old = batch_rows(history_dir)[-2:]
    assert (control["digest"], control["error"], control["attributes"]) == (-1, "", 0x20)
    assert (old["digest"], old["error"]) == (-1, "message format 0, which Kafka wrote before 0.11")
    assert (old["crc_ok"], old["producer_id"], old["records"], old["size"]) == (False, -1, -1, 26)


@pytest.mark.parametrize(
    ("file", "content", "reason"),
    [
        ("replication-offset-checkpoint", b"0\n2\norders 0 8\n", ", line 2: 2 entries declared, 1 are there"),
        ("recovery-point-offset-checkpoint", b"", ", line 1: the file is empty"),
        ("log-start-offset-checkpoint", b"7\n0\n", ", line 1: version 7, only 0 is known"),
        ("orders-0/leader-epoch-checkpoint", b"0\n1\n0 x\n", ", line 3: '0 x' is not 2 numbers"),
        (
            "orders-0/00000000000000000009.snapshot",
            b"\x00\x01",
            ", byte 2: it ends here, its header has 10 bytes",
        ),
    ],
)
def test_a_damaged_small_file_is_a_reason_that_names_it(
    replicas: Path, history_dir: Path, file: str, content: bytes, reason: str
) -> None:
    (replicas / "1" / file).write_bytes(content)
    replica = audited(replicas, history_dir)
    assert replica.reason == file.rpartition("/")[2] + reason
    assert (replica.complete, replica.batches) == (False, 3)


def test_small_files_that_are_not_there_say_nothing(replicas: Path, history_dir: Path) -> None:
    for file in replicas.rglob("*checkpoint"):
        file.unlink()
    replica = audited(replicas, history_dir)
    assert (replica.hw_checkpoint, replica.recovery_point, replica.log_start) == (-1, -1, 0)
    assert (replica.epochs, replica.complete) == ((), True)


def test_a_segment_that_cannot_be_opened_is_a_reason(replicas: Path, history_dir: Path) -> None:
    (replicas / "1/orders-0/00000000000000000009.log").mkdir()
    replica = audited(replicas, history_dir)
    assert replica.reason == "00000000000000000009.log: Is a directory"
    assert (replica.complete, replica.batches) == (False, 3)


def test_expected_replicas_that_are_not_there_say_why(replicas: Path, tmp_path: Path) -> None:
    (replicas / "2").mkdir()
    (replicas / "4/orders-0").mkdir(parents=True)
    (replicas / "not-read.json").write_text(json.dumps({"3": "its disk cannot be read: no such device"}))
    found = all_audited(replicas, history_of(tmp_path, (1, 2, 3, 5)))
    assert {replica.broker: replica.reason for replica in found} == {
        1: "",
        2: "broker 2 has no folder of it",
        3: "the disk of broker 3 was not copied: its disk cannot be read: no such device",
        4: "its folder has no segment",
        5: "the disk of broker 5 was not copied: No such file or directory",
    }
    assert [replica.complete for replica in found] == [True, False, False, False, False]


def test_without_any_copy_every_expected_replica_is_a_row(tmp_path: Path, history_dir: Path) -> None:
    replica = audited(tmp_path / "nothing", history_dir)
    assert (replica.broker, replica.complete, replica.log_end) == (1, False, -1)
    assert batch_rows(history_dir) == []


def test_an_audit_replaces_what_an_earlier_one_left(replicas: Path, history_dir: Path) -> None:
    stale = history_dir / "replica_batches/orders-0/9-00000.parquet"
    stale.parent.mkdir(parents=True)
    stale.write_bytes(b"")
    audited(replicas, history_dir)
    assert not stale.exists()
    assert len(read_unit(history_dir / "replicas.parquet", "replicas")) == 1


def append(file: Path, content: bytes) -> None:
    file.write_bytes(file.read_bytes() + content)


def read_while_running(replicas: Path, text: str = "[1]") -> None:
    (replicas / "read-while-running.json").write_text(text)


@pytest.mark.parametrize("text", ["[1]", "nonsense", '{"1": true}'])
def test_a_broker_that_ran_while_its_disk_was_read_has_stopped_in_no_way(
    replicas: Path, history_dir: Path, text: str
) -> None:
    """Not even with a mark of a clean stop, and not if it cannot be read which brokers ran."""
    read_while_running(replicas, text)
    replica = audited(replicas, history_dir)
    assert (replica.clean, replica.complete, replica.log_end) == (False, True, 9)


def test_a_copy_of_a_running_broker_that_ends_below_what_was_read_decides_nothing(
    replicas: Path, history_dir: Path
) -> None:
    """It was copied too early, or the replica lacks what the others have: nobody knows which."""
    (replicas / "1/orders-0/00000000000000000005.log").write_bytes(segment([made(5, 3, leader_epoch=2)]))
    assert audited(replicas, history_dir).complete
    read_while_running(replicas)
    replica = audited(replicas, history_dir)
    assert (replica.complete, replica.log_end) == (False, 8)
    assert replica.reason == (
        "broker 1 ran while its disk was copied, and the copy ends at 8, below the high watermark 9 of the "
        "final read"
    )


def test_the_log_of_a_killed_broker_that_ends_below_what_was_read_decides_nothing(
    replicas: Path, history_dir: Path
) -> None:
    """It was in sync, and a kill takes nothing: the records are missing."""
    (replicas / "1/.kafka_cleanshutdown").unlink()
    assert audited(replicas, history_dir).complete
    (replicas / "1/orders-0/00000000000000000005.log").write_bytes(segment([made(5, 3, leader_epoch=2)]))
    replica = audited(replicas, history_dir)
    assert (replica.complete, replica.log_end) == (False, 8)
    assert replica.reason == (
        "broker 1 was killed, and its log ends at 8, below the high watermark 9 of the final read"
    )


def test_checkpoints_that_a_running_broker_has_not_written_yet_say_nothing(
    replicas: Path, history_dir: Path
) -> None:
    """After a clean stop an empty one is damage."""
    (replicas / "1/recovery-point-offset-checkpoint").write_text("")
    assert not audited(replicas, history_dir).complete
    read_while_running(replicas)
    replica = audited(replicas, history_dir)
    assert (replica.complete, replica.recovery_point, replica.hw_checkpoint) == (True, -1, 8)


LAST = "orders-0/00000000000000000005.log"


@pytest.fixture
def three(replicas: Path) -> Path:
    """The same replica on the brokers 1 to 3."""
    for broker in ("2", "3"):
        shutil.copytree(replicas / "1", replicas / broker)
    return replicas


def rows_of(history_dir: Path, broker: int) -> list[dict[str, object]]:
    """Without the column that tells brokers apart."""
    rows = [row for row in batch_rows(history_dir) if row["broker"] == broker]
    return [{name: value for name, value in row.items() if name != "broker"} for row in rows]


def alone(replicas: Path, tmp_path: Path, broker: int) -> list[dict[str, object]]:
    """The rows of a broker's replica when there is no other."""
    disks, history_dir = tmp_path / "alone", history_of(tmp_path / "its", (broker,))
    shutil.copytree(replicas / str(broker), disks / str(broker))
    all_audited(disks, history_dir)
    return rows_of(history_dir, broker)


@pytest.fixture
def decoded(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Gets the size of each segment that is decoded."""
    sizes: list[int] = []

    def noted(data: bytes, batches: Batches) -> object:
        sizes.append(len(data))
        return batch_digests(data, batches)

    monkeypatch.setattr(audit_piece, "batch_digests", noted)
    return sizes


def test_the_same_bytes_on_several_brokers_are_decoded_once(
    three: Path, tmp_path: Path, decoded: list[int]
) -> None:
    history_dir = history_of(tmp_path, (1, 2, 3))
    first, *others = all_audited(three, history_dir)
    assert decoded == [file.stat().st_size for file in sorted((three / "1").rglob("*.log"))]
    assert others == [replace(first, broker=2), replace(first, broker=3)]
    assert len(rows_of(history_dir, 1)) == 3
    assert rows_of(history_dir, 1) == rows_of(history_dir, 2) == rows_of(history_dir, 3)


@pytest.mark.parametrize("flipped", [1, 2, 3])
def test_a_replica_with_another_byte_is_read_by_itself(three: Path, tmp_path: Path, flipped: int) -> None:
    file = three / str(flipped) / LAST
    file.write_bytes(file.read_bytes()[:-1] + b"\xff")
    history_dir = history_of(tmp_path, (1, 2, 3))
    ends = {replica.broker: replica.log_end for replica in all_audited(three, history_dir)}
    assert ends == {1: 9, 2: 9, 3: 9, flipped: 5}
    for broker in (1, 2, 3):
        rows = rows_of(history_dir, broker)
        assert rows == alone(three, tmp_path / str(broker), broker)
        assert [row["crc_ok"] for row in rows] == [True, True, broker != flipped]


def test_a_replica_with_other_records_under_right_checksums_keeps_its_own_digest(
    three: Path, tmp_path: Path
) -> None:
    """Of the same size: only the bytes tell them apart."""
    other = replace(made(5, 4, leader_epoch=2), producer_id=8)
    (three / "3" / LAST).write_bytes(segment([other]))
    history_dir = history_of(tmp_path, (1, 2, 3))
    all_audited(three, history_dir)
    ids = {broker: rows_of(history_dir, broker)[-1]["producer_id"] for broker in (1, 2, 3)}
    assert ids == {1: 7, 2: 7, 3: 8}


def test_what_is_wrong_with_a_replica_is_found_in_its_own_files(
    three: Path, tmp_path: Path, decoded: list[int]
) -> None:
    for broker in ("1", "2", "3"):
        append(three / broker / LAST, struct.pack(">qiib", 9, -7, 0, 2))
    history_dir = history_of(tmp_path, (1, 2, 3))
    reasons = {replica.reason for replica in all_audited(three, history_dir)}
    assert len(reasons) == 1
    assert "declares a length of -7" in reasons.pop()
    assert len(decoded) == 6


def test_pieces_of_a_large_replica_are_compared_one_by_one(
    three: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, decoded: list[int]
) -> None:
    monkeypatch.setattr(audit_module, "PIECE_BYTES", 1)
    file = three / "2" / LAST
    file.write_bytes(file.read_bytes()[:-1] + b"\xff")
    history_dir = history_of(tmp_path, (1, 2, 3))
    ends = [replica.log_end for replica in all_audited(three, history_dir)]
    assert (ends, len(decoded)) == ([9, 5, 9], 3)
    assert rows_of(history_dir, 1) == rows_of(history_dir, 3) != rows_of(history_dir, 2)
