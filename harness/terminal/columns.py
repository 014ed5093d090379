"""Rows of text below each other in columns."""

from collections.abc import Iterator, Sequence


def columns(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """A line for each row; all have as many cells as the first, and the last one is as long as it likes."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]) - 1)]
    for row in rows:
        cells = [text.ljust(width) for text, width in zip(row[:-1], widths, strict=True)]
        yield "  ".join([*cells, row[-1]]).rstrip()
