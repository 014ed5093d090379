"""What kill, stop and power loss share: nodes that are gone for a while, and come back.

The proxy in front of a dead node would still accept, and the connection would hang: clients resumed after 6
to 7 s that way, and after 0.75 s when every edge to the node was closed with it. So its incoming edges are
refused while it is down, and open when its process runs again.
"""

from collections.abc import Iterable
from functools import partial

from faults.kinds.base import Site, try_all
from faults.kinds.evidence import Finding, NotYet, Proven
from faults.kinds.recovery import incoming, not_back


def let_loose(site: Site, node: int) -> None:
    """Before a node ends: thaw its disk, since who waits for a frozen disk cannot end."""
    if site.holds.void("frozen", node):
        site.cluster.thaw(node)


def close_edges(site: Site, node: int) -> None:
    """Refuse connections to the node. Best before it is gone: a proxy that dials nobody hangs for 3 s."""
    site.cluster.mesh.cut(incoming(site, node), mode="refuse", owner=site.owner)


def forget_holds(site: Site, node: int) -> None:
    """After the node has ended: no fault holds it paused or frozen, not even one that is in force."""
    site.holds.void("frozen", node)
    site.holds.void("paused", node)


def bring_back(site: Site, nodes: Iterable[int]) -> None:
    """Start, then open the edges; tries every node, also if one fails."""
    try_all(partial(_bring_back, site, node) for node in nodes)


def _bring_back(site: Site, node: int) -> None:
    site.cluster.start(node)
    site.cluster.mesh.mend(incoming(site, node), owner=site.owner)


def exit_codes(site: Site, nodes: Iterable[int]) -> dict[int, int | None]:
    """The exit code of each node, None for one that lives."""
    return {node: site.cluster.state(node).exit_code for node in nodes}


def back(site: Site, nodes: tuple[int, ...]) -> Finding:
    """Do all nodes serve again, and is the ISR what it was?"""
    if lacking := not_back(site, nodes):
        return NotYet(seen=lacking)
    return Proven(since_ns=site.clock.now_ns(), evidence={"answering": list(nodes)})
