"""The parts of docs/ that follow from the records of the properties and from the history's schema.

    python -m checkers.documentation        rewrites them, between their markers

A test compares them with the files, so a record and its documentation cannot differ.
"""

import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from checkers.history.describe import tables_in_markdown
from checkers.history.tables import OPTIONAL
from checkers.properties import DECIDED, Property
from checkers.property_terms import TABLES_OF, EvidenceSource, Family, LossRole

DOCS = Path(__file__).parents[1] / "docs"
Blocks = Mapping[str, str]
"""By the name of its markers, what stands between them."""


def blocks_of() -> Mapping[str, Blocks]:
    """For each document, its parts that are generated."""
    return {
        "verdict.md": {"properties": properties_in_markdown()},
        "properties.md": {each.value: definition_in_markdown(each) for each in Property},
        "history.md": {"tables": tables_in_markdown()},
    }


def properties_in_markdown() -> str:
    """A table of the decided properties for each family that has one, and one of the others."""
    return "\n\n".join([*_decided_families(), _not_decided()])


def _decided_families() -> Iterator[str]:
    for family in Family:
        rows = [f"| {_link(each)} | {each.record.sentence} |" for each in DECIDED if _is_of(each, family)]
        if rows:
            yield "\n".join([f"| {family} | says |", "|---|---|", *rows])


def _is_of(each: Property, family: Family) -> bool:
    return each.record.family is family


def _link(each: Property) -> str:
    return f"[`{each}`](properties.md#{each})"


def _not_decided() -> str:
    rows = [
        f"| {_link(each)} | {each.record.sentence} | {each.record.not_decided} |"
        for each in Property
        if not each.record.implemented
    ]
    return "\n".join(["| not decided | says | why |", "|---|---|---|", *rows])


def definition_in_markdown(each: Property) -> str:
    """What a property's record says of it, as a list."""
    return "\n".join(f"- {line}" for line in _definition(each))


def _definition(each: Property) -> Iterator[str]:
    record = each.record
    yield f"**Says:** {record.sentence}."
    yield f"**Violated when** {record.violated_when}."
    yield f"**Examined is** {record.unit}."
    sources = [source for source in EvidenceSource if source in record.needs]
    yield f"**Decided from:** {', '.join(map(_with_tables, sources))}."
    optional = [table for source in sources for table in TABLES_OF.get(source, ()) if table in OPTIONAL]
    if not record.implemented:
        yield f"**Not decided** in any run: {record.not_decided}."
    elif optional:
        yield f"**Not decided** in a run without {' or '.join(f'`{table}`' for table in optional)}."
    if record.place:
        yield f"**An anomaly's place** is {record.place}."
    if record.loss_role is not LossRole.NONE:
        yield f"**Loss:** {record.loss_role.value}."


def _with_tables(source: EvidenceSource) -> str:
    tables = ", ".join(f"`{table}`" for table in TABLES_OF.get(source, ()))
    return f"{source} ({tables})" if tables else f"{source} (in no table)"


def rewritten(page: str, name: str, block: str, *, module: str = "checkers.documentation") -> str:
    """A page with `block` between the markers of this name, which say that `module` writes it; raises
    ValueError if it lacks them."""
    begin, end = f"<!-- {name}: python -m {module} -->\n\n", f"\n\n<!-- end of {name} -->"
    before, _, rest = page.partition(begin)
    _, found, after = rest.partition(end)
    if not found:
        raise ValueError(f"no markers {begin.strip()} and {end.strip()} in this page")
    return f"{before}{begin}{block}{end}{after}"


def main() -> int:
    """Rewrite the generated parts of all documents."""
    for document, blocks in blocks_of().items():
        path = DOCS / document
        text = path.read_text(encoding="utf-8")
        for name, block in blocks.items():
            text = rewritten(text, name, block)
        path.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
