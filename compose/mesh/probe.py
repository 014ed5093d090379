"""What comes of a Kafka request through an edge? It is sent through the edge's own proxy.

Counters prove nothing on an edge without traffic, such as the one to a leader that leads nothing any more.
So a request is sent from the proxy's own network to the address on which the edge listens: it crosses
that edge and no other.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import get_args

from compose.errors import MeshError
from compose.protocols import REQUEST_BYTES, Edge, Reached, Transfer

SCRIPT = "/highwater/probe.pl"
REACHED = "/highwater/reached.pl"
TRANSFER = "/highwater/transfer.pl"

FARTHEST: tuple[Reached, ...] = get_args(Reached)
"""In order, so that of an edge of two proxies the one counts that passes more."""


class EdgeProbe:
    """Sends a request through edges. `places` maps the address:port on which an edge listens to that edge.

    `run` runs a command where the proxy's addresses are reachable, and returns what it printed.
    """

    def __init__(self, places: Mapping[str, Edge], run: Callable[[Sequence[str]], str]) -> None:
        self._places, self._run = places, run

    def probe(self, edges: Collection[Edge], *, within_s: float) -> frozenset[Edge]:
        """Those of `edges` through which an answer came in time; an edge of two proxies needs one answer."""
        return frozenset(self.round_trips(edges, within_s=within_s))

    def round_trips(self, edges: Collection[Edge], *, within_s: float) -> dict[Edge, float]:
        """Seconds to the answer by edge, if one came in time; of an edge of two proxies, the sooner one."""
        found: dict[Edge, float] = {}
        for edge, (seconds,) in self._asked(edges, SCRIPT, str(within_s)):
            found[edge] = min(float(seconds), found.get(edge, within_s))
        return found

    def reached(self, edges: Collection[Edge], *, within_s: float) -> dict[Edge, Reached]:
        """How far one request came by edge; of an edge of two proxies, the one that came farther."""
        found: dict[Edge, Reached] = {}
        for edge, (word,) in self._asked(edges, REACHED, str(within_s)):
            found[edge] = max(_reached(word), found.get(edge, FARTHEST[0]), key=FARTHEST.index)
        return found

    def transfers(self, edges: Collection[Edge], *, requests: int, within_s: float) -> dict[Edge, Transfer]:
        """Many requests by edge, if all were answered in time; of an edge of two proxies, the sooner ones."""
        found: dict[Edge, Transfer] = {}
        words = (str(within_s), str(requests), str(REQUEST_BYTES))
        for edge, (answered, seconds) in self._asked(edges, TRANSFER, *words):
            transfer = Transfer(
                request_bytes=requests * REQUEST_BYTES, answer_bytes=int(answered), took_s=float(seconds)
            )
            found[edge] = min(transfer, found.get(edge, transfer), key=lambda each: each.took_s)
        return found

    def _asked(self, edges: Collection[Edge], script: str, *words: str) -> Iterator[tuple[Edge, list[str]]]:
        """What a script prints of each place of the edges, by the edge."""
        places = [place for place, edge in self._places.items() if edge in edges]
        if not places:
            return
        for line in self._run(["perl", script, *words, *places]).splitlines():
            place, *shown = line.split()
            yield self._places[place], shown


def _reached(word: str) -> Reached:
    for each in FARTHEST:
        if each == word:
            return each
    raise MeshError(f"{REACHED}: unknown answer {word!r}")
