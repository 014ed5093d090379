"""docs/accept.md names every clause with its kind, every trap, every key of the file and of accept.json."""

import re
from pathlib import Path
from typing import get_args

import pytest

from checkers.promises.clauses import KINDS
from checkers.promises.search.search import MOST_RUNS, TIME_LIMIT_S
from checkers.promises.traps import of_clusters, of_producers, of_topics
from harness.campaign.accept.configuration.configuration_file import AcceptFile, parse_configuration, profiles
from harness.campaign.accept.matrix.matrix import COLUMNS, SEARCHED, CellRow, Observed
from harness.campaign.accept.record import AcceptRecord, SearchRow, Status

ROOT = Path(__file__).parents[5]
PAGE = (ROOT / "docs/accept.md").read_text()
ID = re.compile(r'id="([a-z0-9-]+)"')


def test_every_clause_has_a_row_with_its_kind():
    rows = re.findall(r"^\| `([a-z-]+)` \| (kept|lost|available|unavailable) \|", PAGE, re.MULTILINE)
    assert dict(rows) == KINDS


@pytest.mark.parametrize("module", [of_topics, of_producers, of_clusters])
def test_every_trap_is_named(module):
    found = ID.findall(Path(module.__file__).read_text())
    assert len(found) >= 7
    assert [trap for trap in found if f"`{trap}`" not in PAGE] == []


def test_every_key_is_named():
    for key in (*AcceptFile.model_fields, *SearchRow.model_fields):
        assert f"`{key}`" in PAGE, key
    assert {"clauses[]", "traps[]", "searches[]"} <= set(re.findall(r"`([a-z_]+\[\])`", PAGE))
    assert {"name", "settings", "required_missing", "left_out", "remarks"} <= set(AcceptRecord.model_fields)
    assert [key for key in AcceptRecord.model_fields if f"`{key}" not in PAGE] == [
        "schema_version",
        "tool_version",
    ]
    for key in (*CellRow.model_fields, *Observed.model_fields):
        assert f"`{key}`" in PAGE or f"`cells[].{key}[]`" in PAGE, key


def test_every_status_and_every_schedule_of_the_matrix_is_described():
    for status in ("the cluster disagrees", "none found", "not searched"):
        assert status in get_args(Status)
        assert f"*{status}*" in PAGE
    assert [name for name in (*(each.name for each in COLUMNS), SEARCHED) if f"`{name}`" not in PAGE] == []


def test_the_bounds_of_a_search_are_those_that_it_has():
    text = " ".join(PAGE.split())
    assert f"after {MOST_RUNS:,} simulated runs" in text
    assert f"`--search-limit`, {TIME_LIMIT_S:g}s each" in text


def test_the_example_is_a_configuration():
    text = PAGE.split("```yaml\n")[1].split("```")[0]
    asked = parse_configuration(text, "accept.md")
    assert (asked.name, asked.topic.config) == ("orders", {"min.insync.replicas": "2"})


def test_every_profile_is_described():
    assert [name for name in profiles() if f"`{name}`" not in PAGE] == []
