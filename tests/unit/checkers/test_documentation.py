"""The generated tables of docs/ are those of the records and of the schema."""

import pytest

from checkers.documentation import DOCS, TABLES_OF, rewritten
from checkers.history.describe import NOTES, ROW_IS, tables_in_markdown
from checkers.history.tables import TABLES


@pytest.mark.parametrize("document", sorted(TABLES_OF))
def test_a_document_has_the_tables_of_today(document):
    """Otherwise: python -m checkers.documentation."""
    name, table = TABLES_OF[document]
    text = (DOCS / document).read_text(encoding="utf-8")
    assert rewritten(text, name, table()) == text


def test_every_table_is_described_and_no_note_is_about_a_column_that_does_not_exist():
    assert set(ROW_IS) == set(TABLES)
    assert {(table, column) for table, column in NOTES if column not in TABLES[table].names} == set()


def test_a_column_is_named_with_its_type_and_its_note():
    text = tables_in_markdown()
    assert "`outcome` i8 (0 ok, 1 fail: definitely not written, 2 info: unknown)" in text
    assert "`isr` list of i32" in text


def test_a_document_without_markers_is_refused():
    with pytest.raises(ValueError, match="no markers"):
        rewritten("# Nothing generated here\n", "properties", "| a |")
