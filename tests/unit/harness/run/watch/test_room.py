"""A load that its disks cannot hold is refused before anything is started."""

import shutil
from pathlib import Path

import pytest

from harness.errors import StepFailed
from harness.run.watch.room import LEFT_FREE, Writes, require


def test_what_fits_is_not_refused(tmp_path: Path) -> None:
    require(Writes(load="a load", by_directory={tmp_path: 1000}))
    require(Writes(load="", by_directory={}))


def test_what_does_not_fit_is_refused_with_its_figures(tmp_path: Path) -> None:
    too_much = shutil.disk_usage(tmp_path).free - LEFT_FREE // 2
    with pytest.raises(StepFailed) as refused:
        require(Writes(load="a load of 2,000/s of 200 bytes for 60m", by_directory={tmp_path: too_much}))
    for text in (
        "a load of 2,000/s of 200 bytes for 60m writes up to ",
        f"to {tmp_path}",
        "512 MiB",
        "next step",
    ):
        assert text in str(refused.value)


def test_directories_on_one_file_system_share_its_room(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "disks").mkdir()
    two_thirds = (shutil.disk_usage(tmp_path).free - LEFT_FREE) * 2 // 3
    require(Writes(load="a load", by_directory={tmp_path / "run": two_thirds}))
    with pytest.raises(StepFailed, match=f"to {tmp_path}/run and {tmp_path}/disks"):
        require(
            Writes(
                load="a load", by_directory=dict.fromkeys((tmp_path / "run", tmp_path / "disks"), two_thirds)
            )
        )
