"""Many names in a sentence: the first of them, and how many there are besides."""

from collections.abc import Sequence


def first_of(names: Sequence[str], most: int) -> str:
    """ "a, b and 7 more": at most `most` of them; "" if there are none."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return f"{', '.join(names[:most])}{more}"
