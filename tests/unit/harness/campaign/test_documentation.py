"""docs/scenarios.md has the metrics and the shipped scenarios that there are."""

from pathlib import Path

import pytest
from fakes.run.suites import record, row

from harness.campaign import documentation
from harness.campaign.suites.files.record import write_record


def test_the_page_holds_the_tables_of_the_metrics_and_the_scenarios() -> None:
    """`python -m harness.campaign.documentation` writes them."""
    page = documentation.PAGE.read_text()
    assert documentation.rewritten(page) == page


def test_the_page_holds_the_situations_and_where_a_scenario_is_milder() -> None:
    lines = documentation.PAGE.read_text().splitlines()
    assert "| 15b | and a follower dies | `quorum-loss-follower-kill` |" in lines
    (zombie,) = [line for line in lines if line.startswith("| 9a | for 60 s |")]
    assert zombie == "| 9a | for 60 s | for 12 s | the length decides how much is lost, not whether |"


def test_a_metric_names_the_lines_that_may_bound_it() -> None:
    rows = documentation.metrics_table().splitlines()
    assert "| `acked.count` | acknowledged sends | `accept`, `require` |" in rows
    assert (
        "| `offline.max` | the longest time that a partition had no leader, a duration | `require` |" in rows
    )


def test_what_a_suite_observed_is_written_only_if_it_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = tmp_path / "scenarios.md"
    page.write_text(documentation.PAGE.read_text())
    monkeypatch.setattr(documentation, "PAGE", page)
    before = page.read_text()
    assert documentation.main([]) == 0
    assert page.read_text() == before
    write_record(tmp_path, record(row(0, "PASS")))
    assert documentation.main([str(tmp_path)]) == 0
    after = page.read_text()
    assert "Observed by `highwater suite small --seed 7`, version 0:\n\n| scenario | expected | " in after
    assert "| `demo` | not known | not known | " in after
    assert documentation.rewritten(after) == after
    more = [tmp_path / "again", tmp_path / "once-more"]
    for directory, seed in zip(more, (8, 9), strict=True):
        directory.mkdir()
        write_record(directory, record(row(0, "PASS")).model_copy(update={"seed": seed}))
    first = "Observed by `highwater suite small --seed 7`"
    assert documentation.main([str(tmp_path), str(more[0])]) == 0
    after = page.read_text()
    assert f"{first}, and by a suite of some of them, seed 8, version 0:" in after
    assert "| 2 PASS |" in after
    assert documentation.main([str(tmp_path), *map(str, more)]) == 0
    after = page.read_text()
    assert f"{first}, and by suites of some of them, seeds 8, 9, version 0:" in after
    assert "| 3 PASS |" in after
