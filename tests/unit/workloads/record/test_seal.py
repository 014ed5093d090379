"""The sealed history holds each send exactly once, with the outcome that was journaled or else info."""

import os
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from checkers.history.load import run_of
from checkers.history.rows import TopicPartition
from checkers.history.tables import TABLES, unit_path, write_table
from workloads.clients.protocol import Delivered
from workloads.errors import JournalUnreadable
from workloads.record import seal as sealing
from workloads.record.journal import Journal
from workloads.record.recorder import FLUSH_NS, RecordedSends, Recorder, SendRecorder, table_journal
from workloads.record.seal import REMOVED, ProducerFacts, seal

PARTITIONS = (TopicPartition("a", 0), TopicPartition("a", 1), TopicPartition("b", 0))


def sends(run: Path, partition: str) -> list[dict[str, object]]:
    rows: list[dict[str, object]] = pq.read_table(run / "history/sends" / f"{partition}.parquet").to_pylist()
    return rows


def invoke(producer: SendRecorder, lanes: list[int], invoked_ns: int, checksums: list[int]) -> None:
    producer.sent(np.array(lanes, np.int16), invoked_ns, np.array(checksums, np.int64))


def records(offsets: list[int]) -> Delivered:
    """Records of the first partition without a value."""
    count = len(offsets)
    return Delivered(
        lanes=np.zeros(count, np.int16),
        offsets=np.array(offsets),
        leader_epochs=np.ones(count, np.int32),
        timestamps_ms=np.ones(count, np.int64),
        keys=[None] * count,
        values=[None] * count,
        headers=[None] * count,
    )


def test_every_send_has_one_row_in_the_file_of_its_partition(tmp_path: Path) -> None:
    with Recorder(tmp_path, PARTITIONS) as recorder:
        producer = recorder.sends(acks="all", idempotent=True)
        invoke(producer, [0, 2, 0], 10, [100, 101, 102])
        invoke(producer, [1], 20, [103])
        producer.acknowledged(np.array([2, 0]), np.array([7, -1]), 30)
        producer.indeterminate(np.array([3]), ["_MSG_TIMED_OUT"], 40)
        producer.close()
    sealed = seal(tmp_path)
    counted = RecordedSends(attempts=4, ok=2, fail=0)
    assert sealed.producers == (ProducerFacts(producer=1, acks="all", idempotence=True, recorded=counted),)
    assert counted.info == 2
    assert pq.read_table(tmp_path / "history/producers.parquet").to_pylist() == [
        {"producer": 1, "acks": "all", "idempotence": True}
    ]
    assert (sealed.sends, sealed.reads) == (4, 0)
    first = {"topic": "a", "partition": 0, "producer": 1, "sequence": 0, "invoked_ns": 10, "error": ""}
    assert sends(tmp_path, "a-0") == [
        first | {"completed_ns": 30, "outcome": 0, "offset": -1, "checksum": 100},
        first | {"sequence": 2, "completed_ns": 30, "outcome": 0, "offset": 7, "checksum": 102},
    ]
    (timed_out,) = sends(tmp_path, "a-1")
    assert (timed_out["completed_ns"], timed_out["outcome"], timed_out["error"]) == (40, 2, "_MSG_TIMED_OUT")
    (never,) = sends(tmp_path, "b-0")
    assert (never["completed_ns"], never["outcome"], never["offset"], never["error"]) == (-1, 2, -1, "")


def test_every_file_of_a_run_without_a_send_is_there_and_empty(tmp_path: Path) -> None:
    with Recorder(tmp_path, PARTITIONS) as recorder:
        recorder.watermarks()
    seal(tmp_path)
    written = sorted(str(p.relative_to(tmp_path)) for p in tmp_path.rglob("*") if p.is_file())
    bulk = [
        f"history/{table}/{name}.parquet" for table in ("reads", "sends") for name in ("a-0", "a-1", "b-0")
    ]
    assert written == sorted([*bulk, "history/watermarks.parquet", "history/producers.parquet"])
    assert sends(tmp_path, "a-0") == []


def test_the_journal_of_a_killed_run_is_sealed_as_far_as_it_is_whole(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path, PARTITIONS)
    producer = recorder.sends(acks="1", idempotent=False)
    invoke(producer, [0, 0], 10, [100, 101])
    producer.acknowledged(np.array([0]), np.array([7]), 30)
    producer.flush(30)
    torn = tmp_path / "journal/sends-1.done.arrow"
    size = torn.stat().st_size
    producer.acknowledged(np.array([1]), np.array([8]), 31)
    producer.flush(31)
    os.truncate(torn, size + 40)  # the process dies while it writes the second batch
    sealed = seal(tmp_path)
    assert (sealed.sends, sealed.producers[0].recorded) == (2, None)
    assert [(row["outcome"], row["offset"]) for row in sends(tmp_path, "a-0")] == [(0, 7), (2, -1)]


def recorded(run: Path) -> Recorder:
    """A run in which one producer was acknowledged twice, in two batches, and which has ended."""
    with Recorder(run, PARTITIONS, run="r1") as recorder:
        producer = recorder.sends(acks="1", idempotent=False)
        invoke(producer, [0, 0, 0], 10, [100, 101, 102])
        for sequence in (0, 1):
            producer.acknowledged(np.array([sequence]), np.array([sequence]), 30)
            producer.flush(30)
        producer.failed(np.array([2]), ["INVALID_RECORD"], 40)
        producer.close()
    return recorder


def refusal(run: Path, *, ended: bool = True) -> str:
    """Why the journals of a run are not sealed; nothing of them is removed."""
    before = sorted((run / "journal").iterdir())
    with pytest.raises(JournalUnreadable) as refused:
        seal(run, "r1", ended=ended)
    assert sorted((run / "journal").iterdir()) == before
    return str(refused.value)


def test_what_was_sent_is_counted_in_memory_too(tmp_path: Path) -> None:
    recorder = recorded(tmp_path)
    assert recorder.recorded() == {1: RecordedSends(attempts=3, ok=2, fail=1)}
    assert seal(tmp_path, "r1", ended=True).producers[0].recorded == recorder.recorded()[1]


@pytest.mark.parametrize("ended", [True, False])
def test_a_done_journal_that_is_damaged_in_the_middle_is_named(tmp_path: Path, ended: bool) -> None:
    """Without this check, half of the acks would silently be indeterminate."""
    recorded(tmp_path)
    path = tmp_path / "journal/sends-1.done.arrow"
    whole = path.read_bytes()
    middle = len(whole) // 2
    path.write_bytes(whole[:middle] + bytes(40) + whole[middle + 40 :])
    assert refusal(tmp_path, ended=ended).startswith(f"{path}: damaged at byte ")


def test_a_journal_that_lost_its_end_is_damaged_in_a_run_that_has_ended(tmp_path: Path) -> None:
    recorded(tmp_path)
    path = tmp_path / "journal/sends-1.done.arrow"
    os.truncate(path, path.stat().st_size - 1)
    assert refusal(tmp_path) == f"{path}: damaged: its writer has ended it, and the end is not there"
    assert seal(tmp_path, "r1").sends == 3


def test_a_done_journal_that_is_gone_is_named(tmp_path: Path) -> None:
    recorded(tmp_path)
    path = tmp_path / "journal/sends-1.done.arrow"
    path.unlink()
    assert refusal(tmp_path) == f"{path}: missing or torn, though its producer has sent records"


def test_sealed_outcomes_that_are_not_those_that_were_counted_are_refused(tmp_path: Path) -> None:
    """The writer says that it has written two acks; the journal, whole byte for byte, has one."""
    with Recorder(tmp_path, PARTITIONS, run="r1") as recorder:
        producer = recorder.sends(acks="1", idempotent=False)
        invoke(producer, [0, 0], 10, [100, 101])
        producer.acknowledged(np.array([0, 0]), np.array([7, 7]), 30)
        producer.close()
    path = tmp_path / "journal/sends-1.done.arrow"
    assert refusal(tmp_path) == (
        f"{path}: damaged: 1 ok, 0 fail, 1 info; its writer counted 2 ok, 0 fail, 0 info"
    )


def test_the_journal_of_another_run_is_named(tmp_path: Path) -> None:
    recorded(tmp_path)
    with pytest.raises(JournalUnreadable) as refused:
        seal(tmp_path, "r2")
    path = tmp_path / "journal/errors.arrow"
    assert str(refused.value) == f"{path}: of run 'r1', this is run 'r2'"


def test_each_file_that_is_sealed_carries_the_run(tmp_path: Path) -> None:
    recorded(tmp_path)
    seal(tmp_path, "r1")
    files = sorted((tmp_path / "history").rglob("*.parquet"))
    assert len(files) == 8
    assert {run_of(path) for path in files} == {"r1"}


def test_an_invocation_is_on_file_before_invoke_returns(tmp_path: Path) -> None:
    producer = Recorder(tmp_path, PARTITIONS).sends(acks="all", idempotent=True)
    invoke(producer, [0], 10, [100])
    assert seal(tmp_path).sends == 1


def test_completions_are_on_file_a_quarter_of_a_second_later(tmp_path: Path) -> None:
    producer = Recorder(tmp_path, PARTITIONS).sends(acks="all", idempotent=True)
    invoke(producer, [0], 10, [100])
    producer.flush(1_000)
    producer.acknowledged(np.array([0]), np.array([7]), 30)
    producer.flush_if_due(1_000 + FLUSH_NS - 1)
    size = (tmp_path / "journal/sends-1.done.arrow").stat().st_size
    producer.flush_if_due(1_000 + FLUSH_NS)
    assert (tmp_path / "journal/sends-1.done.arrow").stat().st_size > size
    assert FLUSH_NS <= 500_000_000


def test_a_run_longer_than_one_slice_is_sealed_alike(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sealing, "SLICE", 10)
    with Recorder(tmp_path, PARTITIONS) as recorder:
        for _ in range(2):
            producer = recorder.sends(acks="all", idempotent=True)
            for first in range(0, 96, 4):
                lanes = np.arange(first, first + 4) % 3
                invoke(producer, lanes.tolist(), first, list(range(first, first + 4)))
            backwards = np.arange(95, -1, -1)
            producer.acknowledged(backwards, backwards + 1000, 500)
            producer.close()
    assert seal(tmp_path).sends == 192
    rows = [row for name in ("a-0", "a-1", "b-0") for row in sends(tmp_path, name)]
    sealed = {(row["producer"], row["sequence"]): row["offset"] for row in rows}
    assert sealed == {(p, s): s + 1000 for p in (1, 2) for s in range(96)}
    assert [row["sequence"] for row in sends(tmp_path, "a-1")][:32] == list(range(1, 96, 3))


@pytest.mark.parametrize(("slice_rows", "group_rows"), [(2, 100), (100, 2)])
def test_samples_are_sealed_a_portion_at_a_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, slice_rows: int, group_rows: int
) -> None:
    """However long the run was, few of them are in memory; and no row group is larger than others."""
    monkeypatch.setattr(sealing, "SLICE", slice_rows)
    monkeypatch.setattr(sealing, "GROUP_ROWS", group_rows)
    monkeypatch.setattr(sealing.journal, "PORTION_BYTES", 1)
    samples = [watermark(at_ns) for at_ns in range(7)]
    with Recorder(tmp_path, PARTITIONS) as recorder:
        journal = recorder.watermarks()
        for sample in samples:
            journal.write_rows([sample])
    seal(tmp_path)
    file = pq.ParquetFile(unit_path(tmp_path / "history", "watermarks"))
    assert file.read().to_pylist() == samples
    assert file.num_row_groups == 4


def watermark(at_ns: int) -> dict[str, object]:
    names = ("partition", "leader", "leader_epoch", "log_start", "high_watermark", "last_stable", "asked_ns")
    return {"at_ns": at_ns, "topic": "a", "isr": [1, 2], **dict.fromkeys(names, at_ns)}


def test_sends_of_a_partition_are_in_the_order_of_their_sequence(tmp_path: Path) -> None:
    with Recorder(tmp_path, PARTITIONS) as recorder:
        producer = recorder.sends(acks="all", idempotent=True)
        lanes = np.random.default_rng(1).integers(0, 3, 5000).astype(np.int16)
        producer.sent(lanes, 1, np.zeros(5000, np.int64))
    seal(tmp_path)
    for lane, name in enumerate(("a-0", "a-1", "b-0")):
        assert [row["sequence"] for row in sends(tmp_path, name)] == np.flatnonzero(lanes == lane).tolist()


def test_reads_keep_the_order_of_their_delivery(tmp_path: Path) -> None:
    with Recorder(tmp_path, PARTITIONS) as recorder:
        reader = recorder.reads(1)
        for generation, offsets in enumerate(([5, 6, 5], [6]), start=1):
            reader.delivered(generation, records(offsets), 70 + generation)
    assert seal(tmp_path).reads == 4
    rows = pq.read_table(tmp_path / "history/reads/a-0.parquet").to_pylist()
    assert [row["offset"] for row in rows] == [5, 6, 5, 6]
    assert (rows[0]["topic"], rows[0]["partition"], rows[0]["reader"]) == ("a", 0, 1)
    assert [(row["generation"], row["read_ns"]) for row in rows] == [(1, 71)] * 3 + [(2, 72)]


def test_each_error_has_its_name_and_its_outcome(tmp_path: Path) -> None:
    with Recorder(tmp_path, PARTITIONS) as recorder:
        first, second = (recorder.sends(acks="1", idempotent=False) for _ in range(2))
        invoke(first, [0] * 4, 10, [100] * 4)
        invoke(second, [1], 10, [100])
        first.failed(np.array([2, 0]), ["INVALID_RECORD", "_QUEUE_FULL"], 30)
        second.indeterminate(np.array([0]), ["_TRANSPORT"], 31)
        first.indeterminate(np.array([1]), ["INVALID_RECORD"], 32)
        first.close()
        second.close()
    seal(tmp_path)
    ends = [(row["sequence"], row["outcome"], row["error"], row["offset"]) for row in sends(tmp_path, "a-0")]
    assert ends == [
        (0, 1, "_QUEUE_FULL", -1),
        (1, 2, "INVALID_RECORD", -1),
        (2, 1, "INVALID_RECORD", -1),
        (3, 2, "", -1),
    ]
    assert [row["error"] for row in sends(tmp_path, "a-1")] == ["_TRANSPORT"]


def test_an_error_whose_name_was_lost_does_not_keep_the_run_from_being_sealed(tmp_path: Path) -> None:
    with Recorder(tmp_path, PARTITIONS) as recorder:
        producer = recorder.sends(acks="1", idempotent=False)
        invoke(producer, [0], 10, [100])
        producer.indeterminate(np.array([0]), ["_TRANSPORT"], 31)
        producer.close()
    (tmp_path / "journal/errors.arrow").unlink()
    seal(tmp_path)
    assert [row["error"] for row in sends(tmp_path, "a-0")] == ["error 1 of a lost name"]


def test_the_journals_are_gone_when_all_is_sealed_and_a_second_seal_says_so(tmp_path: Path) -> None:
    with Recorder(tmp_path, PARTITIONS) as recorder:
        recorder.watermarks()
    seal(tmp_path)
    assert not (tmp_path / "journal").exists()
    assert not (tmp_path / REMOVED).exists()
    with pytest.raises(JournalUnreadable, match="nothing was ever sent"):
        seal(tmp_path)


@pytest.mark.parametrize(
    "listed",
    [
        '[["a", "0/../../x"]]',
        '[["a", -1]]',
        '[["a", 2147483648]]',
        '[["a"]]',
        '[["a", 0], ["a", 0]]',
        '{"a": 0}',
        "[7]",
        "[]",
        "7",
        "no JSON",
        "[" * 100_000,
    ],
)
def test_journals_of_partitions_that_no_run_has_are_refused(tmp_path: Path, listed: str) -> None:
    """What they name becomes part of the path of a file."""
    facts = {"run": "r1", "partitions": listed}
    Journal(tmp_path / "journal/watermarks.arrow", TABLES["watermarks"], facts).close()
    directory = tmp_path / "journal"
    said = f"{directory}: the journals are of partitions that no run has: {listed[:200]!r}"
    assert refusal(tmp_path, ended=False) == said
    assert not (tmp_path / "history").exists()


def test_a_run_killed_before_its_first_journal_has_a_head_is_named(tmp_path: Path) -> None:
    (tmp_path / "journal").mkdir()
    (tmp_path / "journal/sends-1.invoked.arrow").write_bytes(b"hwJ1\x00")
    with pytest.raises(JournalUnreadable, match="no journal with a whole head"):
        seal(tmp_path)


def faults_told(run: Path, *told: tuple[int, int, int]) -> None:
    """A journal of faults: index, inject_ns and heal_ns of each row."""
    columns = TABLES["faults"].empty_table().schema
    with table_journal(run, PARTITIONS, "faults", of="schedule", run="r1") as journal:
        for index, inject_ns, heal_ns in told:
            row = {
                name: [] if pa.types.is_list(kind) else None
                for name, kind in zip(columns.names, columns.types, strict=True)
            }
            row |= {"index": index, "name": f"fault {index}", "inject_ns": inject_ns, "heal_ns": heal_ns}
            (batch,) = pa.Table.from_pylist([row], columns).to_batches()
            journal.write(batch.columns)


def test_of_each_fault_the_last_that_was_written_down_is_kept(tmp_path: Path) -> None:
    """What a killed run knew: one fault is healed, the other still in force."""
    faults_told(tmp_path, (0, 10, -1), (1, 20, -1), (0, 10, 30))
    seal(tmp_path, "r1")
    rows = pq.read_table(tmp_path / "history/faults.parquet").to_pylist()
    assert [(row["index"], row["inject_ns"], row["heal_ns"]) for row in rows] == [(0, 10, 30), (1, 20, -1)]


def test_a_run_that_was_killed_before_its_first_fault_has_none(tmp_path: Path) -> None:
    faults_told(tmp_path)
    seal(tmp_path, "r1")
    assert pq.read_table(tmp_path / "history/faults.parquet").num_rows == 0


def test_faults_that_were_written_as_a_whole_stay(tmp_path: Path) -> None:
    faults_told(tmp_path, (0, 10, -1))
    whole = unit_path(tmp_path / "history", "faults")
    write_table(whole, "faults", TABLES["faults"].empty_table(), run="r1")
    seal(tmp_path, "r1")
    assert pq.read_table(whole).num_rows == 0
