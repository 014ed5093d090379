"""Many names in a sentence."""

import pytest

from checkers.verdict.names import first_of


@pytest.mark.parametrize(
    ("names", "text"),
    [((), ""), (("a",), "a"), (("a", "b"), "a, b"), (("a", "b", "c", "d"), "a, b and 2 more")],
)
def test_the_first_are_named_and_the_others_counted(names: tuple[str, ...], text: str) -> None:
    assert first_of(names, 2) == text
