"""docs/faults.md describes the kinds of faults that there are."""

import pytest

from faults.documentation import PAGE, kinds_table, rewritten, storm_table
from faults.kinds.registry import KINDS


def test_the_page_holds_the_tables_of_the_registry() -> None:
    """`python -m faults.documentation` writes them."""
    page = PAGE.read_text()
    assert rewritten(page) == page


def test_each_kind_has_a_row_in_both_tables() -> None:
    """With its name in the first column."""
    firsts = [line.split(" | ")[0] for line in kinds_table().splitlines() if line.startswith("| `")]
    kinds = [f"| `{name}`" for name in KINDS]
    assert firsts == ["| `do:`", *kinds, "| `do:`", *kinds]


def test_the_terms_of_a_kind() -> None:
    """Its keys, its shortest hold, its weight in a storm, what it costs, and how long its changes take."""
    rows = kinds_table().splitlines()
    assert "| `disk-stall` | `target`, `log_dir` | 1.5s | weight 2 | nothing | 3s, 2s |" in rows
    partition = (
        "| `partition` | `target`, `edges`, `mode`, `direction` | 1s | weight 4 | nothing | 1.5s, 1.5s |"
    )
    assert partition in rows
    assert "| `stop` | `target` | 0s | weight 1 | a controlled shutdown | 2s and its wait, 2.5s |" in rows
    power_loss = "| `power-loss` | `target` | 0s | weight 2 | an unclean shutdown, unsynced data | 2.5s, 3s |"
    assert power_loss in rows
    failure = (
        "| `log-dir-failure` | `target`, `log_dir` | 3s | no | an unclean shutdown, unsynced data | 3s, 12s |"
    )
    assert failure in rows


def test_the_intensities_of_a_storm() -> None:
    """As the code has them."""
    assert storm_table().splitlines()[2:] == [
        "| `gentle` | 1 to 2 | 2s to 5s | 3s to 6s |",
        "| `normal` | 2 to 3 | 2s to 7s | 0.5s to 2s |",
        "| `hard` | 3 to 5 | 3s to 12s | 0s to 0.5s |",
    ]


def test_a_page_without_markers_is_refused() -> None:
    """It is not overwritten."""
    with pytest.raises(
        ValueError, match=r"no markers <!-- kinds: .* --> and <!-- end of kinds --> in this page"
    ):
        rewritten("# Faults")
