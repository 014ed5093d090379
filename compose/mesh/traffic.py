"""How many bytes crossed each edge, live, from the kernel's own counters of the proxy's sockets.

Toxiproxy's metrics count a connection's bytes when it *ends*, so the counter of an edge stands still as
long as its connections live, cut or not: no evidence of anything. The kernel counts each socket's bytes as
they go.

What is counted is what the proxy has sent back to the source, that is, answers that came through. The other
direction would mislead: into a black hole the source still sends requests, and the proxy still takes them.
"""

import re
import threading
import time
from collections.abc import Callable, Mapping

from compose.protocols import Edge

# Every TCP socket that is or was connected, one line each, with the fields of the kernel's struct tcp_info.
SS = ("ss", "--tcp", "--numeric", "--info", "--oneline", "--no-header")

SENT = re.compile(r"\bbytes_sent:(\d+)")
SENT_AGAIN = re.compile(r"\bbytes_retrans:(\d+)")


ENDED_S = 60.0
"""A socket that no reading has listed for so long has ended. One reading may miss a socket that is there:
the kernel lists them while others come and go."""


class Traffic:
    """Bytes by edge. `places` maps the address:port on which an edge listens to that edge.

    A socket that was closed keeps its last count, so a sum never falls; what it sent after that reading is
    missed, and so is a connection that began and ended between two readings. Each probe of an edge is a
    connection, of which a night has hundreds of thousands: of those that have ended only the sum is kept.
    """

    def __init__(
        self,
        places: Mapping[str, Edge],
        read: Callable[[], str],
        now_s: Callable[[], float] = time.monotonic,
    ) -> None:
        self._places, self._read, self._now_s = places, read, now_s
        self._sent: dict[tuple[str, str], int] = {}
        self._missing_since_s: dict[tuple[str, str], float] = {}
        self._ended = dict.fromkeys(places.values(), 0)
        self._lock = threading.Lock()

    def bytes(self) -> dict[Edge, int]:
        """Bytes of answers per edge until now."""
        listed = sockets(self._read())
        with self._lock:
            for socket, sent in listed.items():
                if socket[0] in self._places:
                    self._sent[socket] = max(sent, self._sent.get(socket, 0))
            self._let_go(listed)
            total = dict(self._ended)
            for (place, _peer), sent in self._sent.items():
                total[self._places[place]] += sent
        return total

    def _let_go(self, listed: Mapping[tuple[str, str], int]) -> None:
        """Keep the count of each socket that has ended with its edge, and not its name."""
        now_s = self._now_s()
        missing = self._sent.keys() - listed.keys()
        self._missing_since_s = {each: self._missing_since_s.get(each, now_s) for each in missing}
        for socket, since_s in tuple(self._missing_since_s.items()):
            if now_s - since_s >= ENDED_S:
                self._ended[self._places[socket[0]]] += self._sent.pop(socket)
                del self._missing_since_s[socket]


def sockets(text: str) -> dict[tuple[str, str], int]:
    """From the output of `SS`: bytes sent, without repeats, by (local, peer) address:port."""
    found = {}
    for line in text.splitlines():
        fields = line.split()
        if len(fields) >= 5 and ":" in fields[3]:
            sent, again = SENT.search(line), SENT_AGAIN.search(line)
            found[(_plain(fields[3]), _plain(fields[4]))] = _number(sent) - _number(again)
    return found


def _number(match: re.Match[str] | None) -> int:
    return int(match[1]) if match else 0


def _plain(address: str) -> str:
    """IPv4 written as IPv6, as a dual-stack listener's sockets are shown, without its prefix."""
    return address.replace("[::ffff:", "").replace("]", "")
