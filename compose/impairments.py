"""What a fault does to the connections over an edge, as plain data.

A direction is that of the bytes, seen from the target of the edge: "to" are the requests that the source
sends, "from" the answers of the target. On `2->1` the requests are node 2's fetches, the answers node 1's
records.
"""

from dataclasses import dataclass
from typing import Literal

Direction = Literal["to", "from"]
BOTH: tuple[Direction, ...] = ("to", "from")


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """Connections are closed, and new ones refused."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Swallowed:
    """Connections are accepted, and the bytes of these directions vanish; with one of them, half-open."""

    directions: tuple[Direction, ...] = BOTH


@dataclass(frozen=True, slots=True, kw_only=True)
class Reset:
    """Each connection is reset (TCP RST) instead of passing its first byte in this direction.

    A connection that was open before ends at its next byte, as a rule without the RST.
    """

    direction: Direction = "from"


@dataclass(frozen=True, slots=True, kw_only=True)
class Delayed:
    """The bytes of one direction arrive late: by `delay_s`, give or take `jitter_s`."""

    delay_s: float
    jitter_s: float = 0.0
    direction: Direction = "from"


@dataclass(frozen=True, slots=True, kw_only=True)
class Throttled:
    """Each connection passes at most so many bytes a second in one direction."""

    bytes_per_s: int
    direction: Direction = "from"


@dataclass(frozen=True, slots=True, kw_only=True)
class Sliced:
    """The bytes of one direction pass in slices of at most `size_bytes`, with a delay after each."""

    size_bytes: int
    delay_s: float
    direction: Direction = "from"


Impairment = Refused | Swallowed | Reset | Delayed | Throttled | Sliced


def leaves_answers(impairment: Impairment) -> bool:
    """Whether a request over such an edge is answered at all, if late."""
    return not isinstance(impairment, Refused | Swallowed | Reset)
