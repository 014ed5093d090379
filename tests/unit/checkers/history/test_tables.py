"""A file of the history gets its name when it is whole, and no other file is written to on the way."""

import os
from collections.abc import Callable
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from checkers.history.tables import TABLES, write_table


@pytest.mark.parametrize("make", [os.link, os.symlink])
def test_a_file_that_a_left_over_links_to_is_not_written(
    tmp_path: Path, make: Callable[[Path, Path], None]
) -> None:
    (tmp_path / "outside").write_text("of somebody else")
    make(tmp_path / "outside", tmp_path / "faults.growing")
    write_table(tmp_path / "faults.parquet", "faults", TABLES["faults"].empty_table())
    assert (tmp_path / "outside").read_text() == "of somebody else"
    assert pq.read_table(tmp_path / "faults.parquet").num_rows == 0
