"""Rows of text below each other in columns."""

import textwrap
from collections.abc import Iterator, Sequence
from itertools import zip_longest

GAP = "  "
LEAST = 12
"""No column is made narrower than this."""


def columns(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """A line for each row; all have as many cells as the first, and the last one is as long as it likes."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]) - 1)]
    for row in rows:
        cells = [text.ljust(width) for text, width in zip(row[:-1], widths, strict=True)]
        yield GAP.join([*cells, row[-1]]).rstrip()


def fitted(rows: Sequence[Sequence[str]], width: int) -> Iterator[str]:
    """A text for each row, no line of which is longer than `width`: cells that have no room are wrapped.

    The widest column gives way first; the first one, which has the names, when no other has room to give.
    """
    widths = _widths(rows, width)
    for row in rows:
        cells = [
            textwrap.wrap(text, most, break_on_hyphens=False) for text, most in zip(row, widths, strict=True)
        ]
        yield "\n".join(
            GAP.join(text.ljust(most) for text, most in zip(line, widths, strict=True)).rstrip()
            for line in zip_longest(*cells, fillvalue="")
        )


def _widths(rows: Sequence[Sequence[str]], width: int) -> list[int]:
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    room = width - len(GAP) * (len(widths) - 1)
    while sum(widths) > room and max(widths) > LEAST:
        widest = max(range(1, len(widths)), key=lambda column: widths[column])
        widths[widest if widths[widest] > LEAST else 0] -= 1
    return widths
