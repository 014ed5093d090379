"""What a killed run left is made readable: journals are sealed, tables that it never wrote are empty."""

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from fakes.run_directories import make_run

from checkers.history.load import collected_tables
from checkers.history.tables import OPTIONAL, PARTITIONED, TABLES, unit_path
from harness.errors import HistoryError
from harness.run_directory import recover
from harness.run_directory.manifest import ManifestProducer
from harness.run_directory.recover import complete_history
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
