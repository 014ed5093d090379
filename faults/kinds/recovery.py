"""Evidence that a node or a partition is back, the same for all faults.

A node is back when its process runs and it answers a request through one of its edges: a broker answers
only after it has registered and was unfenced. The ISR is back when every replica that was in it before is in
it again.
"""

from collections.abc import Iterable

from compose.protocols import Edge
from faults.kinds.base import Site

PROBE_S = 0.5
"""A served edge answers within milliseconds, on a busy machine within a tenth of a second."""


def not_back(site: Site, nodes: Iterable[int]) -> str:
    """What is not back yet of `nodes` and of the ISR; "" if all is."""
    return not_serving(site, nodes) or isr_is_short(site)


def not_serving(site: Site, nodes: Iterable[int]) -> str:
    """Which of `nodes` does not run, or answers nobody; "" if all serve."""
    for node in nodes:
        status = site.cluster.state(node).status
        if status != "running":
            return f"node {node} is {status}"
        ways = incoming(site, node)
        if ways and not site.cluster.mesh.probe(ways, within_s=PROBE_S):
            return f"node {node} runs, but answers on none of {', '.join(map(str, ways))}"
    return ""


def incoming(site: Site, node: int) -> tuple[Edge, ...]:
    """The edges to `node`, the clients' too."""
    return tuple(edge for edge in site.cluster.mesh.edges if edge.target == node)


def isr_is_short(site: Site) -> str:
    """Which partition lacks a replica that was in sync before the fault; "" if none."""
    for topic in dict.fromkeys(topic for topic, _ in site.isr):
        for state in site.view.describe(topic):
            was = set(site.isr.get((topic, state.partition), ()))
            if not was <= set(state.isr):
                return f"isr of {topic}-{state.partition} is {list(state.isr)}, was {sorted(was)}"
    return ""
