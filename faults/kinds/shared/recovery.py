"""Evidence that a node or a partition is back, the same for all faults.

A node is back when its process runs and it answers a request through one of its edges: a broker answers
only after it has registered and was unfenced. The ISR is back when every replica that was in it before is in
it again, as a broker reports it: while none answers, it is not known to be back.
"""

from collections.abc import Iterable, Mapping

from compose.protocols import Edge, PartitionState, View
from faults.kinds.fault.base import Injection, StepT
from faults.kinds.fault.evidence import Evidence, NotYet, Proven, by_name, moved

PROBE_S = 0.5
"""A served edge answers within milliseconds, on a busy machine within a tenth of a second."""


def answering(injection: Injection[StepT], nodes: tuple[int, ...]) -> Evidence:
    """Do all `nodes` serve again, and is the ISR what it was?"""
    if lacking := not_back(injection, nodes):
        return NotYet(instead=lacking)
    return Proven(since_ns=injection.clock.now_ns(), values={"answering": list(nodes)})


def growing(
    injection: Injection[StepT], at_heal: Mapping[int, int], *, log_dir: int | None = None
) -> Evidence:
    """Has each of these logs grown since it had so many bytes, and are the nodes and the ISR back? `log_dir`:
    the log directory that they lie in, None: all."""
    grown = moved(at_heal, {node: injection.cluster.log_bytes(node, log_dir=log_dir) for node in at_heal})
    still = [node for node in at_heal if node not in grown]
    if still:
        return NotYet(instead=f"log of node {still[0]} has not grown since the thaw")
    if lacking := not_back(injection, at_heal):
        return NotYet(instead=lacking)
    values = {"log_bytes_since_heal": by_name(grown)}
    return Proven(since_ns=injection.clock.now_ns(), values=values)


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
    """Which partition lacks a replica that was in sync before the fault, or is not reported; "" if none.

    If no broker answered before the fault, nobody knows what was in sync: then every replica must be.
    ComposeError if no broker answers now.
    """
    view, was = injection.view, injection.isr
    topics = dict.fromkeys(topic for topic, _ in was or view.leaders())
    states = {(state.topic, state.partition): state for state in view.describe(*topics)}
    for topic, partition in was or states:
        state = states.get((topic, partition))
        if state is None:
            return f"no broker reports {topic}-{partition}"
        if lacking := _lacking(state, was.get((topic, partition))):
            return f"isr of {topic}-{partition} is {list(state.isr)}, {lacking}"
    return ""


def and_in_sync(injection: Injection[StepT], evidence: Evidence) -> Evidence:
    """The same, but no proof while the ISR is not what it was."""
    if isinstance(evidence, Proven) and (lacking := isr_is_short(injection)):
        return NotYet(instead=lacking)
    return evidence


def under_replicated(view: View) -> str:
    """Which partition lacks a replica in its ISR; "" if each has all. ComposeError if no broker answers."""
    for state in view.describe(*dict.fromkeys(topic for topic, _ in view.leaders())):
        if not set(state.replicas) <= set(state.isr):
            of = f"{state.topic}-{state.partition}"
            return f"isr of {of} is {list(state.isr)}, its replicas are {list(state.replicas)}"
    return ""


def _lacking(state: PartitionState, was: tuple[int, ...] | None) -> str:
    """What its ISR should be; "" if it is. `was`: before the fault, None if that is not known.

    Of those who were in it, whoever is no replica any more, as after a move, cannot come back.
    """
    wanted = set(state.replicas) if was is None else set(was) & set(state.replicas)
    if wanted <= set(state.isr):
        return ""
    return f"was {sorted(wanted)}" if was is not None else f"and {sorted(wanted)} may have been in sync"
