import errno
import json
import os
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from harness.errors import HighwaterError, HistoryError, RunDirectoryError, UsageError
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


def _a_file(out: Path) -> None:
    out.write_text("")


def _a_link_to_nowhere(out: Path) -> None:
    out.symlink_to("nowhere")


@pytest.mark.parametrize("make", [_a_file, _a_link_to_nowhere])
def test_where_no_directory_can_be_made_is_wrong_usage(tmp_path: Path, make: Callable[[Path], None]) -> None:
    make(tmp_path / "out")
    for begin in (
        lambda: layout.create(tmp_path / "out", "baseline", 42, NOON),
        lambda: layout.numbered(tmp_path / "out", "suite"),
        lambda: layout.create_named(tmp_path / "out" / "0000_demo_7"),
    ):
        with pytest.raises(UsageError, match=r"out.*: cannot be made: (Not a directory|File exists)"):
            begin()


def test_a_name_that_no_file_system_takes_is_wrong_usage(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be made: File name too long"):
        layout.create(tmp_path / ("x" * 300), "baseline", 42, NOON)
    with pytest.raises(UsageError, match="cannot be made: embedded null byte"):
        layout.numbered(tmp_path / "a\0b", "suite")


def test_a_full_disk_is_no_wrong_usage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(Path, "mkdir", full)
    with pytest.raises(HighwaterError, match="cannot be made: No space left on device") as refused:
        layout.numbered(tmp_path / "out", "suite")
    assert refused.value.exit_code == 4


@pytest.mark.parametrize("make", [Path.mkdir, Path.touch])
def test_what_is_in_the_way_of_the_link_to_the_last_run_stays_and_no_run_begins(
    tmp_path: Path, make: Callable[[Path], None]
) -> None:
    """As a downloaded artifact, in which the link has become a folder: it would be taken for the last run."""
    make(tmp_path / "latest")
    with pytest.raises(UsageError, match="latest: in the way of the link to the last run"):
        layout.create(tmp_path, "baseline", 42, NOON)
    assert [path.name for path in tmp_path.iterdir()] == ["latest"]


def test_a_path_that_cannot_be_looked_at_holds_no_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(RunDirectoryError, match="cannot be read: File name too long"):
        layout.open_run(tmp_path / ("x" * 300))

    def forbidden(path: Path) -> bool:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))

    monkeypatch.setattr(Path, "exists", forbidden)
    with pytest.raises(RunDirectoryError, match="cannot be read: Permission denied"):
        layout.open_run(tmp_path)


def test_what_is_read_as_a_whole_is_a_file_and_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A pipe would keep the reader waiting, and a device never ends."""
    (tmp_path / "file").write_bytes(b"12345")
    assert layout.read_whole(tmp_path / "file") == b"12345"
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "device").symlink_to("/dev/zero")
    for name in ("pipe", "device"):
        with pytest.raises(HistoryError, match=f"{name}: cannot be read: it is no file"):
            layout.read_whole(tmp_path / name)
    monkeypatch.setattr(layout, "MOST_BYTES", 4)
    with pytest.raises(HistoryError, match="file: cannot be read: longer than"):
        layout.read_whole(tmp_path / "file")
