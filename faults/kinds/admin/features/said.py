"""What the brokers say of a feature, each asked by itself: the evidence of every step that finalizes one."""

from collections.abc import Mapping

from compose.admin_protocol import Feature
from compose.protocols import Cluster


def serving(cluster: Cluster) -> tuple[int, ...]:
    """The brokers that must know: all that have a process. One that is paused may act on it later."""
    return tuple(node for node in cluster.brokers if cluster.state(node).status in ("running", "paused"))


def not_said(cluster: Cluster, said: Mapping[int, Feature], feature: str, level: int) -> str:
    """Which broker with a process does not say that the feature is at this level; "" if all do."""
    for node in serving(cluster):
        if node not in said:
            return f"broker {node} does not say at which level {feature} is"
        if said[node].level != level:
            return f"broker {node} says that {feature} is at {said[node].level}"
    return "" if said else "no broker answers"


def level_now(said: Mapping[int, Feature]) -> int | None:
    """The level that the brokers agree on; None if they do not, or if none answers."""
    levels = {known.level for known in said.values()}
    return levels.pop() if len(levels) == 1 else None
