"""docs/faults.md describes the kinds of faults that there are."""

import pytest

from faults.documentation import PAGE, kinds_table, rewritten, storm_defaults
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
    """Its keys, its shortest hold, whether a storm draws it, and what it costs."""
    rows = kinds_table().splitlines()
    assert "| `disk-stall` | `target` | 1.5s | yes | nothing |" in rows
    assert "| `partition` | `target`, `edges`, `mode` | 1s | yes | nothing |" in rows
    assert "| `stop` | `target` | 0s | no | a controlled shutdown |" in rows
    assert "| `power-loss` | `target` | 0s | no | an unclean shutdown, unsynced data |" in rows


def test_the_defaults_of_a_storm() -> None:
    """As the code has them."""
    assert storm_defaults() == (
        "Defaults of a storm: `kinds: [partition, pause, disk-stall]`, `hold: [2s, 7s]`, `gap: [0.5s, 2s]`."
    )


def test_a_page_without_markers_is_refused() -> None:
    """It is not overwritten."""
    with pytest.raises(
        ValueError, match=r"no markers <!-- kinds: .* --> and <!-- end of kinds --> in this page"
    ):
        rewritten("# Faults")
