"""How many bytes crossed each edge, live, from the kernel's own counters of the proxy's sockets.

Toxiproxy's metrics count a connection's bytes when it *ends*, so the counter of an edge stands still as
long as its connections live, cut or not: no evidence of anything. The kernel counts each socket's bytes as
they go.

What is counted is what the proxy has sent back to the source, that is, answers that came through. The other
direction would mislead: into a black hole the source still sends requests, and the proxy still takes them.
"""

import re
import threading
from collections.abc import Callable, Mapping

from compose.protocols import Edge

# Every TCP socket that is or was connected, one line each, with the fields of the kernel's struct tcp_info.
SS = ("ss", "--tcp", "--numeric", "--info", "--oneline", "--no-header")

SENT = re.compile(r"\bbytes_sent:(\d+)")
SENT_AGAIN = re.compile(r"\bbytes_retrans:(\d+)")


class Traffic:
    """Bytes by edge. `places` maps the address:port on which an edge listens to that edge.

    A socket that was closed keeps its last count, so a sum never falls; what it sent after that reading is
    missed, and so is a connection that began and ended between two readings.
    """

    def __init__(self, places: Mapping[str, Edge], read: Callable[[], str]) -> None:
        self._places, self._read = places, read
        self._sent: dict[tuple[str, str], int] = {}
        self._lock = threading.Lock()

    def bytes(self) -> dict[Edge, int]:
        """Bytes of answers per edge until now."""
        listed = sockets(self._read())
        with self._lock:
            for socket, sent in listed.items():
                if socket[0] in self._places:
                    self._sent[socket] = max(sent, self._sent.get(socket, 0))
            total = dict.fromkeys(self._places.values(), 0)
            for (place, _peer), sent in self._sent.items():
                total[self._places[place]] += sent
        return total


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
