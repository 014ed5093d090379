"""What a load writes, and where, follows from the resolved scenario."""

from pathlib import Path
from types import SimpleNamespace

import pytest
from fakes.run.run_directories import make_run

from harness.run.live import directories as live
from harness.run.live.directories import watched, writes
from harness.run.watch.room import LEFT_FREE
from harness.scenario.resolve import find, resolve


@pytest.fixture(autouse=True)
def an_engine_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live.docker_api, "is_local", lambda: False)


def test_an_hour_of_storm_is_planned_as_an_hour(tmp_path: Path) -> None:
    """A resolved scenario has the steps of its storm, and no storm: 2,000 records a second, 1,000 bytes of
    each in the run's history, and three replicas of 300."""
    run = make_run(tmp_path, None)
    resolved = resolve(*find("storm"), seed=7, sets=["storm.duration=60m"])
    planned = writes(resolved.scenario, run)
    assert planned.load.startswith("a load of 2000/s of 200 bytes for 35")
    assert 13e9 < planned.by_directory[run.path] < 13.7e9


def test_a_load_of_ten_seconds_is_planned_as_that(tmp_path: Path) -> None:
    run = make_run(tmp_path, None)
    planned = writes(resolve(*find("baseline"), seed=7).scenario, run)
    assert planned.load == "a load of 2000/s of 200 bytes for 10s"
    assert planned.by_directory == {run.path: 20_000_000 + 18_000_000}


def test_of_a_load_as_fast_as_it_goes_nothing_is_planned(tmp_path: Path) -> None:
    resolved = resolve(*find("baseline"), seed=7, sets=["workload.rate=max"])
    assert writes(resolved.scenario, make_run(tmp_path, None)).by_directory == {}


def test_where_spark_and_an_engine_here_write_is_watched_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An engine on another machine has a file system of its own; a root that none may look into counts by
    what is above it."""
    run, temporary = make_run(tmp_path, None), tmp_path / "tmp"
    temporary.mkdir()
    monkeypatch.setattr(live.tempfile, "gettempdir", lambda: str(temporary))
    assert watched(run) == (run.path, temporary)
    monkeypatch.setattr(live.docker_api, "is_local", lambda: True)
    monkeypatch.setattr(live.docker_api, "root", lambda: tmp_path / "docker" / "root")
    monkeypatch.setattr(live, "DISKS_DIR", tmp_path / "disks")
    assert watched(run) == (run.path, tmp_path, temporary, tmp_path)
    small = SimpleNamespace(free=LEFT_FREE - 1)
    monkeypatch.setattr(live.shutil, "disk_usage", lambda path: small)
    assert watched(run) == (run.path, tmp_path)
