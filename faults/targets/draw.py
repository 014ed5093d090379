"""Draws edges for a storm: those of one node."""

from random import Random

from faults.targets.edges import Arrow, EdgeSet, around
from faults.targets.facts import Facts
from faults.targets.target import Role, Target, candidates


def draw_edges_of(rng: Random, node: Target, facts: Facts) -> EdgeSet:
    """All edges from and to the node, some that it opens, or those by which the clients reach it."""
    nodes = candidates(node, facts.brokers, facts.controllers)
    is_broker = all(each in facts.brokers for each in nodes)
    match rng.choice(("around", "out of", "clients") if is_broker else ("around", "out of")):
        case "around":
            return around(node)
        case "out of":
            return draw_edges_out_of(rng, node, facts)
        case _:
            return EdgeSet(arrows=(Arrow(left=Target(role="client"), right=node, both_ways=False),))


def draw_edges_out_of(rng: Random, node: Target, facts: Facts) -> EdgeSet:
    """One way: a broker loses its peers, the controllers, or both; a controller loses its peers."""
    nodes = candidates(node, facts.brokers, facts.controllers)
    losing: list[Role] = []
    if all(each in facts.brokers for each in nodes):
        losing = ["brokers", "nodes"] if len(facts.brokers) > 1 else ["nodes"]
    if set(facts.controllers) - set(nodes):
        losing.append("controllers")
    if not losing:
        return around(node)
    return EdgeSet(arrows=(Arrow(left=node, right=Target(role=rng.choice(losing)), both_ways=False),))
