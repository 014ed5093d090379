"""`highwater check`: the verdict on a run directory, once more, without Docker."""

from pathlib import Path

from harness import rundir
from harness.judge import judge
from harness.report import Report
from harness.verifying import spark_verifier


def check_run(path: Path, spark_master: str) -> Report:
    """Judge the run at `path`. Nothing is written but what a killed run failed to write itself."""
    run = rundir.open_run(path)
    with spark_verifier(spark_master) as verify:
        return judge(run, verify)
