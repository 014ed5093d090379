"""The part of docs/selftest.md that follows from the mutants.

    python -m harness.selftest.documentation        rewrites it, between its markers

A test compares it with the file, so a mutant and its documentation cannot differ.
"""

import sys
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

from checkers import documentation
from harness.selftest.mutants.every import MUTANTS

PAGE = Path(__file__).parents[2] / "docs" / "selftest.md"


def mutants_table() -> str:
    """Every mutant as Markdown, a table for each family."""
    return "\n".join(_lines()).rstrip()


def _lines() -> Iterator[str]:
    for family, its in groupby(MUTANTS, key=lambda mutant: mutant.family):
        yield f"| {family} | what is damaged |"
        yield "|---|---|"
        yield from (f"| `{mutant.name}` | {mutant.about} |" for mutant in its)
        yield ""


def rewritten(page: str) -> str:
    """The page with what is between its markers generated anew; ValueError if it has no markers."""
    return documentation.rewritten(page, "mutants", mutants_table(), module="harness.selftest.documentation")


def main() -> int:
    """Rewrite docs/selftest.md."""
    PAGE.write_text(rewritten(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
