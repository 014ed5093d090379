"""A value of which a scenario has a few to choose from: `mode: refuse`, `how: kill`."""

from collections.abc import Sequence
from typing import TypeVar

from faults.errors import BadStep

Choice = TypeVar("Choice", bound=str)


def parse_choice(value: object, field: str, allowed: Sequence[Choice]) -> Choice:
    """The one of `allowed` that is written; BadStep names `field` and all of them."""
    for choice in allowed:
        if choice == value:
            return choice
    raise BadStep(field, value, allowed)
