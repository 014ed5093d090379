"""Every damage to a copy of a real run is noticed, on the runs of three shipped scenarios."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

HIGHWATER = (sys.executable, "-c", "import sys; from harness.cli import main; sys.exit(main())")
SCENARIOS = ("acks1-leader-kill", "storm", "power-failure-all")
RUN_S, SELFTEST_S = 300.0, 300.0


def highwater(*arguments: str, within_s: float) -> tuple[int, Any]:
    """The exit code of the command, and the JSON on its stdout."""
    done = subprocess.run(
        [*HIGHWATER, *arguments, "--json"], stdout=subprocess.PIPE, text=True, check=False, timeout=within_s
    )
    return done.returncode, json.loads(done.stdout)


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_every_damage_to_a_copy_of_a_run_is_noticed(tmp_path: Path, scenario: str) -> None:
    code, (verdict,) = highwater("run", scenario, "--seed", "7", "--out", str(tmp_path), within_s=RUN_S)
    assert (code, verdict["verdict"]) == (0, "PASS")
    windows = verdict["exposure"]["fault_windows"]
    assert all(window["proven"] and window["recovered"] for window in windows)
    code, table = highwater("selftest", str(tmp_path / "latest"), within_s=SELFTEST_S)
    assert (code, table["survivors"]) == (0, [])
    assert sum(mutant["killed"] for mutant in table["mutants"]) >= 100
