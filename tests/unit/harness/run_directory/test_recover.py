"""What a killed run left is made readable: journals are sealed, tables that it never wrote are empty.

What is damaged, or of another run, is named instead, and left as it is.
"""

import errno
import json
import os
import shutil
import time
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from fakes.run.run_directories import MANIFEST, change_manifest, make_run, reference

from checkers.history.load import collected_tables, run_of
from checkers.history.rows import TopicPartition
from checkers.history.tables import OPTIONAL, PARTITIONED, TABLES, unit_path
from checkers.verdict.algebra import Verdict
from harness.errors import HighwaterError, HistoryError, RunDirectoryError
from harness.report.judge import judge
from harness.run_directory import recover
from harness.run_directory.layout import RunDir
from harness.run_directory.manifest import ManifestProducer, ManifestSends, read_manifest
from harness.run_directory.recover import complete_history
from workloads.record.recorder import Recorder
from workloads.record.seal import ProducerFacts, Sealed


def sealing(monkeypatch: pytest.MonkeyPatch, acks: str) -> None:
    """Let sealing find one producer instance with these acks, and write no table."""

    def seal_load(run_dir: Path, run: str) -> Sealed:
        (run_dir / "history").mkdir()
        return Sealed(producers=(ProducerFacts(producer=9, acks=acks, idempotence=False),))

    monkeypatch.setattr(recover, "seal_load", seal_load)
    monkeypatch.setattr(recover, "seal_observed", lambda run_dir, run: (run_dir / "journal").rmdir())


def test_the_manifest_of_a_killed_run_lists_the_producers_of_its_journals(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sealing(monkeypatch, acks="1")
    run = make_run(tmp_path, None, state="running")
    run.journal.mkdir()
    manifest = complete_history(run)
    assert manifest.producers == (ManifestProducer(producer=9, acks="1", idempotence=False),)
    assert json.loads(run.manifest.read_text())["producers"] == [
        {"producer": 9, "acks": "1", "idempotence": False}
    ]
    always = [name for name in TABLES if name not in OPTIONAL]
    places = {name: ("orders", 0) if name in PARTITIONED else () for name in always}
    rows = {n: pq.read_table(unit_path(run.history, n, *place)).num_rows for n, place in places.items()}
    assert rows == dict.fromkeys(always, 0)
    assert collected_tables(run.history) == frozenset()
    assert complete_history(run) == manifest


def test_a_journal_with_impossible_acks_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sealing(monkeypatch, acks="-1")
    run = make_run(tmp_path, None, state="interrupted")
    run.journal.mkdir()
    with pytest.raises(HistoryError, match="a journal has acks='-1'; allowed: 0, 1, all"):
        complete_history(run)


def test_a_complete_run_gets_nothing_added(tmp_path: Path) -> None:
    run = make_run(tmp_path, None)
    assert complete_history(run).state == "complete"
    assert not run.history.exists()


def test_a_run_of_another_machine_is_sealed_when_its_files_are_still(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody here can tell whether its process lives, and sealing takes the journals away from under it."""
    sealing(monkeypatch, acks="1")
    run = make_run(tmp_path, None, state="running", owner={"pid": 7, "start": "1@b", "host": "elsewhere"})
    run.journal.mkdir()
    journal = run.journal / "sends"
    journal.write_bytes(b"")
    with pytest.raises(
        RunDirectoryError, match="may still go on, in process 7 of elsewhere: its files changed"
    ):
        complete_history(run)
    long_ago = time.time() - 130
    os.utime(run.manifest, (long_ago, long_ago))
    with pytest.raises(RunDirectoryError, match="may still go on"):
        complete_history(run)
    os.utime(journal, (long_ago, long_ago))
    journal.rename(run.path / "copied")  # the sealing of this test removes an empty directory
    assert complete_history(run).producers


SECOND = 1_000_000_000


def killed(path: Path, *, closed: bool = False, run: str | None = None) -> RunDir:
    """A run that was killed under its load: of 40 sends 30 are acknowledged, in three batches.

    `closed`: its harness failed, but the load ended in order.
    """
    state = "failed" if closed else "running"
    dead = make_run(path, None, state=state, phase="schedule", topics=MANIFEST["topics"], load_ended_ns=None)
    recorder = Recorder(path, [TopicPartition("orders", 0)], dead.id if run is None else run)
    producer = recorder.sends(acks="all", idempotent=True)
    recorder.watermarks()
    producer.sent(np.zeros(40, np.int16), SECOND, np.arange(40))
    for first in (0, 10, 20):
        sequences = np.arange(first, first + 10)
        producer.acknowledged(sequences, sequences, 2 * SECOND)
        producer.flush(0)
    if closed:
        producer.close()
        recorder.__exit__(None, None, None)
    return dead


def test_a_killed_run_is_sealed_with_its_id_and_keeps_its_digests(tmp_path: Path) -> None:
    run = killed(tmp_path)
    report = judge(run, reference)
    assert (report.verdict, report.exposure["acked"], report.exposure["indeterminate"]) == (
        Verdict.UNKNOWN,
        30,
        10,
    )
    manifest = read_manifest(run)
    files = {str(path.relative_to(run.history)): path for path in run.history.rglob("*.parquet")}
    assert manifest.files is not None
    assert (set(manifest.files), manifest.files["sends/orders-0.parquet"].rows) == (set(files), 40)
    assert {run_of(path) for path in files.values()} == {run.id}
    assert (manifest.recorded, manifest.sealed_ns) == (None, None)
    assert judge(run, reference).document == report.document


def test_a_file_that_is_lost_after_a_killed_run_was_sealed_is_not_made_anew(tmp_path: Path) -> None:
    run = killed(tmp_path)
    judge(run, reference)
    path = run.history / "metadata.parquet"
    path.unlink()
    assert judge(run, reference).outcome == f"{path}: missing"
    assert not path.exists()


def test_of_a_run_whose_load_ended_in_order_the_journals_tell_what_was_recorded(tmp_path: Path) -> None:
    manifest = complete_history(killed(tmp_path, closed=True))
    assert manifest.recorded == {1: ManifestSends(attempts=40, ok=30, fail=0, info=10)}


def test_a_done_journal_that_is_damaged_in_the_middle_makes_a_killed_run_unknown(tmp_path: Path) -> None:
    """Its later batches could not be read: 20 acks would be indeterminate, and their losses unseen."""
    run = killed(tmp_path)
    path = run.journal / "sends-1.done.arrow"
    whole = bytearray(path.read_bytes())
    whole[len(whole) // 2] ^= 0xFF
    path.write_bytes(whole)
    report = judge(run, reference)
    assert (report.verdict, report.document) == (Verdict.UNKNOWN, {})
    assert report.outcome.startswith(f"{path}: damaged at byte ")
    assert path.read_bytes() == whole


def test_a_torn_end_of_a_journal_is_what_a_killed_run_leaves(tmp_path: Path) -> None:
    run = killed(tmp_path)
    path = run.journal / "sends-1.done.arrow"
    os.truncate(path, path.stat().st_size - 7)
    report = judge(run, reference)
    assert (report.exposure["acked"], report.exposure["indeterminate"]) == (20, 20)


def test_partitions_that_the_scenario_does_not_have_get_no_files(tmp_path: Path) -> None:
    """A manifest from elsewhere may say that there are any number, and each would have three files."""
    run = killed(tmp_path)
    (topic,) = MANIFEST["topics"]
    change_manifest(run, topics=[topic | {"partitions": 1000}])
    report = judge(run, reference)
    assert report.verdict is Verdict.UNKNOWN
    assert report.outcome == (
        f"{run.manifest}: topics: ['orders: 1000 partitions, 3 replicas'], and scenario.yaml has "
        "['orders: 1 partitions, 3 replicas']"
    )
    assert len(list(run.history.rglob("*.parquet"))) < 10
    change_manifest(run, topics=[topic | {"partitions": 10**12}])
    assert judge(run, reference).outcome.startswith(f"{run.manifest}: topics[0].partitions: ")


def test_who_may_not_write_is_told_to_check_a_copy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = killed(tmp_path)

    def forbidden(path: Path) -> None:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))

    monkeypatch.setattr(recover, "remove_sealed", forbidden)
    report = judge(run, reference)
    assert report.verdict is Verdict.UNKNOWN
    assert report.outcome == (
        f"{run.path}: cannot be written, and its harness was killed before it had sealed it: permission "
        "denied; copy the run to a place of yours, and check the copy"
    )


def test_a_disk_that_is_full_while_a_run_is_sealed_says_nothing_of_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(path: Path) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(recover, "remove_sealed", full)
    with pytest.raises(HighwaterError, match="cannot be sealed: No space left on device") as failed:
        judge(killed(tmp_path), reference)
    assert failed.value.exit_code == 4


def test_the_journals_of_another_run_are_named(tmp_path: Path) -> None:
    run = killed(tmp_path, run="another")
    said = f"{run.journal}/sends-1.done.arrow: of run 'another', this is run '{run.id}'"
    assert judge(run, reference).outcome == said


def test_a_complete_run_whose_manifest_lost_its_digests_is_not_given_new_ones(tmp_path: Path) -> None:
    run = killed(tmp_path, closed=True)
    complete_history(run)
    change_manifest(run, state="complete", files=None, load_ended_ns=5, sealed_ns=10 * SECOND)
    assert judge(run, reference).outcome.startswith(f"{run.manifest}: files: is missing; it is by path ")


def sends_of(run: RunDir) -> list[dict[str, object]]:
    rows: list[dict[str, object]] = pq.read_table(unit_path(run.history, "sends", "orders", 0)).to_pylist()
    return rows


class Killed(BaseException):
    """In the middle of something."""


def test_killed_while_the_journals_are_removed_nothing_is_sealed_from_the_rest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A journal of completions that is gone would make every send one of which nobody knows."""

    def rmtree(directory: Path) -> None:
        (directory / "sends-1.done.arrow").unlink()
        raise Killed

    run = killed(tmp_path)
    with monkeypatch.context() as during:
        during.setattr(shutil, "rmtree", rmtree)
        with pytest.raises(Killed):
            complete_history(run)
    sealed = sends_of(run)
    assert [row["outcome"] for row in sealed] == [0] * 30 + [2] * 10
    assert judge(run, reference).exposure["acked"] == 30
    assert sends_of(run) == sealed
    assert sorted(path.name for path in tmp_path.iterdir()) == ["history", "manifest.json", "scenario.yaml"]


def test_killed_before_the_journals_are_removed_their_producers_are_in_the_manifest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Once they are gone, nothing else says which there were, and what each has counted."""

    def kill(run_dir: Path, run: str) -> None:
        raise Killed

    run = killed(tmp_path, closed=True)
    change_manifest(run, producers=[])
    monkeypatch.setattr(recover, "seal_observed", kill)
    with pytest.raises(Killed):
        complete_history(run)
    manifest = read_manifest(run)
    assert [each.producer for each in manifest.producers] == [1]
    assert manifest.recorded == {1: ManifestSends(attempts=40, ok=30, fail=0, info=10)}


def test_journals_beside_files_that_are_noted_are_not_sealed_over_them(tmp_path: Path) -> None:
    run = killed(tmp_path)
    judge(run, reference)
    report, files = judge(run, reference), everything(run.path)
    with Recorder(tmp_path, [TopicPartition("orders", 0)], run.id) as recorder:
        recorder.watermarks()
    assert judge(run, reference).document == report.document
    assert everything(run.history) == {
        path: its for path, its in files.items() if run.history in path.parents
    }


def everything(directory: Path) -> dict[Path, bytes | None]:
    """What lies below a directory: the bytes of each file; links are not followed."""
    return {
        path: path.read_bytes() if path.is_file() and not path.is_symlink() else None
        for path in directory.rglob("*")
    }


TRICKS = (
    *("history", "journal", "replicas", "nodes", "nodes/1", "replicas/1", ".journal.sealed"),
    *("history/sends", "history/reads", "history/final_log", "history/replica_batches"),
    *("history/sends/orders-0.growing", "history/sends/orders-0.parquet", "history/watermarks.growing"),
    *("history/proofs.growing", "history/producers.growing", "journal/sends-1.done.arrow", "journal/x"),
    *(".manifest.json.growing", "verdict.json", ".verdict.json.growing", "summary.md", "crash.log"),
)


@pytest.mark.parametrize("to", ["a folder", "a file", "nothing"])
@pytest.mark.parametrize("trick", TRICKS)
def test_a_link_in_a_run_that_is_still_to_be_sealed_is_refused_and_nothing_is_written(
    tmp_path: Path, trick: str, to: str
) -> None:
    """Whatever is written, renamed or removed, and wherever the link leads."""
    run, outside = killed(tmp_path / "run"), tmp_path / "outside"
    for table in ("sends", "reads", "final_log"):
        (run.history / table).mkdir(parents=True)
    (run.path / "nodes").mkdir()
    (run.replicas / "1").mkdir(parents=True)
    outside.mkdir()
    (outside / "a file").write_text("of somebody else")
    (outside / "a folder").mkdir()
    (outside / "a folder/kept").write_text("too")
    link = run.path / trick
    if link.exists():
        link.rename(outside / "a folder/what was there")
    link.parent.mkdir(exist_ok=True)
    link.symlink_to(outside / to)
    before = everything(tmp_path)
    report = judge(run, reference, audits_nothing)
    assert (report.verdict, report.document) == (Verdict.UNKNOWN, {})
    assert report.outcome == f"{link}: is a link, and a run that is still to be sealed has none"
    assert everything(tmp_path) == before


def audits_nothing(replicas: Path, history: Path, *, run: str) -> None:
    """Read no replicas."""


def test_a_pipe_in_a_run_that_is_still_to_be_sealed_is_refused(tmp_path: Path) -> None:
    """Whoever opened it would wait for its other end."""
    run = killed(tmp_path)
    os.mkfifo(run.path / "replicas")
    said = f"{run.replicas}: is neither a file nor a folder, and a run that is still to be sealed has none"
    assert judge(run, reference).outcome == said


@pytest.mark.parametrize(
    ("name", "is_folder"),
    [
        ("history", False),
        ("history/sends", False),
        ("history/sends/orders-0.growing", True),
        ("history/sends/orders-0.parquet", True),
        ("history/watermarks.parquet", True),
        (".manifest.json.growing", True),
        (".journal.sealed", False),
    ],
)
def test_what_is_in_the_way_of_a_file_or_folder_is_named(tmp_path: Path, name: str, is_folder: bool) -> None:
    run = killed(tmp_path)
    path = run.path / name
    path.parent.mkdir(parents=True, exist_ok=True)
    if is_folder:
        path.mkdir()
    else:
        path.write_text("")
    report = judge(run, reference)
    assert report.verdict is Verdict.UNKNOWN
    named, colon, _ = report.outcome.partition(": in the way of what is to be written: ")
    assert colon
    assert path in (Path(named), Path(named).parent)


def test_a_run_that_is_reached_by_a_link_is_completed(tmp_path: Path) -> None:
    """As runs/latest is."""
    run = killed(tmp_path / "run")
    (tmp_path / "latest").symlink_to("run")
    assert judge(RunDir(path=tmp_path / "latest"), reference).exposure["acked"] == 30
    assert not run.journal.exists()


OUTSIDE = ("../../outside", "/dev/null/outside", "a/b", "", ".hidden/..", "a\n", "a\0b", "n" * 201)


@pytest.mark.parametrize("name", OUTSIDE)
def test_a_topic_of_the_manifest_that_would_be_a_path_is_refused(tmp_path: Path, name: str) -> None:
    """A file is made for each partition that has none."""
    run = killed(tmp_path / "run")
    change_manifest(run, topics=[MANIFEST["topics"][0] | {"name": name}])
    before = everything(tmp_path)
    report = judge(run, reference)
    assert (report.verdict, report.document) == (Verdict.UNKNOWN, {})
    assert report.outcome.startswith(f"{run.manifest}: topics[0].name: string should match pattern ")
    assert "\n" not in report.outcome
    assert everything(tmp_path) == before


@pytest.mark.parametrize("name", OUTSIDE)
def test_a_topic_of_a_journal_that_would_be_a_path_is_refused(tmp_path: Path, name: str) -> None:
    run = make_run(tmp_path / "run", None, state="interrupted")
    with Recorder(run.path, [TopicPartition(name, 0)], run.id) as recorder:
        recorder.watermarks()
    before = everything(tmp_path)
    report = judge(run, reference)
    assert (report.verdict, report.document) == (Verdict.UNKNOWN, {})
    assert report.outcome.startswith(f"{run.journal}: the journals are of partitions that no run has: ")
    assert everything(tmp_path) == before
