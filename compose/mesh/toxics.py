"""From all that faults do to an edge to the one state that its proxies must be in.

Toxiproxy has toxics of its own for each impairment; each direction of a connection goes through a chain of
them. Of one kind and direction there is one toxic at most, so that a change of many is a change of few:

- What is refused needs no toxic: the proxy does not listen.
- What swallows or resets a direction stands alone in it, since nothing passes that others could change.
- Delays add up, and so do their jitters, as on a path of several slow links.
- Of several rates the lowest counts; of several slices the smallest size and the longest delay.
- What a rate or slices have held back for longer than a delay is not delayed again: Toxiproxy counts a delay
  from when it has read a byte (LatencyToxic in toxics/latency.go).
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal

from compose.impairments import (
    BOTH,
    Delayed,
    Direction,
    Impairment,
    Refused,
    Reset,
    Sliced,
    Swallowed,
    Throttled,
)

Stream = Literal["upstream", "downstream"]

STREAMS: Mapping[Direction, Stream] = {"to": "upstream", "from": "downstream"}

SWALLOWS = "timeout"
"""The type of the toxic that swallows; with a time-out of 0 it closes connections only when it is removed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Toxic:
    """One toxic as Toxiproxy has it; `attributes` in its units."""

    type: str
    stream: str
    attributes: Mapping[str, int]
    toxicity: float = 1.0

    @property
    def name(self) -> str:
        """Its name within a proxy."""
        return f"{self.type}_{self.stream}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """How a proxy is to be: whether it listens, and its toxics by name, in the order of their chains."""

    enabled: bool = True
    toxics: Mapping[str, Toxic] = field(default_factory=dict)

    def __str__(self) -> str:
        if not self.enabled:
            return "disabled"
        shown = (f"{name} {dict(self.toxics[name].attributes)}" for name in sorted(self.toxics))
        return f"open with {', '.join(shown)}" if self.toxics else "open without toxics"


def setting_of(impairments: Collection[Impairment]) -> Setting:
    """The one state in which a proxy does all of this."""
    if any(isinstance(each, Refused) for each in impairments):
        return Setting(enabled=False)
    toxics = [toxic for direction in BOTH for toxic in _of_direction(impairments, direction)]
    return Setting(toxics={toxic.name: toxic for toxic in toxics})


def _of_direction(impairments: Iterable[Impairment], direction: Direction) -> Iterator[Toxic]:
    stream = STREAMS[direction]
    here = [each for each in impairments if direction in _directions(each)]
    if any(isinstance(each, Swallowed) for each in here):
        yield Toxic(type=SWALLOWS, stream=stream, attributes={"timeout": 0})
    elif any(isinstance(each, Reset) for each in here):
        yield Toxic(type="reset_peer", stream=stream, attributes={"timeout": 0})
    else:
        yield from _passing(here, stream)


def _directions(impairment: Impairment) -> tuple[Direction, ...]:
    match impairment:
        case Refused():
            return ()
        case Swallowed(directions=directions):
            return directions
        case _:
            return (impairment.direction,)


def _passing(here: Collection[Impairment], stream: Stream) -> Iterator[Toxic]:
    """The toxics of a direction that passes bytes, in the order of their chain.

    What holds bytes back comes first: a toxic is taken away only after it has handed on what it holds, and
    what does not take that within 5 s loses it. A latency takes everything.
    """
    if rates := [each.bytes_per_s for each in here if isinstance(each, Throttled)]:
        yield Toxic(type="bandwidth", stream=stream, attributes={"rate": max(1, min(rates) // 1000)})
    if slices := [each for each in here if isinstance(each, Sliced)]:
        delay_us = round(1_000_000 * max(each.delay_s for each in slices))
        size = min(each.size_bytes for each in slices)
        attributes = {"average_size": size, "size_variation": 0, "delay": delay_us}
        yield Toxic(type="slicer", stream=stream, attributes=attributes)
    if delays := [each for each in here if isinstance(each, Delayed)]:
        delay_ms = round(1000 * sum(each.delay_s for each in delays))
        jitter_ms = round(1000 * sum(each.jitter_s for each in delays))
        yield Toxic(type="latency", stream=stream, attributes={"latency": delay_ms, "jitter": jitter_ms})
