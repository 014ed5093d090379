"""Does anything answer through an edge? Asked with a Kafka request through the edge's own proxy.

Counters prove nothing on an edge without traffic, such as the one to a leader that leads nothing any more.
So a request is sent from the proxy's own network to the address on which the edge listens: it crosses
that edge and no other.
"""

from collections.abc import Callable, Collection, Mapping, Sequence

from compose.protocols import Edge

SCRIPT = "/highwater/probe.pl"


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
        places = [place for place, edge in self._places.items() if edge in edges]
        if not places:
            return {}
        found: dict[Edge, float] = {}
        for line in self._run(["perl", SCRIPT, str(within_s), *places]).splitlines():
            place, seconds = line.split()
            edge = self._places[place]
            found[edge] = min(float(seconds), found.get(edge, within_s))
        return found
