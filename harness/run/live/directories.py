"""Where on this machine a run writes, and how much its load will write there."""

import shutil
import tempfile
from pathlib import Path

from compose.docker import api as docker_api
from compose.nodes.helper import DISKS_DIR
from faults.durations import write_duration
from faults.plan.parse import parse_steps
from harness.run.watch.room import LEFT_FREE, Writes
from harness.run_directory.layout import RunDir
from harness.scenario.load.load_size import load_length, recorded_bytes, replicated_bytes
from harness.scenario.model import Scenario
from harness.scenario.text.units import rate_text


def directories(run: RunDir) -> tuple[Path, ...]:
    """The run's own, and that of the nodes' disks if the engine is on this machine."""
    return (run.path, *(_existing(Path(path)) for path in (DISKS_DIR,) if docker_api.is_local()))


def watched(run: RunDir) -> tuple[Path, ...]:
    """Those, and where Spark and the engine write beside them: a load is planned for neither, and one that
    gets full ends a run all the same. One that is small from the start is left to those who use it. Raises
    EngineUnreachable."""
    engine = (docker_api.root(),) if docker_api.is_local() else ()
    beside = (Path(tempfile.gettempdir()), *map(_existing, engine))
    return (*directories(run), *(each for each in beside if shutil.disk_usage(each).free >= LEFT_FREE))


def writes(scenario: Scenario, run: RunDir) -> Writes:
    """What the load of a resolved scenario writes until its verdict; nothing if it goes as fast as it can.

    The replicas are on the nodes' disks, are gathered there at the end, and copied to the run.
    """
    load, load_s = scenario.workload, load_length(scenario, parse_steps(scenario.faults)).longest_s
    replicas, recorded = replicated_bytes(scenario, load_s), recorded_bytes(scenario, load_s)
    if replicas is None or recorded is None or load.rate is None:
        return Writes(load="", by_directory={})
    own, *disks = directories(run)
    words = f"a load of {rate_text(load.rate)} of {load.record} bytes for {write_duration(load_s)}"
    by_directory = {own: replicas + recorded, **dict.fromkeys(disks, 2 * replicas)}
    return Writes(load=words, by_directory=by_directory)


def _existing(path: Path) -> Path:
    """The directory, or the nearest above it that there is."""
    return path if path.is_dir() else _existing(path.parent)
