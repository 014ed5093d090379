"""One trap, and what finds it."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

from checkers.promises.configuration import Configuration


@dataclass(frozen=True, slots=True, kw_only=True)
class Trap:
    """One that the configuration falls into. `change` is the setting to change, and its value."""

    id: str
    sentence: str
    change: str


Find: TypeAlias = Callable[[Configuration], Iterator[Trap]]
"""The traps of one kind that a configuration falls into."""


def milliseconds(seconds: float) -> int:
    """As Kafka writes a time."""
    return round(seconds * 1000)
