"""Copied replicas are read once: by the run, or by whoever judges what a killed run has left."""

from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa
import pytest
from fakes.history.history_rows import history, logged, ok, sample
from fakes.run.run_directories import change_manifest, make_run, reference

from checkers.errors import MalformedHistory
from checkers.history.tables import TABLES, unit_path, write_table
from checkers.verdict.algebra import Verdict
from harness.report.audit import audit_replicas
from harness.report.judge import judge
from harness.run_directory.layout import RunDir


@dataclass
class Audits:
    """Writes an empty table of replicas, or fails; `calls` are the folders and the run that it was given."""

    error: Exception | None = None
    calls: list[tuple[str, str, str]] = field(default_factory=list)

    def __call__(self, replicas: Path, history: Path, *, run: str) -> None:
        self.calls.append((replicas.name, history.name, run))
        if self.error:
            raise self.error
        rows = pa.Table.from_pylist([], TABLES["replicas"])
        write_table(unit_path(history, "replicas"), "replicas", rows, run=run)


def copied(tmp_path: Path) -> RunDir:
    (tmp_path / "history").mkdir()
    (tmp_path / "replicas/1").mkdir(parents=True)
    return RunDir(path=tmp_path)


def test_replicas_are_read_once(tmp_path: Path) -> None:
    run, audits = copied(tmp_path), Audits()
    audit_replicas(run, audits, run_id="b7")
    audit_replicas(run, audits, run_id="b7")
    assert audits.calls == [("replicas", "history", "b7")]


def test_without_copies_there_is_nothing_to_read(tmp_path: Path) -> None:
    audits = Audits()
    audit_replicas(RunDir(path=tmp_path), audits, run_id="")
    assert audits.calls == []


def test_an_audit_that_failed_is_tried_again(tmp_path: Path) -> None:
    run, audits = copied(tmp_path), Audits(error=MalformedHistory(Path("proofs.parquet"), "damaged"))
    with pytest.raises(MalformedHistory):
        audit_replicas(run, audits, run_id="")
    audits.error = None
    audit_replicas(run, audits, run_id="")
    assert len(audits.calls) == 2
    assert unit_path(run.history, "replicas").exists()


def killed(tmp_path: Path) -> RunDir:
    """A run that was killed when its history was sealed and its replicas were copied, but not read."""
    run = make_run(tmp_path, history(ok(1, 0, at=0), logged(1, 0, 0), sample(1)), state="running")
    change_manifest(run, files=None, sealed_ns=None)
    unit_path(run.history, "replicas").unlink()
    (run.replicas / "1").mkdir(parents=True)
    return run


def test_who_judges_reads_what_a_killed_run_has_left_unread(tmp_path: Path) -> None:
    run, audits = killed(tmp_path), Audits()
    for _ in range(2):
        judge(run, reference, audits)
    assert len(audits.calls) == 1


def test_replicas_that_cannot_be_read_make_a_verdict_that_says_so(tmp_path: Path) -> None:
    run = killed(tmp_path)
    report = judge(run, reference, Audits(error=MalformedHistory(Path("proofs.parquet"), "damaged")))
    assert (report.verdict, report.headline) == (Verdict.UNKNOWN, "proofs.parquet: damaged")
