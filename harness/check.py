"""`highwater check`: the verdict on a run directory, once more, without Docker."""

from pathlib import Path

from harness.report.judge import judge
from harness.report.report import Report
from harness.run.verifier import spark_verifier
from harness.run_directory import layout


def check_run(path: Path, spark_master: str) -> Report:
    """Judge the run at `path`. Nothing is written but what a killed run failed to write itself."""
    run = layout.open_run(path)
    with spark_verifier(spark_master) as verify:
        return judge(run, verify)
