"""The audit of a run's replicas: once, while their files are there and their tables are not yet.

A run does it as soon as its history is sealed; `check` does it for a run that was killed in between.
"""

from pathlib import Path
from typing import Protocol

from checkers.history.tables import unit_path
from harness.run_directory.layout import RunDir


class Audit(Protocol):
    """From copied replicas to tables of the history: Spark's in a run."""

    def __call__(self, replicas: Path, history: Path, *, run: str) -> None:
        """Read `replicas`/<broker>/ and write the tables into `history`, for the run with the id `run`."""


def audit_replicas(run: RunDir, audit: Audit, *, run_id: str) -> None:
    """Audit the replicas of `run` if they were copied and have no tables; raises what `audit` raises."""
    if run.replicas.is_dir() and not is_audited(run):
        audit(run.replicas, run.history, run=run_id)


def is_audited(run: RunDir) -> bool:
    """Whether the tables are there; this one is written last."""
    return unit_path(run.history, "replicas").exists()
