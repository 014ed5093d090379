"""The tables of docs/ that follow from the records of the properties and from the history's schema.

    python -m checkers.documentation        rewrites them, between their markers

A test compares them with the files, so a record and its documentation cannot differ.
"""

import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType

from checkers.history.describe import tables_in_markdown
from checkers.properties import DECIDED, Property
from checkers.property_terms import EvidenceSource, Family

DOCS = Path(__file__).parents[1] / "docs"


def properties_in_markdown() -> str:
    """A table of the decided properties for each family that has one, and one of the others."""
    return "\n\n".join([*_decided_families(), _not_decided()])


def _decided_families() -> Iterator[str]:
    for family in Family:
        rows = [_decided(each) for each in DECIDED if each.record.family is family]
        if rows:
            header = f"| {family} | says | violated when | examined is | decided from |"
            yield "\n".join([header, "|---|---|---|---|---|", *rows])


def _decided(each: Property) -> str:
    record = each.record
    sources = ", ".join(source.value for source in EvidenceSource if source in record.needs)
    return f"| `{each}` | {record.sentence} | {record.violated_when} | {record.unit} | {sources} |"


def _not_decided() -> str:
    rows = [
        f"| `{each}` | {each.record.family} | {each.record.sentence} | {each.record.violated_when} "
        f"| {each.record.not_decided} |"
        for each in Property
        if not each.record.implemented
    ]
    return "\n".join(
        ["| not decided | family | says | violated when | why |", "|---|---|---|---|---|", *rows]
    )


TABLES_OF: Mapping[str, tuple[str, Callable[[], str]]] = MappingProxyType(
    {"verdict.md": ("properties", properties_in_markdown), "history.md": ("tables", tables_in_markdown)}
)
"""For each document the name of its markers, and what stands between them."""


def rewritten(text: str, name: str, table: str) -> str:
    """A document with `table` between the markers of this name; raises ValueError if it lacks them."""
    begin, end = f"<!-- {name}: python -m checkers.documentation -->\n\n", f"\n\n<!-- end of {name} -->"
    before, _, rest = text.partition(begin)
    _, found, after = rest.partition(end)
    if not found:
        raise ValueError(f"no markers {begin.strip()} and {end.strip()} in this document")
    return f"{before}{begin}{table}{end}{after}"


def main() -> int:
    """Rewrite the tables of all documents."""
    for document, (name, table) in TABLES_OF.items():
        path = DOCS / document
        path.write_text(rewritten(path.read_text(encoding="utf-8"), name, table()), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
