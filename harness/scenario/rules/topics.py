"""Topics that cannot be created, or that no acks=all write could ever reach."""

from collections.abc import Iterator

from compose.errors import TopologyError
from compose.spec.server_properties import server_properties
from harness.scenario.cluster.kafka_settings import MIN_ISR, counts_at_most_all
from harness.scenario.cluster.releases import releases_of
from harness.scenario.model import ClusterPart, Scenario, TopicPart, topology_of
from harness.scenario.rules.contradiction import Contradiction
from harness.scenario.text.positions import Path

MOST_PARTITIONS = 32_767
"""A partition's number among all of the load is written with 16 bits."""
OF_KAFKA = ("__consumer_offsets", "__transaction_state", "__share_group_state", "__cluster_metadata")


def topics(scenario: Scenario) -> Iterator[Contradiction]:
    """Topics that cannot be created."""
    earlier: dict[str, str] = {}
    for index, topic in enumerate(scenario.topics):
        path: Path = ("topics", index)
        if refused := _name(topic.name, earlier.get(_in_metrics(topic.name))):
            yield Contradiction(path=(*path, "name"), text=refused)
        earlier.setdefault(_in_metrics(topic.name), topic.name)
        brokers = scenario.cluster.brokers
        if topic.replication > brokers:
            text = f"{topic.replication} replicas do not fit on {brokers} broker{'s' if brokers > 1 else ''}"
            yield Contradiction(path=(*path, "replication"), text=text)
        min_isr, key = _min_isr(scenario.cluster, topic), (*path, "config", MIN_ISR)
        if not min_isr.isdecimal() or int(min_isr) < 1:
            yield Contradiction(path=key, text=f"expected a number of replicas from 1, found {min_isr!r}")
    if (partitions := sum(topic.partitions for topic in scenario.topics)) > MOST_PARTITIONS:
        text = f"{partitions} partitions are too many; allowed: at most {MOST_PARTITIONS} in all topics"
        yield Contradiction(path=("topics",), text=text)


def in_sync(scenario: Scenario) -> Iterator[Contradiction]:
    """Topics that Kafka creates, and to which it then refuses every acks=all write."""
    release = releases_of(scenario)[0]
    if counts_at_most_all(release):
        return
    for index, topic in enumerate(scenario.topics):
        text = _min_isr(scenario.cluster, topic)
        if text.isdecimal() and int(text) > topic.replication:
            whose = "" if MIN_ISR in topic.config else ", the brokers' setting"
            yield Contradiction(
                path=("topics", index, "config", MIN_ISR),
                text=f"{text} in-sync replicas of {topic.replication}{whose}: Kafka {release} would refuse "
                "every acks=all write",
            )


def _in_metrics(name: str) -> str:
    """A topic's name in Kafka's metrics, where `.` and `_` are the same letter."""
    return name.replace(".", "_")


def _name(name: str, alike: str | None) -> str:
    """What is wrong with a topic's name; `alike`: an earlier topic has this one, the same in metrics."""
    if name == alike:
        return f"topic {name!r} is named twice"
    if name in (".", ".."):
        return f"{name!r} is no name for Kafka; allowed: any other"
    if name in OF_KAFKA:
        return f"{name!r} is a topic of Kafka's own; allowed: any other"
    return f"{name!r} differs from {alike!r} in . and _ only, which Kafka refuses" if alike else ""


def _min_isr(cluster: ClusterPart, topic: TopicPart) -> str:
    """The topic's setting, else the brokers'; "1" for a cluster that another rule refuses.

    With its blanks: brokers ignore them, and the controllers fail on them whenever an ISR changes, since 3.7
    (`ReplicationControlManager.getTopicEffectiveMinIsr`).
    """
    if MIN_ISR in topic.config:
        return topic.config[MIN_ISR]
    try:
        return server_properties(topology_of(cluster), 1, client_address="")[MIN_ISR]
    except TopologyError:
        return "1"
