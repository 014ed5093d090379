"""The generated parts of docs/ are those of the records and of the schema, and every property and every
cause has its section."""

import ast
import re
from pathlib import Path

import pytest

from checkers.contract import clauses
from checkers.documentation import DOCS, blocks_of, definition_in_markdown, rewritten
from checkers.history.describe import NOTES, ROW_IS, tables_in_markdown
from checkers.history.tables import TABLES
from checkers.properties import Property

CONTRACT = Path(clauses.__file__).parent
CAUSES = [value for name, value in vars(clauses).items() if name.isupper() and isinstance(value, str)]
OF_PROPERTY = ("Example.", "Look at.", "Not shown.")
OF_CAUSE = ("What happened.", "Does Kafka permit it?", "To change it.")


def sections() -> dict[str, str]:
    """The third-level sections of properties.md, by title."""
    text = (DOCS / "properties.md").read_text(encoding="utf-8")
    parts = re.split(r"^### (.+)\n", re.sub(r"^## .*\n", "", text, flags=re.M), flags=re.M)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


@pytest.mark.parametrize("document", sorted(blocks_of()))
def test_a_document_has_the_generated_parts_of_today(document):
    """Otherwise: python -m checkers.documentation."""
    text = (DOCS / document).read_text(encoding="utf-8")
    for name, block in blocks_of()[document].items():
        assert rewritten(text, name, block) == text


def test_every_property_and_every_cause_has_its_section_in_their_order():
    assert list(sections()) == [*(each.value for each in Property), *CAUSES]


@pytest.mark.parametrize("name", [each.value for each in Property])
def test_a_property_has_an_example_of_three_lines_what_to_look_at_and_what_is_not_shown(name):
    section = sections()[name]
    assert [part for part in OF_PROPERTY if f"\n**{part}**" not in section] == []
    (example,) = re.findall(r"```\n(.*?)\n```", section, flags=re.S)
    assert len(example.splitlines()) == 3
    assert "→" in example.splitlines()[-1]


@pytest.mark.parametrize("cause", CAUSES)
def test_a_cause_says_what_happened_why_kafka_permits_it_or_not_and_how_to_change_it(cause):
    section = sections()[cause]
    assert [part for part in OF_CAUSE if f"\n**{part}** " not in section] == []


def test_every_label_takes_its_cause_from_those_that_are_explained():
    """A cause that is written where a label is made would have no section."""
    made = [
        node
        for path in CONTRACT.glob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    ]
    causes = [node.args[2] for node in made if node.func.id == "Label" and len(node.args) > 2]
    causes += [each.value for node in made for each in node.keywords if each.arg == "cause"]
    assert len(causes) > 10
    assert [ast.unparse(each) for each in causes if isinstance(each, ast.Constant)] == []


def test_links_within_the_documents_lead_somewhere():
    for document in sorted(DOCS.glob("*.md")):
        text = document.read_text(encoding="utf-8")
        for target, anchor in re.findall(r"\]\(([\w.]*\.md)?#([^)]+)\)", text):
            other = (DOCS / target if target else document).read_text(encoding="utf-8")
            assert anchor in {_anchor(title) for title in re.findall(r"^#+ (.+)$", other, flags=re.M)}, (
                document.name,
                anchor,
            )


def _anchor(title: str) -> str:
    return re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")


def test_a_definition_names_its_tables_and_those_without_which_it_is_not_decided():
    assert definition_in_markdown(Property.FENCED_OUT).splitlines()[3:] == [
        "- **Decided from:** partition changes in the metadata log (`metadata`), "
        "broker registrations in the metadata log (`brokers`).",
        "- **Not decided** in a run without `brokers`.",
        "- **An anomaly's place** is the partition, offset -1; the id is broker/leader epoch.",
    ]
    assert definition_in_markdown(Property.TORN_BATCH).splitlines()[3:] == [
        "- **Decided from:** batch headers of the final log (in no table).",
        "- **Not decided** in any run: not collected: batch headers of the final log.",
    ]


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
