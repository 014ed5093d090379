"""Evidence that a node or a partition is back, the same for all faults.

A node is back when its process runs and it answers a request through one of its edges: a broker answers
only after it has registered and was unfenced. The ISR is back when every replica that was in it before is in
it again.
"""

from collections.abc import Iterable

from compose.protocols import Edge
from faults.kinds.base import Injection, StepT
from faults.kinds.evidence import Evidence, NotYet, Proven

PROBE_S = 0.5
"""A served edge answers within milliseconds, on a busy machine within a tenth of a second."""


def answering(injection: Injection[StepT], nodes: tuple[int, ...]) -> Evidence:
    """Do all `nodes` serve again, and is the ISR what it was?"""
    if lacking := not_back(injection, nodes):
        return NotYet(instead=lacking)
    return Proven(since_ns=injection.clock.now_ns(), values={"answering": list(nodes)})


def not_back(injection: Injection[StepT], nodes: Iterable[int]) -> str:
    """What is not back yet of `nodes` and of the ISR; "" if all is."""
    return not_serving(injection, nodes) or isr_is_short(injection)


def not_serving(injection: Injection[StepT], nodes: Iterable[int]) -> str:
    """Which of `nodes` does not run, or answers on none of its edges; "" if all serve."""
    for node in nodes:
        status = injection.cluster.state(node).status
        if status != "running":
            return f"node {node} is {status}"
        edges = incoming(injection, node)
        if edges and not injection.cluster.mesh.probe(edges, within_s=PROBE_S):
            return f"node {node} runs, but answers on none of {', '.join(map(str, edges))}"
    return ""


def incoming(injection: Injection[StepT], node: int) -> tuple[Edge, ...]:
    """The edges to `node`, the clients' too."""
    return tuple(edge for edge in injection.cluster.mesh.edges if edge.target == node)


def isr_is_short(injection: Injection[StepT]) -> str:
    """Which partition lacks a replica that was in sync before the fault; "" if none."""
    for topic in dict.fromkeys(topic for topic, _ in injection.isr):
        for state in injection.view.describe(topic):
            was = set(injection.isr.get((topic, state.partition), ()))
            if not was <= set(state.isr):
                return f"isr of {topic}-{state.partition} is {list(state.isr)}, was {sorted(was)}"
    return ""
