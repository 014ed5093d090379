"""The verdict on a run directory with a value that no check has refused, and that the judgement cannot use.

A defect of this tool looks the same. So the verdict is UNKNOWN, and it says where the judgement ended and
where its traceback is; a run, a suite and a self-test take the same error for what it may be, a crash.
"""

import traceback
from pathlib import Path

from checkers.verdict.algebra import Verdict
from harness.errors import unforeseen
from harness.report.report import Report
from harness.run_directory.layout import RunDir

OF_A_VALUE = (ValueError, ArithmeticError, LookupError)
"""What Python raises for a value that cannot be used."""
OF_SPARK = ("spark_verify", "pyspark", "py4j")
"""Where a cluster, or its configuration, may be to blame."""
PURE = ("checkers", "harness")


def unusable(run: RunDir, error: Exception) -> Report | None:
    """UNKNOWN, if `error` was raised over a value of the small tables or of the manifest."""
    if not isinstance(error, OF_A_VALUE):
        return None
    packages = [
        (frame.f_globals.get("__name__", "").partition(".")[0], frame.f_code.co_filename, line)
        for frame, line in traceback.walk_tb(error.__traceback__)
    ]
    if any(package in OF_SPARK for package, _, _ in packages):
        return None
    file, line = [(file, line) for package, file, line in packages if package in PURE][-1]
    place = "/".join(Path(file).parts[-2:])
    outcome = f"{run.path}: holds a value that cannot be judged, at {place}:{line}: {unforeseen(error)}"
    return Report(run_dir=run.path, verdict=Verdict.UNKNOWN, outcome=outcome)
