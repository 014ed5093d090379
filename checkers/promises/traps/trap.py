"""One trap, and what finds it."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

from checkers.promises.configuration import Configuration


@dataclass(frozen=True, slots=True, kw_only=True)
class Trap:
    """One that the configuration falls into. `change` is the setting to change, and its value.

    `shown_by` are clauses of a promise: a run of the first that the configuration has shows what the trap
    does. Empty: it breaks nothing that a run could show.
    """

    id: str
    sentence: str
    change: str
    shown_by: tuple[str, ...] = ()


Find: TypeAlias = Callable[[Configuration], Iterator[Trap]]
"""The traps of one kind that a configuration falls into."""


def milliseconds(seconds: float) -> int:
    """As Kafka writes a time."""
    return round(seconds * 1000)
