import json
import os
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from harness.errors import RunDirectoryError
from harness.run_directory import layout

NOON = datetime(2026, 7, 1, 12, 0, 0, tzinfo=UTC)


def test_a_run_directory_is_named_by_time_scenario_and_seed_and_latest_points_at_it(tmp_path: Path) -> None:
    run = layout.create(tmp_path, "baseline", 42, NOON)
    assert run.path == tmp_path / "20260701T120000Z_baseline_42"
    assert (tmp_path / "latest").readlink() == Path("20260701T120000Z_baseline_42")


def test_a_second_run_in_the_same_second_gets_a_name_of_its_own(tmp_path: Path) -> None:
    layout.create(tmp_path, "baseline", 42, NOON)
    second = layout.create(tmp_path, "baseline", 42, NOON)
    assert second.path.name == "20260701T120000Z_baseline_42-2"
    assert (tmp_path / "latest").resolve() == second.path.resolve()


def test_only_a_run_directory_can_be_opened(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    (tmp_path / "empty").mkdir()
    for name, reason in [
        ("absent", "no such directory; runs are below runs/, the last one is runs/latest"),
        ("file", "a run is a directory, this is a file"),
        ("empty", "not a run directory: neither manifest.json nor scenario.yaml is in it"),
    ]:
        with pytest.raises(RunDirectoryError) as refused:
            layout.open_run(tmp_path / name)
        assert str(refused.value) == f"{tmp_path / name}: {reason}"


def test_a_whole_file_replaces_the_old_one_and_leaves_nothing_beside_it(tmp_path: Path) -> None:
    layout.write_whole(tmp_path / "verdict.json", "{}")
    layout.write_whole(tmp_path / "verdict.json", json.dumps({"verdict": "PASS"}))
    assert (tmp_path / "verdict.json").read_text() == '{"verdict": "PASS"}'
    assert [path.name for path in tmp_path.iterdir()] == ["verdict.json"]


@pytest.mark.parametrize("make", [os.link, os.symlink])
def test_a_file_that_a_left_over_links_to_is_not_written(
    tmp_path: Path, make: Callable[[Path, Path], None]
) -> None:
    (tmp_path / "outside").write_text("of somebody else")
    make(tmp_path / "outside", tmp_path / ".verdict.json.growing")
    layout.write_whole(tmp_path / "verdict.json", "{}")
    assert (tmp_path / "outside").read_text() == "of somebody else"
    assert (tmp_path / "verdict.json").read_text() == "{}"


def test_a_file_that_has_the_place_of_a_link_replaces_the_link(tmp_path: Path) -> None:
    (tmp_path / "outside").write_text("of somebody else")
    (tmp_path / "verdict.json").symlink_to(tmp_path / "outside")
    layout.write_whole(tmp_path / "verdict.json", "{}")
    assert (tmp_path / "outside").read_text() == "of somebody else"
    assert not (tmp_path / "verdict.json").is_symlink()
