"""kill -9 in the midst of each kind of fault: `highwater clean` leaves nothing of it on the machine.

What is frozen, paused, full, limited, cut or changed is gone with the run's nodes, and so is what the machine
itself holds of them: mounts, loop devices, networks, control groups, processes. Its wall clock is untouched.
"""

import subprocess
import time
from pathlib import Path

import docker
import psutil
import pyarrow.parquet as pq
import pytest
from fakes.run.highwater_process import (
    HIGHWATER,
    STARTED_S,
    left_by,
    mounted_or_attached,
    read_until,
    running,
)
from fakes.run.one_fault import HOLD_NOTHING, ONE_FAULTS, Begun

from checkers.history.tables import unit_path
from faults.kinds.registry import KINDS
from harness.run_directory.layout import open_run
from harness.run_directory.recover import complete_history

CLEAN_S = 120.0
BEGUN_S = 90.0
GROUPS = Path("/sys/fs/cgroup")


@pytest.mark.parametrize("kind", sorted(set(KINDS) - set(HOLD_NOTHING)))
def test_a_run_that_is_killed_in_the_midst_of_it_leaves_nothing_after_clean(
    tmp_path: Path, kind: str
) -> None:
    assert kind in ONE_FAULTS, f"no run of {kind} alone: give it one in tests/fakes/run/one_fault.py"
    file, fault = tmp_path / "one-fault.yaml", ONE_FAULTS[kind]
    file.write_text(fault.scenario(kind))
    clock_s = wall_clock_s()
    with running(tmp_path / "runs", str(file), "--seed", "7") as process:
        read_until(process, "running the schedule")
        wait_until_begun(process, kind, fault.begun)
        containers = ids_of(process.pid)
        process.kill()
        process.communicate()
    assert containers
    cleaned = subprocess.run(
        [*HIGHWATER, "clean"], check=False, timeout=CLEAN_S, capture_output=True, text=True
    )
    assert (cleaned.returncode, "FAILED" in cleaned.stdout) == (0, False), cleaned.stdout + cleaned.stderr
    assert left_by(process.pid) == []
    assert mounted_or_attached() == []
    assert in_groups_of(containers) == []
    assert abs(wall_clock_s() - clock_s) < 1.0
    assert journalled(tmp_path / "runs", kind) or fault.begun != "effect"


def wait_until_begun(process: subprocess.Popen[str], kind: str, begun: Begun) -> None:
    """Until it is known to be in its midst; it fails if the fault turns out to be without effect."""
    if begun == "down":
        deadline = time.monotonic() + BEGUN_S
        while not ended_by(process.pid):
            assert time.monotonic() < deadline, "no node has ended"
            time.sleep(0.05)
        return
    assert process.stdout is not None
    output, deadline = "", time.monotonic() + STARTED_S
    for line in process.stdout:
        output += line
        assert time.monotonic() < deadline, output
        if f"it ({kind} of " not in line:
            continue
        if line.rstrip().endswith(f") {begun}"):
            return
        assert ") unproven" not in line, output
        assert ") skipped" not in line, output
    raise AssertionError(f"it ended before it was {begun}:\n{output}")


def ids_of(pid: int) -> list[str]:
    """The ids of the containers that this process made."""
    found = docker.from_env().containers.list(all=True, filters={"label": f"highwater.owner={pid}"})
    return [str(one.id) for one in found]


def ended_by(pid: int) -> list[str]:
    """Those of them whose process has ended."""
    filters = {"label": f"highwater.owner={pid}", "status": "exited"}
    return [str(one.id) for one in docker.from_env().containers.list(all=True, filters=filters)]


def in_groups_of(containers: list[str]) -> list[str]:
    """Control groups of these containers, and processes in them: one that waits for a frozen disk stays."""
    names = [path.name for path in GROUPS.rglob("*") if path.is_dir()]
    groups = [name for name in names if any(each in name for each in containers)]
    return groups + [str(pid) for pid in psutil.pids() if any(each in group_of(pid) for each in containers)]


def group_of(pid: int) -> str:
    """The control groups of a process; "" if it is gone."""
    try:
        return Path(f"/proc/{pid}/cgroup").read_text()
    except OSError:
        return ""


def wall_clock_s() -> float:
    """How far the wall clock is ahead of the one that nobody sets."""
    return time.time() - time.monotonic()


def journalled(runs: Path, kind: str) -> bool:
    """Whether the run's directory, once it is made whole, has the effect of its one fault."""
    run = open_run(runs / "latest")
    complete_history(run)
    (row,) = pq.read_table(unit_path(run.history, "faults")).to_pylist()
    assert (row["kind"], row["heal_ns"]) == (kind, -1)
    return bool(row["effect_ns"] >= 0)
