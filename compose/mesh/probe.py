"""What comes of a Kafka request through an edge? It is sent through the edge's own proxy.

Counters prove nothing on an edge without traffic, such as the one to a leader that leads nothing any more.
So a request is sent from the proxy's own network to the address on which the edge listens: it crosses
that edge and no other. What is timed is sent at the same moment to where the edge leads as well, past the
proxy, which stands in the network of every node: a node that is slow itself is slow in both.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from operator import attrgetter
from typing import get_args

from compose.errors import MeshError
from compose.protocols import Edge, Reached, RoundTrip, Transfer

SCRIPT = "/highwater/probe.pl"
REACHED = "/highwater/reached.pl"
TRANSFER = "/highwater/transfer.pl"

FARTHEST: tuple[Reached, ...] = get_args(Reached)
"""In order, so that of an edge of two proxies the one counts that passes more."""


class EdgeProbe:
    """Sends a request through edges. `places` maps the address:port on which an edge listens to that edge.

    `upstreams` maps it to the address:port where the edge leads. `run` runs a command where all of these
    addresses are reachable, and returns what it printed.
    """

    def __init__(
        self, places: Mapping[str, Edge], upstreams: Mapping[str, str], run: Callable[[Sequence[str]], str]
    ) -> None:
        self._places, self._upstreams, self._run = places, dict(upstreams), run

    def moved(self, node: int, address: str) -> None:
        """The node has another address."""
        for place, edge in self._places.items():
            if edge.target == node:
                self._upstreams[place] = f"{address}:{self._upstreams[place].rpartition(':')[2]}"

    def probe(self, edges: Collection[Edge], *, within_s: float) -> frozenset[Edge]:
        """Those of `edges` through which an answer came in time; an edge of two proxies needs one answer."""
        return frozenset(edge for edge, _ in self._asked(edges, SCRIPT, str(within_s)))

    def round_trips(self, edges: Collection[Edge], *, within_s: float) -> dict[Edge, RoundTrip]:
        """By edge, if both answers came in time; of an edge of two proxies, the sooner one."""
        found: dict[Edge, RoundTrip] = {}
        for edge, (took,), (direct,) in self._compared(edges, SCRIPT, str(within_s)):
            trip = RoundTrip(took_s=float(took), direct_s=float(direct))
            found[edge] = min(trip, found.get(edge, trip), key=attrgetter("took_s"))
        return found

    def reached(self, edges: Collection[Edge], *, within_s: float) -> dict[Edge, Reached]:
        """How far one request came by edge; of an edge of two proxies, the one that came farther."""
        found: dict[Edge, Reached] = {}
        for edge, (word,) in self._asked(edges, REACHED, str(within_s)):
            found[edge] = max(_reached(word), found.get(edge, FARTHEST[0]), key=FARTHEST.index)
        return found

    def transfers(self, edges: Collection[Edge], size_bytes: int, *, within_s: float) -> dict[Edge, Transfer]:
        """By edge, if the whole answer came in time both ways; of an edge of two proxies, the sooner one."""
        found: dict[Edge, Transfer] = {}
        words = (str(within_s), str(size_bytes))
        for edge, through, (_, _, small, large) in self._compared(edges, TRANSFER, *words):
            request, answer, small_took, took = through
            transfer = Transfer(
                request_bytes=int(request),
                answer_bytes=int(answer),
                small=RoundTrip(took_s=float(small_took), direct_s=float(small)),
                took_s=float(took),
                direct_s=float(large),
            )
            found[edge] = min(transfer, found.get(edge, transfer), key=attrgetter("took_s"))
        return found

    def _asked(self, edges: Collection[Edge], script: str, *words: str) -> Iterator[tuple[Edge, list[str]]]:
        """What a script prints of each place of the edges, by the edge."""
        for place, shown in self._printed(self._places_of(edges), script, *words).items():
            yield self._places[place], shown

    def _compared(
        self, edges: Collection[Edge], script: str, *words: str
    ) -> Iterator[tuple[Edge, list[str], list[str]]]:
        """The same, with what it prints of where the place leads; of those of which it prints both."""
        leads_to = {place: self._upstreams[place] for place in self._places_of(edges)}
        printed = self._printed([*leads_to, *dict.fromkeys(leads_to.values())], script, *words)
        for place, upstream in leads_to.items():
            if place in printed and upstream in printed:
                yield self._places[place], printed[place], printed[upstream]

    def _places_of(self, edges: Collection[Edge]) -> list[str]:
        return [place for place, edge in self._places.items() if edge in edges]

    def _printed(self, addresses: Sequence[str], script: str, *words: str) -> dict[str, list[str]]:
        """The words after each address."""
        if not addresses:
            return {}
        lines = self._run(["perl", script, *words, *addresses]).splitlines()
        return {address: shown for address, *shown in map(str.split, lines)}


def _reached(word: str) -> Reached:
    for each in FARTHEST:
        if each == word:
            return each
    raise MeshError(f"{REACHED}: unknown answer {word!r}")
