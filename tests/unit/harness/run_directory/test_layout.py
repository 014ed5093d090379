import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from harness.errors import HistoryError, RunDirectoryError
from harness.run_directory import layout
from harness.run_directory.manifest import Manifest

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


def test_the_manifest_says_which_phase_the_run_is_in_and_how_long_each_took(tmp_path: Path) -> None:
    run = layout.create(tmp_path, "baseline", 42, NOON)
    manifest = Manifest(run, {"seed": 42})
    with manifest.phase("cluster"):
        during = run.read_manifest()
    after = run.read_manifest()
    assert (during["state"], during["phase"], during["seed"]) == ("running", "cluster", 42)
    assert list(after["timings"]) == ["cluster_s"]


def test_the_first_problem_of_a_run_is_the_one_that_stays(tmp_path: Path) -> None:
    run = layout.create(tmp_path, "baseline", 42, NOON)
    manifest = Manifest(run, {})
    manifest.finish("failed", "broker 2 did not come up")
    manifest.finish("interrupted", "Ctrl-C")
    assert run.read_manifest()["problem"] == "broker 2 did not come up"


def test_a_complete_run_can_still_be_marked_as_failed(tmp_path: Path) -> None:
    run = layout.create(tmp_path, "baseline", 42, NOON)
    manifest = Manifest(run, {})
    manifest.finish("complete")
    manifest.finish("failed", "the session died")
    assert run.read_manifest()["state"] == "failed"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("{", "not a readable manifest: Expecting property name"),
        ("[]", "not a manifest: found list"),
        ('{"schema_version": 9}', "unknown schema_version 9, this version reads 1"),
        ("{}", "unknown schema_version None, this version reads 1"),
    ],
)
def test_a_damaged_manifest_is_named_with_what_is_wrong(tmp_path: Path, text: str, reason: str) -> None:
    run = layout.RunDir(path=tmp_path)
    run.manifest.write_text(text)
    with pytest.raises(HistoryError) as refused:
        run.read_manifest()
    assert str(refused.value).startswith(f"{run.manifest}: {reason}")


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
