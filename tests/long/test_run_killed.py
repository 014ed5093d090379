"""kill -9 at any instant of a run: `highwater clean` leaves nothing of it; its directory can be judged."""

import json
import random
import subprocess
import time
from pathlib import Path

import pytest
from fakes.run.highwater_process import HIGHWATER, highwater, left_by, mounted_or_attached, running

KILLS = 30
LASTS_S = 60.0
"""Of the run, from nothing to its verdict: instants are drawn between."""
CLEAN_S, CHECK_S = 120.0, 120.0
SEED = 7
DRAWN = random.Random(SEED)
INSTANTS_S = [round(DRAWN.uniform(0.2, LASTS_S), 1) for _ in range(KILLS)]


@pytest.mark.parametrize("instant_s", INSTANTS_S)
def test_a_run_that_is_killed_leaves_nothing_after_clean(tmp_path: Path, instant_s: float) -> None:
    with running(tmp_path, "acks1-leader-kill", "--seed", str(SEED)) as process:
        time.sleep(instant_s)
        process.kill()
        process.communicate()
    subprocess.run([*HIGHWATER, "clean"], check=True, timeout=CLEAN_S, capture_output=True)
    assert left_by(process.pid) == []
    assert mounted_or_attached() == []
    runs = [path for path in tmp_path.iterdir() if path.is_dir() and not path.is_symlink()]
    assert len(runs) <= 1
    for run in runs:
        state = json.loads((run / "manifest.json").read_text())["state"]
        _, verdict = highwater("check", str(run), within_s=CHECK_S)
        ended = ("PASS",) if state == "complete" else ("UNKNOWN",)
        assert verdict["verdict"] in ended, (state, verdict["verdict"])
