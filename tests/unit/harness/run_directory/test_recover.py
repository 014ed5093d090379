"""What a killed run left is made readable: journals are sealed, tables that it never wrote are empty.

What is damaged, or of another run, is named instead, and left as it is.
"""

import json
import os
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from fakes.run.run_directories import MANIFEST, change_manifest, make_run, reference

from checkers.history.load import collected_tables, run_of
from checkers.history.rows import TopicPartition
from checkers.history.tables import OPTIONAL, PARTITIONED, TABLES, unit_path
from checkers.verdict.algebra import Verdict
from harness.errors import HistoryError
from harness.report.judge import judge
from harness.run_directory import recover
from harness.run_directory.layout import RunDir
from harness.run_directory.manifest import ManifestProducer, ManifestSends, read_manifest
from harness.run_directory.recover import complete_history
from workloads.record.recorder import Recorder
from workloads.record.seal import ProducerFacts, Sealed


def sealing(monkeypatch: pytest.MonkeyPatch, acks: str) -> None:
    """Let sealing find one producer instance with these acks, and write no table."""

    def seal(run_dir: Path, run: str) -> Sealed:
        (run_dir / "journal").rmdir()
        (run_dir / "history").mkdir()
        return Sealed(producers=(ProducerFacts(producer=9, acks=acks, idempotence=False),))

    monkeypatch.setattr(recover, "seal", seal)


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


def test_the_journals_of_another_run_are_named(tmp_path: Path) -> None:
    run = killed(tmp_path, run="another")
    said = f"{run.journal}/sends-1.done.arrow: of run 'another', this is run '{run.id}'"
    assert judge(run, reference).outcome == said


def test_a_complete_run_whose_manifest_lost_its_digests_is_not_given_new_ones(tmp_path: Path) -> None:
    run = killed(tmp_path, closed=True)
    complete_history(run)
    change_manifest(run, state="complete", files=None, load_ended_ns=5, sealed_ns=10 * SECOND)
    assert judge(run, reference).outcome.startswith(f"{run.manifest}: files: is missing; it is by path ")
