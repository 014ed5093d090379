"""The faults that a finding names: those that touched its partition and were proven, and nothing else.

A fault touches a partition if it hit one of its replicas, a controller, the clients of a replica, or an edge
between such. A fault on another broker, or one without evidence of an effect, explains nothing.
"""

from collections.abc import Iterator, Sequence

from checkers.contract.realised.settings import Realised
from checkers.history.rows import Fault, TopicPartition
from checkers.history.tables import NONE
from checkers.verdict.names import first_of

MOST_FOLLOWING = 3
"""Faults after a record's time that a sentence names."""
MOST_NAMED = 4
"""Nodes or edges of a fault that a sentence names."""


def replicas_of(tp: TopicPartition, realised: Realised) -> tuple[int, ...]:
    """The brokers that ever were replicas of a partition; empty if that is not known."""
    rows = (row.replicas for row in realised.context.metadata if row.tp == tp)
    proofs = (proof.replicas for proof in realised.context.proofs if proof.tp == tp)
    return tuple(sorted({node for nodes in (*rows, *proofs) for node in nodes}))


def touching(tp: TopicPartition, realised: Realised) -> list[Fault]:
    """The proven faults that touched the partition, by time."""
    strangers = _brokers(realised) - set(replicas_of(tp, realised))
    return sorted(
        (fault for fault in realised.context.faults if fault.proven and _touches(fault, tp, strangers)),
        key=lambda fault: fault.inject_ns,
    )


def _brokers(realised: Realised) -> set[int]:
    registered = {broker.node for broker in realised.context.brokers}
    return registered | {node for row in realised.context.metadata for node in row.replicas}


def _touches(fault: Fault, tp: TopicPartition, strangers: set[int]) -> bool:
    if fault.edges:
        names = {str(node) for node in strangers}
        return any(not names & set(edge.split("->")) for edge in fault.edges)
    hit = [node for node in fault.nodes if node not in strangers]
    return not fault.nodes or any(fault.concerns(node, tp) or node in fault.down for node in hit)


def around(tp: TopicPartition, at_ns: int, elected_ns: int, realised: Realised) -> str:
    """The faults in force at a time, and those that followed until an election (-1: none is known)."""
    faults = touching(tp, realised)
    if at_ns == NONE or not realised.context.faults:
        return ""
    active = [f for f in faults if NONE < f.inject_ns <= at_ns <= _gone_ns(f)]
    clauses = [f"{in_words(fault)} was active" for fault in active] or ["no fault was active"]
    for fault in _followed(faults, at_ns, elected_ns)[:MOST_FOLLOWING]:
        clauses.append(f"{in_words(fault)} followed {(fault.inject_ns - at_ns) / 1e9:.2f} s later")
    return ", ".join(clauses)


def _followed(faults: Sequence[Fault], at_ns: int, elected_ns: int) -> list[Fault]:
    """The faults between a time and the election; the first one after it, if there is none between."""
    later = [fault for fault in faults if fault.inject_ns > at_ns]
    return [fault for fault in later if fault.inject_ns <= elected_ns] or later[:1]


def _gone_ns(fault: Fault) -> int:
    return max(fault.heal_ns, fault.recovered_ns) if fault.heal_ns != NONE else 1 << 62


def in_words(fault: Fault) -> str:
    """Its name, kind, and what it hit."""
    hit = fault.edges or tuple(f"node {node}" for node in fault.nodes)
    return fault.described(first_of(hit, MOST_NAMED) or fault.target)


def lines(tp: TopicPartition, realised: Realised) -> Iterator[str]:
    """One line for each: what it was, when, and what it cost."""
    for fault in touching(tp, realised):
        yield f"{in_words(fault)} at {realised.clock.seconds(fault.inject_ns)}{_cost(fault)}"


def _cost(fault: Fault) -> str:
    """Which nodes shut down uncleanly, and which lost unsynced data, or all."""
    what = "all data" if fault.wiped else "unsynced data"
    lost = f", {what} lost on {', '.join(map(str, fault.data_lost))}" if fault.data_lost else ""
    down = f", unclean shutdown of {', '.join(map(str, fault.unclean))}" if fault.unclean else ""
    count = len(fault.replicas)
    gone = f", {count} replica{'s' * (count != 1)} offline" if fault.takes_log_dir else ""
    return f"{gone}{down}{lost}"
