"""One trap, and what finds it."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from checkers.promises.configuration import Configuration

Place: TypeAlias = tuple[str, ...]
"""Of a setting in the file of a configuration: ("topic", "config", "min.insync.replicas")."""
Value: TypeAlias = str | int | bool | None
"""None: the setting is left out."""
Change: TypeAlias = Mapping[Place, Value]

OF_TOPIC: Place = ("topic", "config")
OF_BROKERS: Place = ("cluster", "broker_config")
OF_CONTROLLERS: Place = ("cluster", "controller_config")
BROKERS: Place = ("cluster", "brokers")
IN_FLIGHT: Place = ("producer", "max.in.flight.requests.per.connection")
LARGEST_INT = 2**31 - 1
"""Of Kafka's settings of that type."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trap:
    """One that the configuration falls into. With `change` in its file it is accepted, and falls into it no
    more; `beyond` is what no file says: where machines stand, or what to see to besides.

    `shown_by` are clauses of a promise: a run of the first that the configuration has shows what the trap
    does. Empty: it breaks nothing that a run could show.
    """

    id: str
    sentence: str
    change: Change
    beyond: str = ""
    shown_by: tuple[str, ...] = ()

    @property
    def to_change(self) -> str:
        """What to change, in words: "topic: replication: 3, config: min.insync.replicas: 2; …"."""
        tree: dict[str, Any] = {}
        for place, value in self.change.items():
            below = tree
            for key in place[:-1]:
                below = below.setdefault(key, {})
            below[place[-1]] = value
        words = [f"{key}: {_in_words(value)}" for key, value in tree.items()]
        return "; ".join([*words, *([self.beyond] if self.beyond else [])])


Find: TypeAlias = Callable[[Configuration], Iterator[Trap]]
"""The traps of one kind that a configuration falls into."""


def milliseconds(seconds: float) -> int:
    """As Kafka writes a time."""
    return round(seconds * 1000)


def counted(number: int, what: str) -> str:
    """ "1 replica", "2 replicas"."""
    return f"{number} {what}{'s' * (number != 1)}"


def enough_brokers(its: Configuration, wanted: int) -> Change:
    """What gives the cluster at least so many brokers."""
    return {BROKERS: wanted} if its.cluster.brokers < wanted else {}


def _in_words(value: Any) -> str:  # noqa: ANN401 - a map of the file, or a value
    match value:
        case dict():
            return ", ".join(f"{key}: {_in_words(its)}" for key, its in value.items())
        case None:
            return "leave it out"
        case bool():
            return str(value).lower()
    return str(value)
