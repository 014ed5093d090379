"""Columns are as wide as their widest cell; the last one ends where its text does."""

from harness.terminal.columns import columns


def test_cells_stand_below_each_other_and_no_line_ends_in_blanks() -> None:
    rows = [("phase", "run", "outcome"), ("up", "0000_up_7", "nothing is lost"), ("refused", "", "")]
    assert list(columns(rows)) == [
        "phase    run        outcome",
        "up       0000_up_7  nothing is lost",
        "refused",
    ]
