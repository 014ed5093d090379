"""Rows of text below each other in columns, and text no wider than a terminal."""

import os
import textwrap
from collections.abc import Iterator, Sequence
from itertools import zip_longest
from typing import TextIO

GAP = "  "
LEAST = 12
"""No column is made narrower than this."""

HANGING = "    "
"""Before what did not fit on a line, besides the blanks at its beginning."""


def width_of(stream: TextIO) -> int | None:
    """Columns of a terminal, or as many as COLUMNS says; None: a file or a pipe, whose lines have no end."""
    asked = os.environ.get("COLUMNS", "")
    if asked.isdecimal() and int(asked):
        return int(asked)
    return os.get_terminal_size(stream.fileno()).columns or None if stream.isatty() else None


def wrapped(text: str, width: int | None) -> str:
    """The lines of a text, and what is longer than `width` on several; a word that is longer stays whole."""
    return text if width is None else "\n".join(_wrapped(line, width) for line in text.split("\n"))


def _wrapped(line: str, width: int) -> str:
    if len(line) <= width:
        return line
    words = line.lstrip(" ")
    indent = " " * min(len(line) - len(words), width // 3)
    hanging = indent + HANGING[: width // 6]
    return textwrap.fill(
        words,
        width,
        initial_indent=indent,
        subsequent_indent=hanging,
        break_long_words=False,
        break_on_hyphens=False,
    )


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
