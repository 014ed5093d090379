"""What a probe of the cluster shows: counters at one time, and whether they prove something.

Proof that a thing has stopped is a counter that moved before and stands still after. It stands still when
samples over at least STILL_NS agree; the effect is dated to the first of them. A reading may take long, and
show what was at any moment of it: so the time counts from the end of the first to the beginning of the last.
"""

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from typing import Generic, Literal, TypeVar

from compose.protocols import Edge
from faults.clock import ns

STILL_NS = ns(0.75)
"""An idle follower's fetch returns after 500 ms (`replica.fetch.wait.max.ms`), and the active controller
appends a NO_OP as often, which every node fetches and writes: a live counter moves within this time."""

Counter = Literal["edges", "cpu", "logs"]
"""The counters of a `CounterSample`, by which a kind of fault can be proven."""

Json = Mapping[str, object]
Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")


@dataclass(frozen=True, slots=True, kw_only=True)
class Proven:
    """It is so since `since_ns`; `values` are the ones that show it, ready for JSON."""

    since_ns: int
    values: Json


@dataclass(frozen=True, slots=True, kw_only=True)
class NotYet:
    """It is not so, or not yet; `instead` is what the probe found."""

    instead: str


Evidence = Proven | NotYet


@dataclass(frozen=True, slots=True, kw_only=True)
class CounterSample:
    """Counters at one time: bytes per edge, CPU nanoseconds and log bytes per node."""

    at_ns: int
    edge_bytes: Mapping[Edge, int] = field(default_factory=dict)
    cpu_ns: Mapping[int, int] = field(default_factory=dict)
    log_bytes: Mapping[int, int] = field(default_factory=dict)


@dataclass(slots=True)
class Stillness(Generic[Key]):
    """Samples of some counters, since when none of them has moved, and until when that is known."""

    since_ns: int = -1
    last_ns: int = -1
    values: Mapping[Key, int] = field(default_factory=dict)

    def add(self, began_ns: int, ended_ns: int, values: Mapping[Key, int]) -> None:
        """Add a sample, and when its reading began and ended."""
        if values != self.values or self.since_ns < 0:
            self.since_ns = ended_ns
        self.values, self.last_ns = values, began_ns

    @property
    def proven(self) -> bool:
        """Whether the counters have stood still for long enough."""
        return self.since_ns >= 0 and self.last_ns - self.since_ns >= STILL_NS


def moved(before: Mapping[Key, int], after: Mapping[Key, int]) -> dict[Key, int]:
    """How far each counter that both have has moved, without those that stand still."""
    return {key: after[key] - before[key] for key in before if key in after and after[key] != before[key]}


def shorter_by(before: Mapping[str, int], after: Mapping[str, int]) -> int:
    """By how many bytes files are shorter, or gone; sizes by path.

    Each by itself: one whose deletion a power cut has undone makes up for nothing.
    """
    return sum(max(0, size - after.get(path, 0)) for path, size in before.items())


def seconds(nanoseconds: int) -> float:
    """For evidence: nanoseconds as seconds, to the millisecond."""
    return round(nanoseconds / 1e9, 3)


def by_name(values: Mapping[Key, Value]) -> dict[str, Value]:
    """For evidence: a mapping under keys that JSON can carry."""
    return {str(key): value for key, value in values.items()}
