"""How much a storm may impair at one time, by what the configuration of the cluster promises to survive.

With acks=all, a topic of R replicas and min.insync.replicas m takes writes while R − m of its replicas are
away, and keeps every acknowledged record while fewer than m of the replicas that hold it have shut down
uncleanly (KIP-966). The controllers decide while a majority of them is there.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from faults.kinds.fault.kind import Cost
from faults.targets.facts import Facts
from faults.targets.target import Target, candidates

Limit = Literal["within-promise", "beyond-promise"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """The most nodes at a time: impaired brokers, those of them that ended uncleanly, controllers."""

    brokers: int
    unclean: int
    controllers: int

    def allow(self, victims: Iterable[Target], facts: Facts) -> bool:
        """Whether all of them may be impaired at a time. A role counts as each node that may hold it."""
        brokers = controllers = 0
        for victim in victims:
            nodes = set(candidates(victim, facts.brokers, facts.controllers))
            brokers += not nodes.isdisjoint(facts.brokers)
            controllers += not nodes.isdisjoint(facts.controllers)
        return brokers <= self.brokers and controllers <= self.controllers

    def cover(self, cost: Cost) -> bool:
        """Whether what such a fault costs a broker is within the limits."""
        return self.unclean > 0 or not cost.unclean


def limits_of(limit: Limit, facts: Facts) -> Limits:
    """Within the promise, what it covers; beyond it, all nodes."""
    if limit == "beyond-promise":
        brokers = len(facts.brokers)
        return Limits(brokers=brokers, unclean=brokers, controllers=len(facts.controllers))
    spare = min((topic.replication - topic.min_isr for topic in facts.topics), default=0)
    unclean = min((topic.min_isr - 1 for topic in facts.topics), default=0)
    return Limits(
        brokers=max(0, spare),
        unclean=max(0, min(spare, unclean)),
        controllers=(len(facts.controllers) - 1) // 2,
    )
