"""Draws targets for a storm: one node by id or by role, or arrows out of it."""

from random import Random

from faults.targets.edges import Arrow, EdgeSet
from faults.targets.facts import Facts
from faults.targets.target import Role, Target, TopicPartition


def draw_node(rng: Random, facts: Facts, *, brokers_only: bool = False) -> Target:
    """A node by id or by role: leaders and brokers twice as often as controllers."""
    topic = rng.choice(facts.topics)
    led = TopicPartition(topic=topic.name, partition=rng.randrange(topic.partitions))
    roles = [Target(role="leader", of=led), Target(role="node", ids=(rng.choice(facts.brokers),))]
    if not brokers_only:
        roles += roles
        roles += [Target(role="active controller"), Target(role="node", ids=(rng.choice(facts.controllers),))]
    return rng.choice(roles)


def draw_edges_out_of(rng: Random, node: Target, facts: Facts) -> EdgeSet:
    """One way: a broker loses its peers, the controllers, or both; a controller loses its peers."""
    is_broker = node.role == "leader" or any(each in facts.brokers for each in node.ids)
    losing: tuple[Role, ...] = ("brokers", "controllers", "nodes") if is_broker else ("controllers",)
    return EdgeSet(arrows=(Arrow(left=node, right=Target(role=rng.choice(losing)), both_ways=False),))
