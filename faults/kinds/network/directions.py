"""The key `direction`: "to" are the bytes that the target of an edge gets, requests; "from" its answers."""

from compose.impairments import BOTH, Direction
from faults.choices import parse_choice
from faults.errors import BadStep
from faults.kinds.fault.step import Words


def parse_direction(words: Words) -> Direction:
    """One direction; without a word, that of the answers."""
    return parse_choice(words.get("direction", "from"), "direction", BOTH)


def parse_directions(words: Words) -> tuple[Direction, ...]:
    """One direction, or "both", which is also what is meant without a word."""
    if words.get("direction", "both") == "both":
        return BOTH
    try:
        return (parse_direction(words),)
    except BadStep:
        raise BadStep("direction", words["direction"], (*BOTH, "both")) from None


def write_directions(directions: tuple[Direction, ...]) -> str:
    """The word that `parse_directions` reads back."""
    return "both" if directions == BOTH else directions[0]
